#include "core/communicator/agreement.h"

#include <algorithm>
#include <filesystem>
#include <thread>

#include "core/base/log.h"
#include "core/base/random_number.h"
#include "core/communicator/oversubscribed.h"
#include "core/control/exchange_values.h"
#include "core/settings/schedule_files.h"
#include "core/transport/transport.h"

namespace rondo::detail {
namespace {

/// The settings that must be the same on every rank: rank 0's hold.
struct SharedSettings {
  std::string transport{};
  std::string algorithm{};
  std::string schedules{};
  std::string trace{};
  std::string link_costs{};
  std::uint64_t slot_bytes = 0;
  std::int32_t sockets = 1;
  std::uint8_t device_executor = 0;
  bool reproducible = false;
  bool accumulate_wide = false;
  bool checksum = false;

  static void fields(auto& self, auto& archive) {
    archive(self.transport, self.algorithm, self.schedules, self.trace, self.link_costs,
            self.slot_bytes, self.sockets, self.device_executor, self.reproducible,
            self.accumulate_wide, self.checksum);
  }
  friend bool operator==(const SharedSettings&, const SharedSettings&) = default;
};

/// What each rank says.
struct Said {
  std::int32_t cores = 1;      ///< that it counts
  std::uint64_t identity = 0;  ///< rank 0's is the communicator's
  SharedSettings settings{};
  std::vector<ScheduleText> schedules{};  ///< rank 0's, which all get
  std::string unreadable{};               ///< why rank 0 has them not; empty: it has
  std::string remedy{};

  static void fields(auto& self, auto& archive) {
    archive(self.cores, self.identity, self.settings, self.schedules, self.unreadable, self.remedy);
  }
};

/// What all ranks get from rank 0, unless they have it from the communicator that they are of.
void add_schedules(const Config& config, Said& said) {
  said.schedules = config.schedule_texts;
  if (config.schedules.empty() || !said.schedules.empty()) return;
  try {
    said.schedules = read_schedule_files(config.schedules);
  } catch (const Error& error) {
    said.unreadable = error.message();
    said.remedy = error.remedy();
  }
}

SharedSettings shared_settings(const Config& config) {
  return {.transport = config.transport,
          .algorithm = config.algorithm,
          .schedules = config.schedules,
          .trace = config.trace,
          .link_costs = config.link_costs,
          .slot_bytes = config.slot_bytes,
          .sockets = config.sockets,
          .device_executor = static_cast<std::uint8_t>(config.device_executor),
          .reproducible = config.reproducible,
          .accumulate_wide = config.accumulate_wide,
          .checksum = config.checksum};
}

/// Rank 0 decides whether there is a trace. Where it is written is each rank's own affair: without a
/// name of its own it takes rank 0's, in the folder it is in.
std::string own_trace(const std::string& own, const std::string& roots) {
  if (roots.empty() || !own.empty()) return roots.empty() ? roots : own;
  const std::string name = std::filesystem::path(roots).filename().string();
  return name.empty() ? "trace" : name;
}

void take_settings(const SharedSettings& settings, Config& config) {
  config.transport = settings.transport;
  config.algorithm = settings.algorithm;
  config.schedules = settings.schedules;
  config.trace = own_trace(config.trace, settings.trace);
  config.link_costs = settings.link_costs;
  config.slot_bytes = settings.slot_bytes;
  config.sockets = std::max(settings.sockets, 1);
  config.device_executor = static_cast<DeviceExecutor>(std::min<std::uint8_t>(
      settings.device_executor, static_cast<std::uint8_t>(DeviceExecutor::finite)));
  config.reproducible = settings.reproducible;
  config.accumulate_wide = settings.accumulate_wide;
  config.checksum = settings.checksum;
}

}  // namespace

Agreement agree(const std::shared_ptr<ControlChannel>& control, const Membership& membership,
                const Config& config) {
  const int rank = membership.rank;
  Said mine{.cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency())),
            .identity = random_number(),
            .settings = shared_settings(config)};
  if (rank == 0) add_schedules(config, mine);
  const std::vector<Said> all = exchange_values(control, mine);
  if (!all[0].unreadable.empty())
    throw Error(ErrorCode::configuration, all[0].unreadable,
                {.rank = rank, .remedy = all[0].remedy + ". Rank 0 reads them for all"});
  Agreement agreed{.config = config, .identity = all[0].identity};
  std::vector<int> cores;
  for (const Said& said : all) cores.push_back(std::max(said.cores, 1));
  agreed.oversubscribed = is_oversubscribed(membership.hosts(), cores, rank);
  SharedSettings own = mine.settings;
  if (own.trace.empty() == all[0].settings.trace.empty()) own.trace = all[0].settings.trace;
  if (all[0].settings != own) {
    log(LogLevel::warn, rank,
        "this rank's settings differ from rank 0's, which hold for all ranks: transport, "
        "algorithm, schedules, trace, link costs, slot size, sockets, device executor, "
        "reproducible, "
        "accumulate or checksum");
  }
  take_settings(all[0].settings, agreed.config);
  agreed.config.schedule_texts = all[0].schedules;
  if (agreed.config.slot_bytes > largest_slot_bytes) {
    throw Error(ErrorCode::configuration,
                "RONDO_SLOT_BYTES=" + std::to_string(agreed.config.slot_bytes) + " is too large",
                {.rank = rank, .remedy = "use at most " + std::to_string(largest_slot_bytes)});
  }
  return agreed;
}

}  // namespace rondo::detail
