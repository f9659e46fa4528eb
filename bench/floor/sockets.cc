// Socket probes: what the kernel's loopback carries between pairs of processes, without a library.
#include <poll.h>

#include "bench/common/plain_socket.h"
#include "bench/floor/all_reduce.h"
#include "bench/floor/sources.h"

namespace rondo::bench {
namespace {

/// How often to look at an empty socket before poll(): the answer is likely on its way.
constexpr int looks_before_poll = 50;

Connection connection() {
  const UniqueFd listener = listening_socket(loopback);
  Connection ends{connected_socket(loopback, loopback, port_of(listener)),
                  accepted_socket(listener)};
  for (const UniqueFd& end : ends) prepare(end);
  return ends;
}

void wait_for(int out, bool sends, int in, bool receives) {
  std::array<pollfd, 2> waits{};
  nfds_t count = 0;
  if (sends) waits[count++] = {.fd = out, .events = POLLOUT, .revents = 0};
  if (receives) waits[count++] = {.fd = in, .events = POLLIN, .revents = 0};
  constexpr int second_ms = 1000;
  ::poll(waits.data(), count, second_ms);
}

/// Sends and receives `bytes` at once.
void swap(int out, int in, std::vector<std::byte>& from, std::vector<std::byte>& into) {
  std::size_t to_send = from.size();
  std::size_t to_receive = into.size();
  for (int idle = 0; to_send > 0 || to_receive > 0;) {
    std::size_t sent = 0;
    std::size_t received = 0;
    if (to_send > 0) sent = move_some(out, &from[from.size() - to_send], to_send, true);
    if (to_receive > 0)
      received = move_some(in, &into[into.size() - to_receive], to_receive, false);
    to_send -= sent;
    to_receive -= received;
    idle = sent + received > 0 ? 0 : idle + 1;
    if (idle > looks_before_poll) wait_for(out, to_send > 0, in, to_receive > 0);
  }
}

}  // namespace

std::vector<Connection> connect_pairs(int members) {
  std::vector<Connection> all;
  for (int one = 0; one < members / 2 * 2; ++one) all.push_back(connection());
  return all;
}

Source socket_probes(const Member& member, const std::vector<Connection>& connections) {
  return {[&](std::size_t bytes, std::vector<Probe>& probes) {
    if (member.size() < 2) return;
    const auto ranks = static_cast<std::size_t>(member.size());
    const std::size_t each = std::max<std::size_t>(1, bytes * 2 * (ranks - 1) / ranks);
    const auto rank = static_cast<std::size_t>(member.rank());
    const std::size_t pair = rank / 2 * 2;
    const bool works = pair < connections.size();  // a member without a partner does not
    // This member's end of the pair's connection for one way or the other.
    const auto end = [&](std::size_t way) {
      return works ? connections[pair + way][rank % 2].get() : -1;
    };
    const auto out = std::make_shared<std::vector<std::byte>>(each);
    const auto in = std::make_shared<std::vector<std::byte>>(each);
    const auto add = [&](const char* name, int sends, int receives) {
      probes.push_back({name,
                        bytes,
                        static_cast<double>(each * (ranks / 2 * 2)),
                        {.run = repeated([=] { swap(sends, receives, *out, *in); }, works)}});
    };
    add(probe::sockets, end(0), end(0));
    add(probe::two_sockets, end(rank % 2), end(1 - rank % 2));
  }};
}

}  // namespace rondo::bench
