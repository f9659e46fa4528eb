#include "core/execute/direct.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "core/base/awake.h"
#include "core/execute/cache_line.h"

namespace rondo::detail {
namespace {

/// A stopped peer may hold this rank's memory for ever; then the failure matters more.
constexpr std::chrono::seconds longest_withdrawal{5};

std::uint64_t step_of(std::uint64_t call, std::uint64_t step) {
  return call * steps_per_call + step;
}

}  // namespace

DirectEngine::DirectEngine(int rank, int ranks, DirectAccess& access, ControlLine& control,
                           bool crowded)
    : rank_(rank),
      access_(access),
      control_(control),
      places_(places_for(crowded)),
      contest_(!crowded) {
  const auto count = static_cast<std::size_t>(ranks);
  seen_.resize(count);
  freed_.resize(count);
  inputs_.resize(count);
  outputs_.resize(count);
  announcements_.resize(count);
  for (std::int32_t peer = 0; peer < ranks; ++peer) {
    if (peer == rank) continue;
    others_.push_back(peer);
    // Larger worlds have no direct calls (core/plan/direct_rules.h).
    if (peer < most_direct_ranks) others_bits_ |= std::uint64_t{1} << peer;
  }
}

DirectEngine::Result DirectEngine::run(Operation& operation) {
  if (stage_ == Stage::finished) begin(operation);
  bool moved = false;
  while (stage_ != Stage::finished && advance()) {
    moved = true;
    if (elements_ * operation.prepared->element_bytes >= copied_slice_bytes) break;
  }
  if (stage_ == Stage::finished) return by_messages_ ? Result::by_messages : Result::done;
  return moved ? Result::moved : Result::waiting;
}

// Inlined in one piece: each of its parts is a few instructions, and calling it costs as many.
[[gnu::flatten]] bool DirectEngine::run_at_once(Operation& operation, std::uint32_t looks) {
  if (operation.prepared->direct->measured) return false;
  begin(operation);
  // No peer waits for this rank's post, nor this rank for theirs: a disagreement shows where the
  // next call is read. But they wait for the control block, which needs every rank.
  if (call_->alone && board_ && trace_ == nullptr) {
    if (!call_->shown.empty()) {
      lay_out_shown();
      make_shown();
    }
    end();
    return true;
  }
  if (!shows_once() || !enter()) return false;
  stage_ = Stage::gather;
  // While the posts travel.
  claim_next_places();
  lay_out_shown();
  for (std::uint32_t look = 0; !gather(); ++look) {
    if (look == looks) return false;
  }
  stage_ = after_gather();
  if (stage_ != Stage::round_0) return run(operation) == Result::done;
  make_shown();
  finish_step(all_done, part_->plan.touches[0]);
  end();
  return true;
}

void DirectEngine::begin(Operation& operation) {
  operation_ = &operation;
  call_ = operation.prepared->direct.get();
  part_ = &call_->ordinary_memory;
  by_messages_ = goes_by_messages();
  if (by_messages_) return;
  ++number_;
  stage_ = Stage::enter;
  staged_ = call_->staged;
  streaming_ = false;
  waited_ = 0;
  move_ = 0;
  elements_ = 0;
}

bool DirectEngine::advance() {
  switch (stage_) {
    case Stage::enter:
      if (!enter()) return false;
      stage_ = Stage::gather;
      return true;
    case Stage::gather:
      if (!gather()) return false;
      stage_ = after_gather();
      return true;
    case Stage::late:
      if (!show_late()) return false;
      stage_ = Stage::round_0;
      return true;
    case Stage::resolve:
      if (by_messages_) {
        finish_step(all_done, others_);
        stage_ = Stage::finished;
        return true;
      }
      if (!resolve()) return false;
      stage_ = Stage::round_0;
      return true;
    case Stage::round_0:
      if (shows_once()) {
        lay_out_shown();
        make_shown();
      } else if (round(0)) {
        return true;
      }
      if (part().plan.mode == DirectMode::two_shot) {
        finish_step(round_0_done, part().plan.users);
        stage_ = Stage::round_1;
      } else {
        finish_step(all_done, looks_at_all() ? others_ : part().plan.touches[0]);
        stage_ = Stage::leave;
      }
      return true;
    case Stage::round_1:
      if (!passed(part().plan.touches[1], step_of(number_, round_0_done))) return false;
      if (round(1)) return true;
      finish_step(all_done, others_);
      stage_ = Stage::leave;
      return true;
    case Stage::leave:
      if (!is_staged() && !passed(part().plan.users, step_of(number_, all_done))) return false;
      end();
      return true;
    case Stage::finished:
      break;
  }
  return false;
}

bool DirectEngine::reached(std::int32_t peer, std::uint64_t step) {
  std::uint64_t& seen = seen_[static_cast<std::size_t>(peer)];
  if (seen >= step) return true;
  const std::uint64_t now = board_.of(peer).progress.step.load(std::memory_order_acquire);
  if (now == gone) return false;  // the failure itself comes by the control line
  seen = now;
  return seen >= step;
}

bool DirectEngine::passed(const Ranks& ranks, std::uint64_t step) {
  for (const std::int32_t peer : ranks) {
    if (!reached(peer, step)) return false;
  }
  return true;
}

// Either a peer that has just posted sees that this rank is gone (resolve()), or this rank sees its
// post and waits for it: each stores and then loads, all four seq_cst.
void DirectEngine::withdraw(const std::function<void()>& look) noexcept {
  if (!board_) return;
  board_.of(rank_).progress.step.store(gone, std::memory_order_seq_cst);
  if (stage_ == Stage::enter || stage_ == Stage::finished || !announces()) return;
  AwakeClock clock;  // a process that stood still has waited for no one
  const auto deadline = clock.now() + longest_withdrawal;
  const auto at_work = [&](std::int32_t peer) {
    return board_.post(peer, number_).call.load(std::memory_order_seq_cst) >= number_ &&
           board_.of(peer).progress.step.load(std::memory_order_acquire) <
               step_of(number_, all_done);
  };
  for (const std::int32_t peer : others_) {
    while (at_work(peer) && clock.now() < deadline && is_there(peer, look))
      std::this_thread::yield();
  }
}

bool DirectEngine::is_there(std::int32_t peer, const std::function<void()>& look) noexcept {
  try {
    look();
    access_.check(peer);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

void DirectEngine::finish_step(std::uint64_t step, const Ranks& waiting) {
  board_.of(rank_).progress.step.store(step_of(number_, step), std::memory_order_release);
  if (trace_ != nullptr) trace_->stepped(operation_->traced, step, part_->plan.mode);
  for (const std::int32_t peer : waiting) access_.wake(peer);
}

bool DirectEngine::enter() {
  if (!board_) {
    const int ranks = static_cast<int>(others_.size()) + 1;
    std::byte* memory = access_.board(Board::bytes(ranks, places_));
    if (memory == nullptr) return false;
    board_ = Board(memory, ranks, places_);
  }
  if (!take_places()) return false;
  Post& post = board_.post(rank_, number_);
  if (is_staged()) {
    show_input(post);
  } else {
    announce(post);
  }
  post.tag = tag_of(operation_->fingerprint, operation_->history);
  post.fingerprint = operation_->fingerprint;
  if (compares_times()) post.times = times_to_tell();
  // seq_cst where memory is announced: see withdraw().
  post.call.store(number_, announces() ? std::memory_order_seq_cst : std::memory_order_release);
  if (trace_ != nullptr) trace_->posted(operation_->traced);
  for (const std::int32_t peer : looks_at_all() ? others_ : part().plan.users) access_.wake(peer);
  return true;
}

bool DirectEngine::is_over(const Use& use) {
  if (use.call <= over_) return true;
  for (std::uint64_t left = use.readers; left != 0; left &= left - 1) {
    if (!reached(std::countr_zero(left), step_of(use.call, all_done))) return false;
  }
  return true;
}

/// Claims the post of this call, with its note, and the stage where that is wanted.
bool DirectEngine::take_places() {
  Use& post = posts_[number_ & (places_ - 1)];
  Use& stage = stages_[number_ & 1];
  if (!is_over(post) || (fills_stage() && !is_over(stage))) return false;
  post = {number_, looks_at_all() ? others_bits_ : part().users};
  if (fills_stage()) stage = post;
  return true;
}

/// A post that peers have read costs a hop to write to again, because their copies must go first.
/// This drops the copies of the next call's post while this rank waits for its peers, unless a peer
/// may still have to read it.
void DirectEngine::claim_next_places() {
  const std::uint64_t next = number_ + 1;
  if (posts_[next & (places_ - 1)].call > over_) return;
  const Post& post = board_.post(rank_, next);
  claim_line(&post);
  claim_line(&post.fingerprint);  // peers' prefetchers have read that, too
  const std::size_t bytes = call_->shown_bytes;
  if (bytes <= inline_payload || bytes > note_bytes) return;
  const std::byte* const note = board_.shown(rank_, next, bytes);
  for (std::size_t offset = 0; offset < bytes; offset += 64) claim_line(note + offset);
}

void DirectEngine::show_input(Post& post) {
  const std::size_t bytes = call_->shown_bytes;
  if (bytes == 0 || part().plan.users.empty()) return;
  if (call_->offers_windows) {
    announce(post);
    if (shows_late(rank_)) return;
  }
  std::memcpy(board_.shown(rank_, number_, bytes), operation_->input, bytes);
}

void DirectEngine::announce(Post& post) {
  const std::size_t in = part().input_bytes(rank_);
  const std::size_t out = part().output_bytes(rank_);
  Announcement mine;
  if (in > 0) mine.input = access_.expose(operation_->input, in);
  if (out > 0) mine.output = access_.expose(operation_->output, out);
  const DirectPlan& plan = call_->windows.plan;
  if (mine.input.window != 0) access_.offer(mine.input, plan.users);
  if (mine.output.window != 0 && plan.touches_outputs()) access_.offer(mine.output, plan.users);
  mine.windows_freed = access_.windows_freed();
  const bool in_windows =
      (in == 0 || mine.input.window != 0) && (out == 0 || mine.output.window != 0);
  mine.in_windows = in_windows ? 1 : 0;
  announcements_[static_cast<std::size_t>(rank_)] = mine;
  post.announcement = mine;
}

bool DirectEngine::gather() {
  const Ranks& awaited = looks_at_all() ? others_ : part().plan.touches[0];
  for (; waited_ < awaited.size(); ++waited_) {
    const std::int32_t peer = awaited[waited_];
    const Post& post = board_.post(peer, number_);
    if (post.call.load(std::memory_order_acquire) < number_ || !check(peer, post)) return false;
    // A rank that is in this call has finished the one before.
    std::uint64_t& seen = seen_[static_cast<std::size_t>(peer)];
    seen = std::max(seen, step_of(number_ - 1, all_done));
    if (announces()) announcements_[static_cast<std::size_t>(peer)] = post.announcement;
  }
  if (trace_ != nullptr) trace_->seen(operation_->traced);
  if (awaited.size() == others_.size()) over_ = number_ - 1;
  if (compares_times()) settle_contest();
  if (announces()) {
    decide();
  } else {
    by_messages_ = wants_messages();
  }
  return true;
}

bool DirectEngine::check(int peer, const Post& post) {
  if (post.tag == tag_of(operation_->fingerprint, operation_->history)) return true;
  if (std::exchange(reported_mismatch_, operation_->sequence) != operation_->sequence)
    control_.report_mismatch(peer, operation_->sequence,
                             post.fingerprint == operation_->fingerprint);
  return false;
}

DirectEngine::Stage DirectEngine::after_gather() {
  if (!staged_ || by_messages_) return Stage::resolve;
  if (!call_->offers_windows) return Stage::round_0;
  if (shows_late(rank_)) {
    const std::size_t bytes = part().input_bytes(rank_);
    std::memcpy(board_.shown(rank_, number_, bytes), operation_->input, bytes);
    finish_step(round_0_done, part().plan.users);
  }
  return Stage::late;
}

/// Waits for the ranks whose windows were of no use, since not every rank had one.
bool DirectEngine::show_late() {
  const std::uint64_t shown = step_of(number_, round_0_done);
  return std::all_of(others_.begin(), others_.end(),
                     [&](std::int32_t peer) { return !shows_late(peer) || reached(peer, shown); });
}

bool DirectEngine::resolve() {
  bool waiting = false;
  for (const std::int32_t peer : others_) {
    const auto at = static_cast<std::size_t>(peer);
    const Announcement& place = announcements_[at];
    if (std::exchange(freed_[at], place.windows_freed) != place.windows_freed) access_.forget(peer);
    const auto touched = [&](const Ranks& list) {
      return std::find(list.begin(), list.end(), peer) != list.end();
    };
    if (!touched(part().plan.touches[0]) && !touched(part().plan.touches[1])) continue;
    if (board_.of(peer).progress.step.load(std::memory_order_seq_cst) == gone) return false;
    inputs_[at] = base_of(peer, place.input, part().input_bytes(peer), waiting);
    outputs_[at] = part().plan.touches_outputs()
                       ? base_of(peer, place.output, part().output_bytes(peer), waiting)
                       : nullptr;
  }
  return !waiting;
}

std::byte* DirectEngine::base_of(int peer, const Exposed& place, std::size_t bytes, bool& waiting) {
  if (bytes == 0 || place.window == 0) return nullptr;
  std::byte* const base = access_.map(peer, place, bytes);
  waiting |= base == nullptr;
  return base;
}

}  // namespace rondo::detail
