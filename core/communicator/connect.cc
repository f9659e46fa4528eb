// Making a communicator: settings from rank 0, a transport for each pair, addresses for all.
#include <algorithm>
#include <exception>
#include <limits>
#include <map>
#include <random>
#include <sstream>
#include <thread>

#include "core/base/log.h"
#include "core/base/text.h"
#include "core/communicator/crowd.h"
#include "core/communicator/state.h"
#include "transports/table.h"

namespace rondo::detail {
namespace {

constexpr std::size_t alone_frame_bytes = std::size_t{1} << 20;  ///< where there are no channels
/// Slots are allocated in full, eight to a channel. Larger ones gain nothing, and there may be no
/// memory for them.
constexpr std::size_t largest_slot_bytes = std::size_t{1} << 20;
constexpr const char* network = "network";
constexpr std::size_t descriptors_per_peer = 8;  ///< lanes and directions that usual jobs use

/// The settings that must be the same on every rank, as lines. Rank 0 sends them to all.
std::string settings_text(const Config& config) {
  std::ostringstream text;
  text << config.transport << '\n'
       << config.algorithm << '\n'
       << config.trace << '\n'
       << config.slot_bytes << '\n'
       << config.sockets << '\n'
       << static_cast<int>(config.device_executor) << '\n'
       << config.reproducible << '\n'
       << config.accumulate_wide << '\n';
  return text.str();
}

/// 64 bits that no other communicator draws.
std::uint64_t random_number() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

void take_settings(const std::string& text, Config& config) {
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, config.transport);
  std::getline(lines, config.algorithm);
  std::getline(lines, config.trace);
  int executor = 0;
  lines >> config.slot_bytes >> config.sockets >> executor >> config.reproducible >>
      config.accumulate_wide;
  config.device_executor = static_cast<DeviceExecutor>(executor);
}

std::string join(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += std::to_string(part.size()) + ":" + part;
  return text;
}

std::vector<std::string> unjoin(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t colon = text.find(':', at);
    const std::size_t size = std::stoul(text.substr(at, colon - at));
    parts.push_back(text.substr(colon + 1, size));
    at = colon + 1 + size;
  }
  return parts;
}

std::size_t kind_index(const Transport& transport) {
  const auto kinds = transport_kinds();
  const auto same = [&](const TransportKind& kind) { return kind.name == transport.name(); };
  return static_cast<std::size_t>(std::find_if(kinds.begin(), kinds.end(), same) - kinds.begin());
}

/// Puts the number of cores that this rank counts before the settings, on a line of its own.
std::string with_cores(const std::string& settings) {
  return std::to_string(std::max(1U, std::thread::hardware_concurrency())) + '\n' + settings;
}

/// Takes that line off each text, and returns the numbers.
std::vector<int> take_cores(std::vector<std::string>& all) {
  std::vector<int> cores;
  for (std::string& text : all) {
    cores.push_back(std::stoi(text));
    text.erase(0, text.find('\n') + 1);
  }
  return cores;
}

}  // namespace

CommunicatorState::CommunicatorState(Membership membership, const Config& config)
    : exceptions_(std::uncaught_exceptions()),
      membership_(std::move(membership)),
      config_(config),
      line_(membership_.world->open(membership_.number, membership_.members)),
      sent_(membership_.members.size()),
      received_(membership_.members.size()),
      message_plans_(membership_.members.size() * 2),
      watchdog_(rank(), *line_, config),
      backoff_(false) {
  try {
    agree_on_settings();
    algorithms_ = AlgorithmSelection(config_.algorithm, "RONDO_ALGORITHM");
    transport_of_ = pick_transports();
    backoff_ = backoff();
    connect_transports();
    descriptors_.reserve(descriptors_per_peer * membership_.members.size());
    engine_ = std::make_unique<Engine>(rank(), transport_of_, connect_direct(), *line_, crowded_);
    log_transports();
    start_trace();
  } catch (const Error& error) {
    line_->fail(error);  // the others must not wait for a rank that gave up
    throw;
  }
}

Backoff CommunicatorState::backoff() const {
  const bool system_calls = std::ranges::any_of(
      transports_, [](const auto& transport) { return transport->looks_are_system_calls(); });
  return Backoff(crowded_, system_calls);
}

void CommunicatorState::agree_on_settings() {
  const std::string mine = settings_text(config_);
  std::vector<std::string> all =
      line_->exchange(with_cores(std::to_string(random_number()) + '\n' + mine));
  crowded_ = is_crowded(member_hosts(), take_cores(all), rank());
  const std::size_t first_line = all[0].find('\n');
  const std::string settings = all[0].substr(first_line + 1);
  identity_ = std::stoull(all[0].substr(0, first_line));
  if (settings != mine) {
    log(LogLevel::warn, rank(),
        "this rank's settings differ from rank 0's, which hold for all ranks: transport, "
        "algorithm, trace, slot size, sockets, device executor, reproducible or accumulate");
  }
  take_settings(settings, config_);
  if (config_.slot_bytes > largest_slot_bytes) {
    throw Error(ErrorCode::configuration,
                "RONDO_SLOT_BYTES=" + std::to_string(config_.slot_bytes) + " is too large",
                {.rank = rank(), .remedy = "use at most " + std::to_string(largest_slot_bytes)});
  }
}

std::vector<HostInfo> CommunicatorState::member_hosts() const {
  std::vector<HostInfo> hosts;
  for (const int member : membership_.members) {
    hosts.push_back(membership_.world->hosts()[static_cast<std::size_t>(member)]);
    // Ranks that met as processes share no exchange, even where two of them are one process.
    if (!membership_.local) hosts.back().process = hosts.size();
  }
  return hosts;
}

std::vector<Transport*> CommunicatorState::pick_transports() {
  const Selection selection(config_.transport, transport_names(), "RONDO_TRANSPORT");
  const std::vector<HostInfo> hosts = member_hosts();
  const HostInfo& here = hosts[static_cast<std::size_t>(rank())];
  surroundings_.one_machine =
      std::ranges::all_of(hosts, [&](const HostInfo& host) { return host.host == here.host; });

  std::map<const TransportKind*, Transport*> made;
  std::vector<Transport*> by_peer(hosts.size());
  for (int peer = 0; peer < size(); ++peer) {
    const auto at = static_cast<std::size_t>(peer);
    if (peer == rank()) continue;
    std::string obstacles;
    const TransportKind* kind = best_transport(selection, here, hosts[at], obstacles);
    if (kind == nullptr) {
      throw Error(ErrorCode::configuration, "no transport reaches the peer (" + obstacles + ")",
                  {.rank = rank(), .peer = peer, .remedy = "allow another one in RONDO_TRANSPORT"});
    }
    Transport*& transport = made[kind];
    if (transport == nullptr) transport = make_transport(*kind);
    by_peer[at] = transport;
  }
  return by_peer;
}

Transport* CommunicatorState::make_transport(const TransportKind& kind) {
  const TransportSettings settings{.rank = rank(),
                                   .ranks = size(),
                                   .communicator = membership_.number,
                                   .slot_bytes = config_.slot_bytes,
                                   .sockets = config_.sockets,
                                   .timeout = config_.timeout,
                                   .interface = config_.interface,
                                   .family = config_.family,
                                   .infiniband = config_.infiniband,
                                   .doorbell = &doorbell_,
                                   .local = membership_.local};
  transports_.push_back(kind.make(settings));
  return transports_.back().get();
}

void CommunicatorState::log_transports() const {
  if (!log_enabled(LogLevel::info)) return;
  std::string text = "a communicator of " + std::to_string(size()) + " ranks";
  for (const auto& transport : transports_) {
    std::vector<int> peers;
    for (int peer = 0; peer < size(); ++peer) {
      if (transport_of_[static_cast<std::size_t>(peer)] == transport.get()) peers.push_back(peer);
    }
    text += "; " + std::string(transport->name()) + " to " + rank_list(peers);
  }
  log(LogLevel::info, rank(), text, LogSubsystem::init);
  if (rank() != 0 || config_.algorithm.empty()) return;  // the settings are the same on every rank
  std::string unbound;
  for (const CollectiveInfo& row : collectives) {
    const bool has_choice = algorithm_names(row.collective).size() > 1;
    if (has_choice && !algorithms_.restricts(row.collective))
      unbound += (unbound.empty() ? "" : ", ") + std::string(row.name);
  }
  if (!unbound.empty()) {
    log(LogLevel::info, rank(),
        "RONDO_ALGORITHM=" + config_.algorithm + " has no effect on " + unbound,
        LogSubsystem::tuning);
  }
}

void CommunicatorState::connect_transports() {
  const auto kinds = transport_kinds();
  // Address by kind (empty where this rank does not use it), then what links it has, how many short
  // frames its channels hold, and its least slot size.
  std::vector<std::string> mine(kinds.size());
  frame_bytes_ = alone_frame_bytes;
  surroundings_.short_frames = std::numeric_limits<int>::max();
  for (const auto& transport : transports_) {
    mine[kind_index(*transport)] = transport->address();
    frame_bytes_ = std::min(frame_bytes_, transport->slot_bytes());
    surroundings_.short_frames =
        std::min(surroundings_.short_frames, transport->depth_of(shortest_frame_bytes));
    if (transport->link_class() == LinkClass::network) surroundings_.links = LinkClass::network;
  }
  mine.emplace_back(surroundings_.links == LinkClass::network ? network : "");
  mine.push_back(std::to_string(surroundings_.short_frames));
  mine.push_back(std::to_string(frame_bytes_));
  std::vector<std::vector<std::string>> all;
  for (const std::string& blob : line_->exchange(join(mine))) all.push_back(unjoin(blob));
  for (const auto& transport : transports_) {
    std::vector<std::string> addresses;
    for (const auto& of_rank : all) addresses.push_back(of_rank[kind_index(*transport)]);
    transport->meet(std::move(addresses));
  }
  // One slow link, small slot or shallow channel anywhere decides for all: every rank must choose
  // and cut alike.
  for (const auto& of_rank : all) {
    if (of_rank[kinds.size()] == network) surroundings_.links = LinkClass::network;
    surroundings_.short_frames =
        std::min(surroundings_.short_frames, std::stoi(of_rank[kinds.size() + 1]));
    frame_bytes_ = std::min<std::size_t>(frame_bytes_, std::stoul(of_rank.back()));
  }
}

DirectAccess* CommunicatorState::connect_direct() {
  surroundings_.ranks = size();
  DirectAccess* const access = transports_.size() == 1 && size() > 1 && size() <= most_sharing_ranks
                                   ? transports_.front()->direct_access()
                                   : nullptr;
  const std::vector<std::string> all = line_->exchange(access == nullptr ? "none" : "mapped");
  surroundings_.direct = std::ranges::count(all, "none") == 0;
  return surroundings_.direct ? access : nullptr;
}

}  // namespace rondo::detail
