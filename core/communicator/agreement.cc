#include "core/communicator/agreement.h"

#include <algorithm>
#include <random>
#include <sstream>
#include <thread>

#include "core/base/log.h"
#include "core/communicator/oversubscribed.h"

namespace rondo::detail {
namespace {

/// Slots are allocated in full, eight to a channel. Larger ones gain nothing, and there may be no
/// memory for them.
constexpr std::size_t largest_slot_bytes = std::size_t{1} << 20;

/// The settings that must be the same on every rank, as lines. Rank 0 sends them to all.
std::string settings_text(const Config& config) {
  std::ostringstream text;
  text << config.transport << '\n'
       << config.algorithm << '\n'
       << config.trace << '\n'
       << config.link_costs << '\n'
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
  std::getline(lines, config.link_costs);
  int executor = 0;
  lines >> config.slot_bytes >> config.sockets >> executor >> config.reproducible >>
      config.accumulate_wide;
  config.device_executor = static_cast<DeviceExecutor>(executor);
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

Agreement agree(const std::shared_ptr<ControlChannel>& control, const Membership& membership,
                const Config& config) {
  const int rank = membership.rank;
  const std::string mine = settings_text(config);
  std::vector<std::string> all =
      control->exchange(with_cores(std::to_string(random_number()) + '\n' + mine));
  Agreement agreed{.config = config};
  agreed.oversubscribed = is_oversubscribed(membership.hosts(), take_cores(all), rank);
  const std::size_t first_line = all[0].find('\n');
  const std::string settings = all[0].substr(first_line + 1);
  agreed.identity = std::stoull(all[0].substr(0, first_line));
  if (settings != mine) {
    log(LogLevel::warn, rank,
        "this rank's settings differ from rank 0's, which hold for all ranks: transport, "
        "algorithm, trace, link costs, slot size, sockets, device executor, reproducible or "
        "accumulate");
  }
  take_settings(settings, agreed.config);
  if (agreed.config.slot_bytes > largest_slot_bytes) {
    throw Error(ErrorCode::configuration,
                "RONDO_SLOT_BYTES=" + std::to_string(agreed.config.slot_bytes) + " is too large",
                {.rank = rank, .remedy = "use at most " + std::to_string(largest_slot_bytes)});
  }
  return agreed;
}

}  // namespace rondo::detail
