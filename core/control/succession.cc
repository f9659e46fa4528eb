#include "core/control/succession.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <cstdint>

#include "core/base/text.h"
#include "core/control/times.h"

namespace rondo::control {
namespace {

/// Ranks that do not answer before this one gives up: each of them takes time.
constexpr std::size_t most_silent = 2;

bool is_loopback(const std::string& address) {
  boost::system::error_code error;
  const auto parsed = boost::asio::ip::make_address(address, error);
  return !error && parsed.is_loopback();
}

/// On several hosts, an address of the machine itself leads other ranks to another process.
std::vector<Standby> reachable(std::vector<Standby> standbys, const std::vector<HostInfo>& hosts) {
  const bool one_host = std::ranges::all_of(
      hosts, [&](const HostInfo& host) { return host.host == hosts.front().host; });
  standbys.resize(hosts.size());
  for (Standby& standby : standbys)
    if (!one_host && is_loopback(standby.address)) standby = {};
  return standbys;
}

}  // namespace

Succession::Succession(int rank, const Secret& secret, const Welcome& world, UnforkedFd listening)
    : rank_(rank),
      secret_(secret),
      hosts_(world.hosts),
      standbys_(reachable(world.standbys, world.hosts)),
      listening_(std::move(listening)),
      given_up_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void Succession::give_up() {
  const std::uint64_t one = 1;
  static_cast<void>(::write(given_up_.get(), &one, sizeof(one)));
}

bool Succession::is_given_up() const {
  pollfd entry{.fd = given_up_.get(), .events = POLLIN, .revents = 0};
  return ::poll(&entry, 1, 0) > 0;
}

std::shared_ptr<Service> Succession::serve() {
  return std::make_shared<Service>(Takeover{.listening = listening_.take(),
                                            .host = hosts_[static_cast<std::size_t>(rank_)],
                                            .secret = secret_,
                                            .hosts = hosts_,
                                            .standbys = standbys_,
                                            .dead = dead_});
}

std::optional<Succession::Found> Succession::find() {
  std::vector<int> silent;
  for (int rank = 0; rank < std::ssize(hosts_) && silent.size() < most_silent; ++rank) {
    const Standby& standby = standbys_[static_cast<std::size_t>(rank)];
    const bool is_own = rank == rank_;
    if (standby.address.empty() || std::ranges::count(dead_, rank) > 0) continue;
    if (is_own && !listening_) continue;
    if (is_given_up()) return std::nullopt;
    const BootstrapPoint point{.address = standby.address, .port = standby.port, .secret = secret_};
    std::shared_ptr<Service> service = is_own ? serve() : nullptr;
    Standing standing = join_standby(point,
                                     {.rank = rank_,
                                      .ranks = static_cast<int>(hosts_.size()),
                                      .host = hosts_[static_cast<std::size_t>(rank_)],
                                      .standby = standbys_[static_cast<std::size_t>(rank_)]},
                                     times::for_successor, given_up_.get());
    if (standing.is_given_up) return std::nullopt;
    if (standing.joined) return Found{*std::move(standing.joined), std::move(service), point};
    (standing.is_dead ? dead_ : silent).push_back(rank);
  }
  throw Error(ErrorCode::bootstrap,
              "no rank took over from the process that served the job" +
                  (silent.empty() ? "" : ": " + rank_list(silent) + " did not answer"),
              {.rank = rank_, .remedy = "start the job anew"});
}

}  // namespace rondo::control
