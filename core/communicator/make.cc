// Making the first communicator of a job: from the environment, a unique id, or threads.
#include <algorithm>
#include <cstring>
#include <new>
#include <numeric>

#include "core/base/environment.h"
#include "core/base/log.h"
#include "core/base/threads.h"
#include "core/communicator/access.h"
#include "core/communicator/live_registry.h"
#include "core/communicator/remedies.h"
#include "core/settings/interface.h"
#include "core/settings/settings.h"
#include "transports/table.h"

namespace rondo {
namespace {

using detail::CommunicatorAccess;
using detail::Membership;

/// UniqueId's bytes: a BootstrapPoint. Without a secret it names the place where rank 0 will serve.
struct PackedId {
  Secret secret;
  std::uint16_t port;
  char address[94];
};
static_assert(sizeof(PackedId) == sizeof(UniqueId), "a unique id is a packed bootstrap point");

Config config_with(const Options& options) {
  Config config = read_config();
  if (!options.transport.empty()) config.transport = options.transport;
  if (!options.algorithm.empty()) config.algorithm = options.algorithm;
  if (!options.schedules.empty()) config.schedules = options.schedules;
  if (options.timeout.count() > 0) {
    config.timeout = options.timeout;
    config.timeout_from_program = true;
  }
  config.reproducible = options.reproducible.value_or(config.reproducible);
  config.accumulate_wide = options.accumulate_wide.value_or(config.accumulate_wide);
  config.checksum = options.checksum.value_or(config.checksum);
  configure_log(config.debug);
  return config;
}

/// Turns what the standard library and Asio throw, if the system has nothing left, into an Error.
template <class Make>
auto translate_exceptions(Make&& make) {
  try {
    return make();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::out_of_memory, "no memory to make a communicator");
  } catch (const std::exception& failure) {
    throw Error(ErrorCode::system, std::string("cannot make a communicator: ") + failure.what(),
                {.remedy = "raise the limit of open files (ulimit -n) if there are too many"});
  }
}

/// RONDO_COMM_ID: "10.0.0.1:29500", "[fe80::1]:29500", "name:29500".
BootstrapPoint parse_bootstrap_point(const std::string& text) {
  const std::size_t colon = std::min(text.rfind(':'), text.size());
  const std::string digits = text.substr(std::min(colon + 1, text.size()));
  const long long port = parse_integer(digits).value_or(0);
  std::string address = text.substr(0, colon);
  if (address.size() > 2 && address.front() == '[' && address.back() == ']')
    address = address.substr(1, address.size() - 2);
  if (port < 1 || port > 65535 || address.empty()) {
    throw Error(ErrorCode::configuration,
                name_as_set("RONDO_COMM_ID") + "=" + text + " is not an address and a port",
                {.remedy = "give rank 0's address and a free port there, as in 10.0.0.1:29500"});
  }
  return {.address = address, .port = static_cast<std::uint16_t>(port)};
}

/// Whether it may be one: names and numbers have no blanks, and no bytes beyond ASCII.
bool is_address(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

/// Where another rank's address leads from here.
std::string found_at(const std::string& address, const Config& config) {
  if (address.find('%') == std::string::npos) return address;
  return as_seen_from(own_address(config.interface, config.family), address);
}

/// Once in a job, on rank 0.
void warn_if_open(const Control& world) {
  const std::vector<HostInfo>& hosts = world.hosts();
  const auto is_here = [&](const HostInfo& other) { return other.host == hosts.front().host; };
  if (world.rank() != 0 || world.secret() || std::ranges::all_of(hosts, is_here)) return;
  log(LogLevel::warn, 0,
      "this job has no secret: whoever reaches its ports can join or disturb it. Set the same "
      "RONDO_SECRET_FILE on every rank; `rondorun --hosts` and unique ids bring a secret along");
}

Communicator make_world(std::shared_ptr<Control> world, std::shared_ptr<LocalExchange> local,
                        const Config& config) {
  warn_if_open(*world);
  Membership everyone{.world = std::move(world), .local = std::move(local)};
  everyone.rank = everyone.world->rank();
  everyone.members.resize(static_cast<std::size_t>(everyone.world->ranks()));
  std::iota(everyone.members.begin(), everyone.members.end(), 0);
  return CommunicatorAccess::make(detail::make_state(std::move(everyone), config));
}

void check_ranks(int rank, int ranks) {
  if (ranks < 1 || rank < 0 || rank >= ranks) {
    throw Error(
        ErrorCode::invalid_argument,
        "rank " + std::to_string(rank) + " of " + std::to_string(ranks) + " ranks does not exist",
        {.remedy = "use ranks >= 1 and 0 <= rank < ranks"});
  }
}

}  // namespace

Communicator Communicator::from_environment(const Options& options) {
  const Config config = config_with(options);
  const Placement placement = read_placement(config);
  log(LogLevel::info, placement.rank,
      "rondo " + std::string(version()) + ", " + std::to_string(placement.ranks) + " ranks by " +
          placement.source,
      LogSubsystem::init);
  if (placement.ranks == 1) return std::move(from_threads(1, options).front());
  const BootstrapPoint point{
      .address = placement.address, .port = placement.port, .secret = config.secret};
  return translate_exceptions([&] {
    return make_world(meet(point, placement.rank, placement.ranks, placement.rank == 0,
                           describe_host(config), config.bootstrap_timeout),
                      nullptr, config);
  });
}

UniqueId make_unique_id() {
  const Config config = config_with({});
  const BootstrapPoint point = config.bootstrap.empty()
                                   ? serve_bootstrap(config.interface, config.family)
                                   : parse_bootstrap_point(config.bootstrap);
  PackedId packed{.secret = point.secret, .port = point.port, .address = {}};
  if (point.address.size() >= sizeof packed.address) {
    throw Error(ErrorCode::bootstrap,
                "this host's address \"" + point.address + "\" is too long for a unique id",
                {.remedy = "choose another interface with RONDO_SOCKET_IFNAME"});
  }
  std::memcpy(packed.address, point.address.data(), point.address.size());
  UniqueId id;
  std::memcpy(id.bytes.data(), &packed, sizeof packed);
  return id;
}

Communicator Communicator::from_unique_id(const UniqueId& id, int rank, int ranks,
                                          const Options& options) {
  check_ranks(rank, ranks);
  const Config config = config_with(options);
  PackedId packed{};
  std::memcpy(&packed, id.bytes.data(), sizeof packed);
  const std::string address(packed.address, ::strnlen(packed.address, sizeof packed.address));
  if (packed.port == 0 || !is_address(address)) {
    throw Error(ErrorCode::invalid_argument, "this unique id is not valid",
                {.rank = rank, .remedy = std::string(remedies::whole_id.words)});
  }
  const BootstrapPoint point{
      .address = found_at(address, config),
      .port = packed.port,
      .secret = packed.secret ? packed.secret : config.secret,
      .by_id = static_cast<bool>(packed.secret),
      .named_by = packed.secret ? "unique id" : name_as_set("RONDO_COMM_ID")};
  const bool serving = !point.by_id && rank == 0;
  return translate_exceptions([&] {
    return make_world(
        meet(point, rank, ranks, serving, describe_host(config), config.bootstrap_timeout), nullptr,
        config);
  });
}

std::vector<Communicator> Communicator::from_threads(int ranks, const Options& options) {
  check_ranks(0, ranks);
  const Config config = config_with(options);
  const auto worlds = meet_threads(ranks, describe_host(config), config.bootstrap_timeout);
  const auto local = std::make_shared<LocalExchange>();
  std::vector<Communicator> made(worlds.size());
  // Making a communicator is collective.
  rethrow_first(run_together(
      worlds.size(), [&](std::size_t i) { made[i] = make_world(worlds[i], local, config); }));
  return made;
}

const char* version() { return RONDO_VERSION; }

}  // namespace rondo
