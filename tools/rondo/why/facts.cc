#include "tools/rondo/why/facts.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>

#include "core/base/unique_fd.h"
#include "core/plan/cut.h"
#include "core/transport/doorbell.h"
#include "core/transport/local_exchange.h"
#include "rondo/error.h"
#include "transports/shm/reach.h"
#include "transports/table.h"

namespace rondo::tool::why {
namespace {

constexpr std::size_t alone_frame_bytes = std::size_t{1} << 20;

/// A pipe. Both ends close by themselves.
struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0)
      throw Error(ErrorCode::system, "no pipe", {.remedy = "raise ulimit -n"});
    read = UniqueFd(ends[0]);
    write = UniqueFd(ends[1]);
  }
  UniqueFd read;
  UniqueFd write;
};

/// Runs `body` in a child process, which ends with what it returns.
template <class Body>
pid_t in_child(Body body) {
  const pid_t child = ::fork();
  if (child < 0) throw Error(ErrorCode::system, "no process to try copies between processes with");
  if (child == 0) ::_exit(body());
  return child;
}

int exit_status(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// Whether the kernel copies between two processes of which neither is the parent of the other, as
/// with ranks. Two children try it.
bool copies_between_processes() {
  Pipe address;
  Pipe done;
  const pid_t reached = in_child([&] {
    const shm::ReachProbe probe;
    const shm::ReachAddress mine = probe.address();
    char byte = 0;
    done.write.reset();
    if (::write(address.write.get(), &mine, sizeof mine) != sizeof mine) return 1;
    return ::read(done.read.get(), &byte, 1) == 0 ? 0 : 1;  // until the other one is done
  });
  done.read.reset();
  const pid_t reaching = in_child([&] {
    shm::ReachAddress other;
    address.write.reset();
    if (::read(address.read.get(), &other, sizeof other) != sizeof other) return 1;
    return shm::reaches(shm::ReachProbe().address(), other) ? 0 : 1;
  });
  const bool reaches = exit_status(reaching) == 0;
  done.write.reset();
  exit_status(reached);
  return reaches;
}

/// A peer of this process: another process here, or one on a machine like this.
HostInfo peer_of(const HostInfo& here, bool threads, bool apart) {
  HostInfo there = here;
  if (!threads) there.process = here.process + 1;
  if (apart) there.host += " (another one)";
  return there;
}

}  // namespace

Facts facts_here(const Config& config, int ranks, bool apart) {
  Facts facts{.around = {.ranks = ranks, .one_machine = !apart}, .frame_bytes = alone_frame_bytes};
  if (ranks == 1) return facts;
  const Selection selection(config.transport, transport_names(), "RONDO_TRANSPORT");
  const HostInfo here = describe_host(config);
  // Ranks are threads of one process only where nothing but "local" is wanted.
  const HostInfo there = peer_of(here, config.transport == "local" && !apart, apart);
  const TransportKind* kind = best_transport(selection, here, there, facts.passed_over);
  if (kind == nullptr)
    throw Error(ErrorCode::configuration,
                "no transport reaches the peer (" + facts.passed_over + ")",
                {.remedy = "allow another one"});
  Doorbell doorbell;
  const std::unique_ptr<Transport> transport =
      kind->make({.ranks = ranks,
                  .slot_bytes = config.slot_bytes,
                  .sockets = config.sockets,
                  .timeout = config.timeout,
                  .interface = config.interface,
                  .family = config.family,
                  .infiniband = config.infiniband,
                  .doorbell = &doorbell,
                  .local = std::make_shared<LocalExchange>()});
  if (!config.transport.empty()) facts.passed_over.clear();  // the user has asked for it
  facts.transport = kind->name;
  facts.frame_bytes = transport->slot_bytes();
  facts.around.links = transport->link_class();
  facts.around.short_frames = transport->depth_of(shortest_frame_bytes);
  facts.reaches_memory = transport->direct_access() != nullptr;
  facts.around.direct = ranks <= most_sharing_ranks && facts.reaches_memory;
  facts.around.copies =
      facts.around.direct && (kind->name == "local" || copies_between_processes());
  return facts;
}

}  // namespace rondo::tool::why
