#include "core/communicator/state.h"

#include <utility>

#include "core/base/log.h"
#include "core/communicator/live_registry.h"
#include "core/communicator/remedies.h"
#include "core/control/exchange_values.h"
#include "core/plan/decide.h"

namespace rondo::detail {
namespace {

/// At the end of a communicator the last calls are compared. This is the time for slower ranks to
/// reach theirs, such as those that a broadcast's root does not wait for.
constexpr std::chrono::milliseconds longest_comparing{200};

}  // namespace

CommunicatorState::CommunicatorState(Membership membership, const Config& config,
                                     std::shared_ptr<ControlChannel> control)
    : derivation_(std::move(membership)),
      control_(std::move(control)),
      agreed_(detail::agree(control_, derivation_.parent(), config)),
      connections_(derivation_.parent(), agreed_.config, control_),
      plans_(rank(), agreed_.config, connections_),
      numbering_(control_->calls(), size()),
      tracing_(derivation_.parent(), agreed_.config, connections_.names(), control_),
      engine_(rank(), connections_.by_peer(), connections_.direct(), *control_,
              agreed_.oversubscribed, agreed_.config.checksum),
      watchdog_(rank(), *control_, config, derivation_.parent().whole.get()),
      lifetime_(rank(), {*control_, engine_, to_self_, watchdog_, tracing_,
                         derivation_.parent().whole.get()}),
      progress_(engine_, connections_, watchdog_, lifetime_, agreed_.oversubscribed) {
  engine_.set_trace(tracing_.recorder());
  connections_.log();
  plans_.log();
}

std::shared_ptr<CommunicatorState> CommunicatorState::make_child(Membership members) const {
  Config config = agreed_.config;
  config.timeout = watchdog_.timeout();
  config.timeout_from_program = watchdog_.is_from_program();
  return make_state(std::move(members), config);
}

std::shared_ptr<CommunicatorState> CommunicatorState::split(int color, int key) {
  progress_.require_own_process();
  lifetime_.require_usable();
  const auto members = derivation_.split(exchange_values(control_, SplitWish{color, key}));
  return members ? make_child(*members) : nullptr;
}

std::shared_ptr<CommunicatorState> CommunicatorState::open_part(int color,
                                                                std::shared_ptr<Whole> whole) {
  progress_.require_own_process();
  lifetime_.require_usable();
  auto members = derivation_.split(exchange_values(control_, SplitWish{color, rank()}));
  members->whole = std::move(whole);
  auto state = make_child(*std::move(members));
  parts_.add(state);
  if (const auto error = failure()) state->end_with(*error);  // it came while this was made
  return state;
}

std::string CommunicatorState::describe(const Call& call) {
  const Lock lock(progress_);
  lifetime_.require_usable();
  return words(*plans_.of(resolved(call), {}), connections_.names());
}

Traffic CommunicatorState::traffic() {
  const Lock lock(progress_);
  return engine_.traffic();
}

void CommunicatorState::keep_trace() {
  const Lock lock(progress_, std::try_to_lock);
  if (lock.held() && !lifetime_.is_finalized()) tracing_.write(false);
}

void CommunicatorState::abort(const std::string& reason) noexcept {
  if (!is_own()) return;
  try {
    end_with(Error(ErrorCode::aborted,
                   "the communicator was aborted" + (reason.empty() ? "" : ": " + reason),
                   {.rank = rank(), .remedy = std::string(remedies::new_communicator.words)}));
  } catch (...) {
    // Out of memory while describing the abort: there is no one left to tell.
  }
}

void CommunicatorState::end_with(const Error& error) noexcept {
  try {
    control_->fail(error);
  } catch (...) {
    // Out of memory while telling: threads that wait here are woken all the same.
  }
  progress_.interrupt();
  if (Whole* const whole = derivation_.parent().whole.get()) whole->fail(error);
  try {
    parts_.each([&](CommunicatorState& each) { each.end_with(error); });
  } catch (...) {
    // Out of memory: their waits end by the timeout.
  }
}

void CommunicatorState::close(bool together) {
  Lock lock(progress_);
  if (!lifetime_.finalize()) return;
  // Calls under way report a failure where they are waited for.
  const bool told = lifetime_.is_told();
  try {
    to_self_.end_all([&](const Operation& operation) {
      return std::make_exception_ptr(Error(
          ErrorCode::invalid_usage, "a send or recv between this rank and itself has no other side",
          {.rank = rank(), .peer = rank(), .call = to_string(operation.prepared->call)}));
    });
    progress_.drain();
  } catch (...) {
    tracing_.write(false);
    control_->leave();
    throw;
  }
  tracing_.write(together);
  if (together && size() > 1) control_->compare_calls(longest_comparing);
  const auto disagreement = untold();  // errors of other ranks after it has left do not count
  control_->leave();
  if (together && !told && disagreement) {
    note_told();
    throw *disagreement;
  }
}

/// The exception most likely takes the buffers away as well, so nothing may write to them any more.
/// And the other ranks may be waiting for a call that this one has left out.
void CommunicatorState::abandon_calls() {
  {
    const Lock lock(progress_);
    if (lifetime_.is_idle()) return;
  }
  abort("an exception left its calls under way");
}

CommunicatorState::~CommunicatorState() {
  try {
    if (lifetime_.is_in_exception()) abandon_calls();
    close(false);
  } catch (const std::exception& error) {
    log(LogLevel::warn, rank(), std::string("while finalizing: ") + error.what());
  }
  progress_.stop();
  control_->leave();
}

}  // namespace rondo::detail
