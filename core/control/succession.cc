#include "core/control/succession.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <cstdint>
#include <set>

#include "core/base/text.h"
#include "core/control/dialling.h"
#include "core/control/times.h"

namespace rondo::control {
namespace {

/// Ranks or machines that do not answer before this one gives up: each of them takes time.
constexpr std::size_t most_silent = 2;

bool is_loopback(const std::string& address) {
  boost::system::error_code error;
  const auto parsed = boost::asio::ip::make_address(address, error);
  if (error) return false;
  const bool is_mapped = parsed.is_v6() && parsed.to_v6().is_v4_mapped();
  return is_mapped ? make_address_v4(boost::asio::ip::v4_mapped, parsed.to_v6()).is_loopback()
                   : parsed.is_loopback();
}

/// The port of the coordinator's process serves to learn whether that has ended.
std::vector<Standby> places_of(const Welcome& world, const Standby& service) {
  std::vector<Standby> standbys = reachable_standbys(world);
  for (std::size_t rank = 0; rank < standbys.size(); ++rank)
    if (standbys[rank].address.empty() && same_process(world.hosts[rank], world.service))
      standbys[rank] = service;
  return standbys;
}

}  // namespace

std::vector<Standby> reachable_standbys(const Welcome& world) {
  const std::vector<HostInfo>& hosts = world.hosts;
  const bool one_host = std::ranges::all_of(
      hosts, [&](const HostInfo& host) { return host.host == hosts.front().host; });
  std::vector<Standby> standbys = world.standbys;
  standbys.resize(hosts.size());
  for (Standby& standby : standbys)
    if (!one_host && is_loopback(standby.address)) standby = {};
  return standbys;
}

Succession::Succession(int rank, const Secret& secret, Joined& joined)
    : rank_(rank),
      coordinator_{.address = joined.place.address, .port = joined.place.port, .secret = secret},
      hosts_(joined.welcome.hosts),
      standbys_(places_of(joined.welcome, joined.place)),
      listening_(std::move(joined.standby)),
      given_up_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!given_up_) throw no_descriptors();
}

void Succession::note_dead(const HostInfo& process) {
  for (int rank = 0; rank < std::ssize(hosts_); ++rank)
    if (same_process(hosts_[static_cast<std::size_t>(rank)], process)) dead_.push_back(rank);
}

void Succession::note_left(const HostInfo& process, const Closing& closing) {
  for (int rank = 0; rank < std::ssize(hosts_); ++rank)
    if (same_process(hosts_[static_cast<std::size_t>(rank)], process)) left_.push_back(rank);
  left_.insert(left_.end(), closing.left.begin(), closing.left.end());
  dead_.insert(dead_.end(), closing.dead.begin(), closing.dead.end());
  const auto is_stranger = [this](int rank) { return rank < 0 || rank >= std::ssize(hosts_); };
  std::erase_if(left_, is_stranger);
  std::erase_if(dead_, is_stranger);
}

void Succession::give_up() {
  const std::uint64_t one = 1;
  static_cast<void>(::write(given_up_.get(), &one, sizeof(one)));
}

bool Succession::is_given_up() const {
  pollfd entry{.fd = given_up_.get(), .events = POLLIN, .revents = 0};
  return ::poll(&entry, 1, 0) > 0;
}

Hello Succession::hello() const {
  const auto at = static_cast<std::size_t>(rank_);
  return {.rank = rank_,
          .ranks = static_cast<int>(hosts_.size()),
          .host = hosts_[at],
          .standby = standbys_[at]};
}

Standing Succession::come_back(const Session& session) {
  Hello again = hello();
  again.session = session.name();
  again.received = session.received();
  return join_standby(coordinator_, again, times::for_return, given_up_.get());
}

std::shared_ptr<Service> Succession::serve() {
  return std::make_shared<Service>(Takeover{.listening = listening_.take(),
                                            .host = hosts_[static_cast<std::size_t>(rank_)],
                                            .secret = coordinator_.secret,
                                            .hosts = hosts_,
                                            .standbys = standbys_,
                                            .dead = dead_,
                                            .left = left_});
}

std::optional<Succession::Found> Succession::find() {
  std::vector<int> silent;
  std::set<std::string> silent_hosts;
  for (int rank = 0; rank < std::ssize(hosts_) && silent.size() < most_silent; ++rank) {
    const Standby& standby = standbys_[static_cast<std::size_t>(rank)];
    const bool is_own = rank == rank_;
    const std::string& host = hosts_[static_cast<std::size_t>(rank)].host;
    if (standby.address.empty() || std::ranges::count(dead_, rank) > 0) continue;
    if (std::ranges::count(left_, rank) > 0) continue;
    if (silent_hosts.contains(host) && !is_own) continue;
    if (is_own && !listening_) continue;
    if (is_given_up()) return std::nullopt;
    const BootstrapPoint point{
        .address = standby.address, .port = standby.port, .secret = coordinator_.secret};
    std::shared_ptr<Service> service = is_own ? serve() : nullptr;
    Standing standing = join_standby(point, hello(), times::for_successor, given_up_.get());
    if (standing.is_given_up) return std::nullopt;
    if (standing.joined) {
      coordinator_ = point;
      return Found{*std::move(standing.joined), std::move(service)};
    }
    (standing.presence == Presence::dead ? dead_ : silent).push_back(rank);
    if (standing.presence == Presence::unknown) silent_hosts.insert(host);
  }
  std::string why = silent.empty() ? "" : ": " + rank_list(silent) + " did not answer";
  if (silent.empty() && std::ranges::any_of(standbys_, &std::string::empty, &Standby::address))
    why = ": the ranks of several hosts had met at an address that leads each host to itself";
  throw Error(ErrorCode::bootstrap, "no rank took over from the process that served the job" + why,
              {.rank = rank_, .remedy = "start the job anew"});
}

}  // namespace rondo::control
