#include "core/control/member_channel.h"

#include <algorithm>
#include <utility>

#include "core/base/awake.h"
#include "core/base/config.h"
#include "core/base/log.h"
#include "core/control/analyzer.h"

namespace rondo::control {
namespace {

/// Calls that one report carries: enough to find a disagreement, small enough for any rank count.
constexpr std::uint64_t most_calls = 64;
/// How many calls are compared at the end. Later calls would have shown older disagreements.
constexpr std::uint64_t most_compared = 32;

int index_of(const std::vector<int>& members, int world_rank) {
  const auto found = std::find(members.begin(), members.end(), world_rank);
  return found == members.end() ? -1 : static_cast<int>(found - members.begin());
}

ErrorCode checked_code(std::uint8_t code) {
  return code <= static_cast<std::uint8_t>(ErrorCode::internal) ? static_cast<ErrorCode>(code)
                                                                : ErrorCode::internal;
}

}  // namespace

MemberChannel::MemberChannel(std::shared_ptr<ControlTransport> transport, std::uint64_t number,
                             std::vector<int> members, int world_rank)
    : transport_(std::move(transport)),
      number_(number),
      members_(std::move(members)),
      world_rank_(world_rank),
      rank_(index_of(members_, world_rank)) {
  if (rank_ < 0) {
    throw Error(ErrorCode::invalid_argument,
                "world rank " + std::to_string(world_rank) +
                    " is not a member of the communicator that it opens");
  }
  transport_->add(*this);
  transport_->post(open());
}

MemberChannel::~MemberChannel() {
  leave();
  transport_->remove(*this);
}

Error MemberChannel::failure() const {
  const std::lock_guard lock(mutex_);
  if (failure_) return *failure_;
  return {ErrorCode::internal, "the communicator has not failed", {.rank = rank_}};
}

/// True for the first.
bool MemberChannel::set_failure(const Error& error) {
  const std::lock_guard lock(mutex_);
  if (failure_) return false;
  auto details = error.details();
  details.rank = rank_;
  failure_.emplace(error.code(), error.message(), std::move(details));
  failed_.store(true, std::memory_order_release);
  changed_.notify_all();
  return true;
}

Failure MemberChannel::failure_message(const Error& error) const {
  return {.communicator = number_,
          .code = static_cast<std::uint8_t>(error.code()),
          .peer = error.peer(),
          .message = error.message(),
          .call = error.call(),
          .remedy = error.remedy()};
}

void MemberChannel::fail(const Error& error) noexcept {
  try {
    if (set_failure(error)) transport_->post(failure_message(error));
    const std::lock_guard lock(mutex_);
    if (error.code() == ErrorCode::aborted) exchanges_.interrupted = true;
    changed_.notify_all();
  } catch (...) {
    // No memory for words: the flag alone still stops this rank. The others stop when it leaves.
    failed_.store(true, std::memory_order_release);
  }
}

void MemberChannel::report_stall(bool expired) {
  const auto begun = calls_.begun();
  report({.communicator = number_,
          .from = std::min(calls_.completed() + 1, begun),
          .to = begun,
          .expired = expired});
}

void MemberChannel::report_stall_on(int peer, const std::string& what, bool expired) {
  report({.communicator = number_, .peer = peer, .what = what, .expired = expired});
}

void MemberChannel::report_mismatch(int peer, std::uint64_t sequence, bool earlier) {
  const std::uint64_t earliest = sequence >= most_calls ? sequence - most_calls + 1 : 1;
  report(
      {.communicator = number_,
       .from = earlier ? earliest : std::max(std::min(calls_.completed() + 1, sequence), earliest),
       .to = std::max(calls_.begun(), sequence),
       .peer = peer,
       .mismatch = 1});
}

void MemberChannel::report(const Stall& stall) {
  if (failed()) return;
  Stall sent = stall;
  sent.milliseconds = static_cast<std::uint64_t>(timeout_.load(std::memory_order_relaxed));
  sent.timeout_from_program = timeout_from_program_.load(std::memory_order_relaxed) ? 1 : 0;
  const bool must_end = sent.expired != 0 || sent.mismatch != 0;
  if (!transport_->post(sent)) {
    if (must_end) conclude_alone(sent);
  } else if (must_end) {
    {
      const std::lock_guard lock(mutex_);
      if (awaits_verdict_) return;
      awaits_verdict_ = sent;
    }
    transport_->remind(number_);
  }
}

void MemberChannel::overdue() {
  std::optional<Stall> stall;
  {
    const std::lock_guard lock(mutex_);
    stall.swap(awaits_verdict_);
  }
  if (stall && !failed()) conclude_alone(*stall);
}

std::string MemberChannel::words_for(const Stall& stall) const {
  if (!stall.what.empty()) return stall.what;
  const auto call = calls_.find(stall.from);
  return call ? to_string(*call) : "call #" + std::to_string(stall.from);
}

/// No coordinator to ask: says what this rank knows by itself.
void MemberChannel::conclude_alone(const Stall& stall) {
  int service_rank = -1;
  const auto service = describe_service(service_rank);
  if (stall.mismatch != 0) {
    fail(Error(ErrorCode::mismatch,
               "rank " + std::to_string(stall.peer) + " sent data of another call",
               {.peer = stall.peer, .call = words_for(stall)}));
    return;
  }
  std::string left;
  {
    const std::lock_guard lock(mutex_);
    left = !unserved_.empty() ? unserved_
           : has_left_ ? "the process that served the job has ended, and no other one serves yet"
                       : "";
  }
  fail(Error(
      ErrorCode::timeout,
      words_for(stall) + " did not complete " +
          (stall.milliseconds == 0 ? "before the deadline"
                                   : "within " + seconds(stall.milliseconds)) +
          ", and " +
          (left.empty() ? service + ", which could say why, does not answer"
                        : left + ", so nobody can say why"),
      {.peer = stall.peer >= 0 ? stall.peer : service_rank,
       .call = words_for(stall),
       .remedy =
           (left.empty() ? "check whether its process is stopped or its machine unreachable; "
                         : "look for another rank that has died, and let that process end last; ") +
           words_of_raising_timeout(stall.timeout_from_program != 0) +
           " if it only needs more time"}));
}

void MemberChannel::leave() noexcept {
  if (left_.exchange(true, std::memory_order_relaxed)) return;
  try {
    transport_->post(leaving());
  } catch (...) {
    // Without memory for it the others learn of it when this process ends.
  }
}

Leave MemberChannel::leaving() const {
  const auto begun = calls_.begun();
  const auto first = begun > most_calls ? begun - most_calls : 1;
  return {.communicator = number_, .report = call_report(first, begun)};
}

void MemberChannel::compare_calls(std::chrono::milliseconds longest) {
  const auto begun = calls_.begun();
  if (begun == 0 || failed()) return;
  const auto first = begun > most_compared ? begun - most_compared + 1 : 1;
  if (!transport_->post(Compare{.communicator = number_, .report = call_report(first, begun)}))
    return;
  std::unique_lock lock(mutex_);
  wait_awake(changed_, lock, longest, [&] { return failure_ || alike_ || !unserved_.empty(); });
}

CallReport MemberChannel::call_report(std::uint64_t from, std::uint64_t to) const {
  if (before_reports_) before_reports_();
  CallReport report{.begun = calls_.begun(), .completed = calls_.completed()};
  const auto last = std::min({to, report.begun, from + most_calls});
  for (auto sequence = std::max<std::uint64_t>(from, 1); sequence <= last; ++sequence) {
    if (const auto call = calls_.find(sequence)) report.calls.push_back(*call);
  }
  const auto newest = calls_.find(report.begun);
  if (newest && report.find(report.begun) == nullptr) report.calls.push_back(*newest);
  return report;
}

std::optional<Message> MemberChannel::receive(const Message& message) {
  if (const auto* query = std::get_if<Query>(&message)) {
    return Answer{.communicator = number_,
                  .diagnosis = query->diagnosis,
                  .report = call_report(query->from, query->to)};
  }
  if (const auto* blobs = std::get_if<Blobs>(&message)) {
    const std::lock_guard lock(mutex_);
    if (blobs->round == 0) exchanges_.of_all = *blobs;
    if (blobs->round > exchanges_.of_living.round) exchanges_.of_living = *blobs;
    changed_.notify_all();
  } else if (const auto* departed = std::get_if<Departed>(&message)) {
    const std::lock_guard lock(mutex_);
    departed_ = *departed;
  } else if (std::holds_alternative<Alike>(message)) {
    const std::lock_guard lock(mutex_);
    alike_ = true;
    changed_.notify_all();
  } else if (const auto* note = std::get_if<Note>(&message)) {
    log(LogLevel::warn, world_rank_, note->text);
  } else if (const auto* failure = std::get_if<Failure>(&message)) {
    set_failure(Error(checked_code(failure->code), failure->message,
                      {.peer = failure->peer, .call = failure->call, .remedy = failure->remedy}));
  }
  return std::nullopt;
}

std::string MemberChannel::describe_service(int& peer) const {
  const HostInfo service = transport_->service();
  const auto& world = transport_->world();
  for (std::size_t rank = 0; rank < members_.size(); ++rank) {
    const auto world_rank = members_[rank];
    if (!same_process(world[static_cast<std::size_t>(world_rank)], service)) continue;
    peer = static_cast<int>(rank);
    return describe(peer, {.host = service, .world_rank = world_rank});
  }
  return "the job's coordinator (host " + service.hostname + ", pid " +
         std::to_string(service.pid) + ")";
}

void MemberChannel::service_gone(const std::string& why) {
  const std::lock_guard lock(mutex_);
  unserved_ = why;
  changed_.notify_all();
}

void MemberChannel::service_lost(const std::string& unproven) {
  if (left_.load(std::memory_order_relaxed)) return;
  int peer = -1;
  const auto service = describe_service(peer);
  if (unproven.empty()) {
    set_failure(Error(ErrorCode::peer_lost, service + words_of_death,
                      {.peer = peer, .remedy = remedy_of_death}));
  } else {
    set_failure(Error(ErrorCode::timeout, service + words_of_unreached + unproven,
                      {.peer = peer, .remedy = remedy_of_unreached}));
  }
}

void MemberChannel::service_left() {
  const std::lock_guard lock(mutex_);
  has_left_ = true;
}

std::vector<Message> MemberChannel::service_came(bool lost) {
  Open again = open();
  again.again = lost ? 1 : 2;
  std::vector<Message> news{again};
  const std::lock_guard lock(mutex_);
  has_left_ = false;
  const Blobs& last = exchanges_.of_living;
  if (departed_) news.emplace_back(*departed_);
  // Where the others went on without this rank, it may have missed what they said since.
  if (last.round > 0 && index_of(last.missing, rank_) < 0) news.emplace_back(last);
  // One of all that is complete may not have been noticed yet by the thread that waits for it.
  const bool has_come = exchanges_.of_all && exchanges_.pending && exchanges_.pending->round == 0;
  if (exchanges_.pending && !has_come) news.emplace_back(*exchanges_.pending);
  if (exchanges_.expired) news.emplace_back(*exchanges_.expired);
  if (failure_) news.emplace_back(failure_message(*failure_));
  if (left_.load(std::memory_order_relaxed)) news.emplace_back(leaving());
  return news;
}

bool MemberChannel::has_decided() const {
  const std::lock_guard lock(mutex_);
  return exchanges_.of_living.round > 0;
}

}  // namespace rondo::control
