#include "core/direct_device/staging_heap.h"

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <utility>

#include "core/base/archive.h"
#include "core/base/awake.h"
#include "core/base/log.h"
#include "core/base/threads.h"
#include "core/cuda/links.h"
#include "core/cuda/memory_operations.h"
#include "core/direct_device/few_queues.h"
#include "core/direct_device/reduce.h"
#include "core/transport/host.h"

namespace rondo::direct_device {
namespace {

using cuda::check;
using cuda::driver;

/// Why this rank cannot take part, by itself; empty: it can.
std::string obstacle_of(const detail::CommunicatorState& state, cuda::Context context) {
  if (context == nullptr) return "no CUDA device was current when the communicator was made";
  if (const cuda::Driver* const found = cuda::find_driver(); found->missing != nullptr)
    return std::string("the CUDA driver has no ") + found->missing;
  if (!state.config().peer_to_peer) return "RONDO_P2P_DISABLE=1";
  if (!state.is_on_one_machine()) return "the ranks are on several machines";
  if (state.size() > most_ranks)
    return "there are more than " + std::to_string(most_ranks) + " ranks";
  if (state.size() == 1) return "there is one rank";
  return {};
}

/// True if no rank said anything. Otherwise the first rank that did gives the reason for another
/// path.
bool agrees(const detail::CommunicatorState& state, const std::vector<std::string>& said,
            bool quiet) {
  const std::string first = first_said(said);
  if (!first.empty() && !quiet)
    log(LogLevel::info, state.rank(), "GPU buffers go through the host's memory: " + first,
        LogSubsystem::p2p);
  return first.empty();
}

/// Returns when it is zero. `stream`: not the default one, which may wait for other work.
void clear(cuda::DevicePointer at, std::size_t bytes, cuda::Stream stream) {
  if (bytes == 0) return;
  check(driver().memset_async(at, 0, bytes, stream), "cuMemsetD8Async");
  check(driver().stream_synchronize(stream), "cuStreamSynchronize");
}

/// Whole pages, so that copies stay aligned.
std::size_t slot_bytes_of(int ranks) {
  constexpr std::size_t page_bytes = 4096;
  const auto all = static_cast<std::size_t>(slots * std::max(ranks - 1, 1));
  return std::min(StagingHeap::most_slot_bytes,
                  StagingHeap::most_slots_bytes / all / page_bytes * page_bytes);
}

/// Freeing may wait for the device, and the device for a call of another communicator that the
/// calling thread is about to make. So it is left to a thread of its own. Where there is none left,
/// `free` goes here.
template <class Free>
void free_behind(const cuda::SharedContext& context, Free free) {
  try {
    start_thread([context, free = std::move(free)]() mutable {
      try {
        const cuda::CurrentContext current(context.get());
        free();
      } catch (const std::exception& error) {
        log(LogLevel::info, -1, std::string("while giving device memory back: ") + error.what(),
            LogSubsystem::destroy);
      }
    }).detach();
  } catch (const std::exception&) {
    // A heap is freed with `free`. Other memory stays taken until the context goes.
  }
}

}  // namespace

std::string first_said(const std::vector<std::string>& said) {
  const auto first = std::ranges::find_if_not(said, &std::string::empty);
  if (first == said.end()) return {};
  return "rank " + std::to_string(first - said.begin()) + ": " + *first;
}

/// What a rank tells the others.
struct StagingHeap::Offer {
  int process = 0;            ///< Process::number
  std::uint64_t counted = 0;  ///< likewise
  int queues = 0;             ///< queues_asked_for()
  bool reduces = false;
  std::uintptr_t flags_object = 0;  ///< rank 0's, for ranks of its process; there until all agree
  Exported memory{};
  std::string flags{};  ///< the same for ranks of other processes

  static void fields(auto& self, auto& archive) {
    archive(self.process, self.counted, self.queues, self.reduces, self.flags_object, self.memory,
            self.flags);
  }
};

StagingHeap::StagingHeap(cuda::SharedContext context, int rank, int ranks, std::size_t more)
    : context_(std::move(context)),
      rank_(rank),
      ranks_(ranks),
      slot_bytes_(slot_bytes_of(ranks)),
      more_(more),
      halves_(static_cast<std::size_t>(ranks)),
      processes_(static_cast<std::size_t>(ranks)) {}

StagingHeap::~StagingHeap() {
  const bool is_needed = !is_done_ || (flags_ != nullptr && is_read());
  close();
  if (own_ == 0 || segment_) return;
  if (is_needed) {
    driver().mem_free(own_);  // after all that streams hold
  } else {
    cuda::give_back(own_, stream_.get());
  }
}

/// Other processes reach it by CUDA IPC or, where that is refused, by a segment's descriptor.
/// Without either it serves ranks that are threads of this process.
Exported StagingHeap::take_memory() {
  check(driver().mem_alloc(&own_, bytes()), "cuMemAlloc");
  std::string refusal;
  try {
    return export_memory(context_.get(), own_, true);
  } catch (const cuda::CudaError& error) {
    refusal = error.what();
  }
  try {
    return take_segment();
  } catch (const std::exception& error) {
    Exported memory = export_memory(context_.get(), own_, false);
    memory.refusal = refusal + "; " + error.what();
    return memory;
  }
}

/// Takes the place of the memory that is there. If this throws, that memory stays.
Exported StagingHeap::take_segment() {
  if (const std::string why = cuda::why_no_segments(cuda::current_device()); !why.empty())
    throw Error(ErrorCode::system, why);
  cuda::MappedSegments made = cuda::MappedSegments::make(bytes());
  const cuda::Range range{made.address(), made.bytes()};
  Exported memory = export_segments(context_.get(), {range}, true);
  if (!memory.refusal.empty()) throw std::runtime_error(memory.refusal);
  server_ = memory.serving;
  const cuda::DevicePointer before = std::exchange(own_, range.begin);
  if (driver().mem_free_async(before, stream_.get()) != cuda::success)
    free_behind(context_, [before] { check(driver().mem_free(before), "cuMemFree"); });
  segment_.emplace(std::move(made));
  return memory;
}

StagingHeap::Offer StagingHeap::offer() {
  cuda::require_batches(context_.get());
  Offer mine;
  stream_ = cuda::make_stream();
  mine.memory = take_memory();
  clear(own_ + bytes_before_more(), more_, stream_.get());
  mine.queues = queues_asked_for();
  const Process process = Process::mine();
  mine.process = process.number;
  mine.counted = process.counted;
  mine.reduces = can_reduce(context_.get());
  if (rank_ == 0) {
    flags_ = FlagSegment::registered(ranks_);
    mine.flags = flags_->address();
    mine.flags_object = reinterpret_cast<std::uintptr_t>(&flags_);
  }
  return mine;
}

void StagingHeap::connect(const std::vector<Offer>& offers, std::chrono::milliseconds patience) {
  const std::uint64_t process = this_host({}).process;
  in_one_process_ = std::ranges::all_of(
      offers, [&](const Offer& each) { return each.memory.process == process; });
  if (rank_ != 0 && offers.front().memory.process == process) {
    flags_ = *reinterpret_cast<const std::shared_ptr<FlagSegment>*>(offers.front().flags_object);
  } else if (rank_ != 0) {
    flags_ = std::make_shared<FlagSegment>(FlagSegment::open(offers.front().flags, ranks_));
    flags_->register_memory();
  }
  reduces_ = std::ranges::all_of(offers, &Offer::reduces);
  for (int peer = 0; peer < ranks_; ++peer) {
    const auto at = static_cast<std::size_t>(peer);
    const Offer& theirs = offers[at];
    processes_[at] = Process{theirs.process, theirs.counted}.seen();
    if (theirs.memory.process != process && !theirs.memory.refusal.empty()) {
      throw Error(ErrorCode::system, "other processes cannot have the memory of rank " +
                                         std::to_string(peer) + ": " + theirs.memory.refusal);
    }
    halves_[at] = peer == rank_ ? own_ : mapped_.emplace_back(theirs.memory, patience).address();
  }
}

std::unique_ptr<StagingHeap> StagingHeap::make(
    const std::shared_ptr<detail::CommunicatorState>& state, const cuda::SharedContext& context,
    std::shared_ptr<ControlChannel>& line, const std::function<std::size_t()>& more,
    const std::function<void(const StagingHeap&)>& use) {
  const bool quiet = context == nullptr || state->size() == 1;
  if (!agrees(*state, state->exchange(obstacle_of(*state, context.get())), quiet)) return nullptr;
  // From here on nobody may leave the others waiting: the next exchange reports what goes wrong.
  const cuda::CurrentContext current(context.get());
  std::unique_ptr<StagingHeap> heap(new StagingHeap(context, state->rank(), state->size(), more()));
  std::string obstacle;
  std::string mine;
  try {
    mine = pack(heap->offer());
  } catch (const std::exception& error) {
    obstacle = error.what();
  }
  const std::vector<std::string> said = state->exchange(mine);
  std::vector<int> queues;
  try {
    if (obstacle.empty() && std::ranges::none_of(said, &std::string::empty)) {
      std::vector<Offer> offers;
      for (const std::string& bytes : said) {
        offers.push_back(unpack<Offer>(bytes));
        queues.push_back(offers.back().queues);
      }
      heap->connect(offers, state->config().bootstrap_timeout);
      use(*heap);
    }
  } catch (const std::exception& error) {
    obstacle = error.what();
  }
  const bool all = agrees(*state, state->exchange(obstacle), false);
  heap->server_.reset();  // all have it, or will not get it
  // Nobody frees what another one still maps.
  if (!all) heap->leave_unused();
  if (!all) state->exchange("");
  if (!all) free_behind(context, [heap = std::move(heap)]() mutable { heap.reset(); });
  if (!all) return nullptr;
  line = state->open_stream_channel();
  log(LogLevel::info, state->rank(),
      "GPU buffers go from device to device (" + heap->links() + ")" +
          (heap->reduces() ? "" : ", except for reductions: a rank has no kernels"),
      LogSubsystem::p2p);
  heap->warn_of_few_queues(queues);
  return heap;
}

/// `queues`: what each rank asked for. The first rank with too few tells for all.
void StagingHeap::warn_of_few_queues(const std::vector<int>& queues) const {
  for (int rank = 0; rank < static_cast<int>(queues.size()); ++rank) {
    const std::string words = words_of_few_queues(queues[static_cast<std::size_t>(rank)], rank,
                                                  ranks_, slots * slot_bytes_);
    if (words.empty()) continue;
    if (rank == rank_) log(LogLevel::warn, rank, words, LogSubsystem::p2p);
    return;
  }
}

std::string StagingHeap::links() const {
  std::vector<int> devices;
  for (const cuda::DevicePointer half : halves_) devices.push_back(cuda::device_of(half));
  return cuda::words_of_links(devices);
}

std::vector<cuda::DevicePointer> StagingHeap::more() const {
  std::vector<cuda::DevicePointer> places = halves_;
  for (cuda::DevicePointer& place : places) place += bytes_before_more();
  return places;
}

void StagingHeap::close() {
  mapped_.clear();
  if (flags_ == nullptr) return;
  // release, pairs with is_read()'s acquire: everything that was to be read before has been read.
  std::atomic_ref(flags_->closed(rank_))
      .store(is_done_ && in_one_process_ ? FlagSegment::in_order : 1, std::memory_order_release);
}

void StagingHeap::leave_unused() {
  finish();
  close();
  if (rank_ != 0 || flags_ == nullptr || halves_.front() != 0) return;
  flags_->leave_unused();  // nobody has begun to connect
  flags_.reset();
}

void StagingHeap::abandon() {
  for (Mapped& each : mapped_) each.abandon();
  (void)stream_.release();
  leave_memory();
  close();
}

bool StagingHeap::is_read() const {
  for (int peer = 0; peer < ranks_; ++peer) {
    if (peer == rank_) continue;
    if (std::atomic_ref(flags_->closed(peer)).load(std::memory_order_acquire) != 0) continue;
    if (lives(peer)) return true;
  }
  return false;
}

void StagingHeap::wait_for_peers(bool failed, bool is_written) const {
  constexpr std::chrono::seconds most_patience{5};
  AwakeClock clock;  // time when this process stood still does not count
  const auto begin = clock.now();
  bool told = false;
  for (; is_read(); std::this_thread::sleep_for(std::chrono::milliseconds(20))) {
    if (!failed || told || clock.now() - begin < most_patience) continue;
    if (!is_written) return;
    tell_kept();
    told = true;
  }
}

void StagingHeap::tell_kept() const {
  log(LogLevel::info, rank_,
      std::to_string(bytes()) +
          " bytes of device memory stay taken until all living ranks end this communicator: their "
          "kernels may write there",
      LogSubsystem::destroy);
}

void StagingHeap::leave_memory() {
  own_ = 0;
  if (segment_) segment_->abandon();
}

}  // namespace rondo::direct_device
