#include "core/communicator/tracing.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <string_view>

#include "core/base/log.h"
#include "core/base/random_number.h"
#include "core/control/exchange_values.h"

namespace rondo::detail {
namespace {

/// Meetings in a row: the shortest decides, so a few that were held up do not matter.
constexpr int meetings_in_a_row = 8;

constexpr std::size_t name_digits = 16;

std::string random_name() {
  std::array<char, name_digits + 1> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx",
                static_cast<unsigned long long>(random_number()));
  return digits.data();
}

/// It becomes a part of file names.
bool is_hexadecimal(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// What rank 0 tells the others of a trace.
struct Run {
  std::string name{};
  bool is_first = false;  ///< of rank 0's process

  static void fields(auto& self, auto& archive) { archive(self.name, self.is_first); }
};

/// The process's first traced world has the plain name. Global, since nothing else knows of all
/// communicators that a process makes.
bool first_world() {
  static std::atomic<bool> taken{false};
  return !taken.exchange(true, std::memory_order_relaxed);  // counts to one, orders nothing
}

}  // namespace

Tracing::Tracing(const Membership& membership, const Config& config, const std::string& over,
                 const std::shared_ptr<ControlChannel>& control)
    : rank_(membership.rank), control_(control), hosts_(membership.hosts()) {
  if (config.trace.empty()) return;
  const bool world = membership.number == 0;
  const Run run =
      exchange_values(control_, rank_ != 0 ? Run{} : Run{random_name(), world && first_world()})[0];
  if (run.name.size() != name_digits || !is_hexadecimal(run.name))
    throw Error(ErrorCode::mismatch, "rank 0 gave the trace no name", {.rank = rank_, .peer = 0});
  const HostInfo& here = hosts_[static_cast<std::size_t>(rank_)];
  trace::Origin origin{.path = config.trace,
                       .run = run.name,
                       .communicator = world ? "world" : "part",
                       .rank = rank_,
                       .ranks = membership.size(),
                       .world_rank = membership.members[static_cast<std::size_t>(rank_)],
                       .host = here.hostname,
                       .clock = here.host,
                       .over = over};
  if (!run.is_first) origin.path += "." + origin.run.substr(0, 8);
  origin.path += "." + std::to_string(rank_);
  recorder_ = std::make_unique<trace::Recorder>(std::move(origin), config.trace_limit);
  compare_clocks();
}

void Tracing::compare_clocks() {
  const auto with_root = [&](const HostInfo& host) { return host.host == hosts_[0].host; };
  if (std::ranges::all_of(hosts_, with_root)) return;
  struct Times {
    std::int64_t sent = 0;
    std::int64_t received = 0;  ///< of the meeting before
  };
  std::vector<trace::Meeting> meetings;
  std::int64_t received = 0;
  for (int number = 0; number <= meetings_in_a_row; ++number) {
    const std::int64_t sent = trace::Recorder::now();
    // When this meeting begins, and when the one before ended.
    const Times root = exchange_values(control_, Times{sent, received})[0];
    received = trace::Recorder::now();
    if (!meetings.empty()) meetings.back().root_received = root.received;
    const trace::Meeting meeting{.sent = sent, .received = received, .root_sent = root.sent};
    if (number < meetings_in_a_row) meetings.push_back(meeting);
  }
  const auto offset = trace::estimate(meetings);
  if (offset && !with_root(hosts_[static_cast<std::size_t>(rank_)])) recorder_->set_offset(*offset);
}

void Tracing::write(bool together) noexcept {
  if (!recorder_) return;
  try {
    if (control_->failed())
      recorder_->failed(control_->failure().what());
    else if (together)
      compare_clocks();
  } catch (const std::exception& error) {
    // A rank left without finalize(), which it may: a trace is not worth a run.
    log(LogLevel::warn, rank_,
        std::string("the clocks are not compared at the end of the trace: ") + error.what());
  }
  recorder_->write();
}

}  // namespace rondo::detail
