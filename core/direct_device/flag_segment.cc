#include "core/direct_device/flag_segment.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <sstream>

#include "core/cuda/spares.h"

namespace rondo::direct_device {
namespace {

constexpr const char* what = "the ranks' flags";

std::uint64_t random_number() {
  std::random_device random;
  return std::uint64_t{random()} << 32 | random() | 1;
}

std::atomic_ref<std::uint64_t> shared(std::uint64_t& word) {
  return std::atomic_ref<std::uint64_t>(word);
}

/// Words of each ordered pair of ranks: of all signals, and what is passed and moved of sends and
/// receives.
constexpr int signals_of_pair = 3 * halves + 2 * slots;
constexpr int words_of_pair = signals_of_pair + 4;

/// A shape in one word.
std::uint64_t word_of(const MessageShape& shape) {
  return shape.count << 8 | static_cast<std::uint64_t>(shape.type) << 1 | (shape.on_device ? 1 : 0);
}
MessageShape message_shape(std::uint64_t word) {
  return {word >> 8, static_cast<DataType>(word >> 1 & 127), (word & 1) != 0};
}

/// A place in one word.
constexpr int offset_bits = 48;
std::uint64_t word_of(const WindowPlace& place) {
  return std::uint64_t{place.window} << offset_bits | place.offset;
}
WindowPlace place_of(std::uint64_t word) {
  return {static_cast<std::uint32_t>(word >> offset_bits),
          word & ((std::uint64_t{1} << offset_bits) - 1)};
}

}  // namespace

/// The first line tells this segment from any other file; then those of each rank, and those of
/// pairs, counters last.
std::size_t FlagSegment::lines(int ranks) {
  return static_cast<std::size_t>(1 + words_of_rank * ranks +
                                  (words_of_pair + lines_of_counters) * ranks * ranks);
}

std::size_t FlagSegment::bytes(int ranks) {
  const auto count = static_cast<std::size_t>(ranks);
  const std::size_t entries = count * announced + 2 * count * count * announced_messages(ranks);
  return lines(ranks) * line + entries * sizeof(Announcement);
}

FlagSegment FlagSegment::make(int ranks) {
  FlagSegment made(make_shared_memory(bytes(ranks), what), {}, ranks);
  made.begin();
  return made;
}

void FlagSegment::begin() {
  const std::uint64_t number = random_number();
  *reinterpret_cast<std::uint64_t*>(base()) = number;
  for (int from = 0; from < ranks_; ++from) {
    for (int to = 0; to < ranks_; ++to) {
      for (const Signal kind : {Signal::free, Signal::taken}) {
        for (int place = 0; place < places_of(kind); ++place) signal(kind, place, from, to) = 1;
      }
    }
  }
  address_ = std::to_string(::getpid()) + " " + std::to_string(memory_.descriptor.get()) + " " +
             std::to_string(number);
}

bool FlagSegment::is_left_in_order() const {
  for (int rank = 0; rank < ranks_; ++rank) {
    // acquire, pairs with StagingHeap::close(): what that rank did to the segment is done.
    if (std::atomic_ref(closed(rank)).load(std::memory_order_acquire) != in_order) return false;
  }
  return true;
}

void FlagSegment::leave_unused() const {
  // relaxed: there is no other thread.
  for (int rank = 0; rank < ranks_; ++rank)
    std::atomic_ref(closed(rank)).store(in_order, std::memory_order_relaxed);
}

std::shared_ptr<FlagSegment> FlagSegment::registered(int ranks) {
  const auto spares = cuda::Spares::of_current();
  std::shared_ptr<FlagSegment> kept = spares->take<FlagSegment>(bytes(ranks));
  if (kept == nullptr) {
    kept = std::make_shared<FlagSegment>(make(ranks));
    kept->register_memory();
  } else {
    std::memset(kept->base(), 0, bytes(ranks));
    kept->begin();
  }
  FlagSegment* const made = kept.get();
  return {made, [spares, kept = std::move(kept)](FlagSegment* done) mutable {
            if (done->is_left_in_order()) spares->keep(bytes(done->ranks_), std::move(kept));
          }};
}

/// The kernel lets processes of one user open each other's descriptors. The number in the segment
/// tells whether it is the right one: the pid may be another process's in another namespace.
FlagSegment FlagSegment::open(const std::string& address, int ranks) {
  std::istringstream text(address);
  int pid = 0;
  int descriptor = -1;
  std::uint64_t number = 0;
  text >> pid >> descriptor >> number;
  const std::string path = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(descriptor);
  const UniqueFd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  Mapping mapping = file ? map_shared_memory(file.get(), bytes(ranks)) : Mapping();
  if (!mapping || *reinterpret_cast<const std::uint64_t*>(mapping.data()) != number) {
    throw Error(ErrorCode::system,
                "the memory of " + std::string(what) + " of process " + std::to_string(pid) +
                    " cannot be reached",
                {.remedy = "run all ranks as one user in one pid namespace"});
  }
  FlagSegment made({}, std::move(mapping), ranks);
  made.address_ = address;
  return made;
}

std::uint32_t& FlagSegment::word(int index) const {
  return *reinterpret_cast<std::uint32_t*>(base() + static_cast<std::size_t>(index) * line);
}

std::uint32_t& FlagSegment::counter(int from, int to, int signal) const {
  const int before = 1 + words_of_rank * ranks_ + words_of_pair * ranks_ * ranks_;
  return *(&word(before + (to * ranks_ + from) * lines_of_counters) + signal);
}

std::uint32_t& FlagSegment::signal(Signal kind, int place, int from, int to) const {
  const int before = std::min(static_cast<int>(kind), 3) * halves +
                     std::max(static_cast<int>(kind) - 3, 0) * slots;
  return word(1 + words_of_rank * ranks_ + ((before + place) * ranks_ + from) * ranks_ + to);
}

std::uint32_t& FlagSegment::passed(int rank, int peer, bool sends) const {
  const int group = signals_of_pair + (sends ? 1 : 0);
  return word(1 + words_of_rank * ranks_ + (group * ranks_ + rank) * ranks_ + peer);
}

std::uint32_t& FlagSegment::moved(int rank, int peer, bool sends) const {
  const int group = signals_of_pair + 2 + (sends ? 1 : 0);
  return word(1 + words_of_rank * ranks_ + (group * ranks_ + rank) * ranks_ + peer);
}

bool FlagSegment::uses_windows(int rank) const {
  // acquire, after what its stream or kernel wrote: everything that it read before has been read.
  return std::atomic_ref(replaying(rank)).load(std::memory_order_acquire) != 0 || is_reading(rank);
}

/// acquire: as above.
bool FlagSegment::is_reading(int rank) const {
  const std::uint32_t done = std::atomic_ref(completed(rank)).load(std::memory_order_acquire);
  // seq_cst: see DeviceCalls::claim_windows().
  const std::uint32_t newest = std::atomic_ref(reading(rank)).load(std::memory_order_seq_cst);
  return newest != 0 && static_cast<std::int32_t>(newest - done) > 0;
}

void FlagSegment::forget_reading(int rank) const {
  const std::atomic_ref newest(reading(rank));
  // relaxed: only this thread writes it. seq_cst: see DeviceCalls::claim_windows().
  if (newest.load(std::memory_order_relaxed) != 0 && !is_reading(rank))
    newest.store(0, std::memory_order_seq_cst);
}

FlagSegment::Announcement* FlagSegment::announcements() const {
  return reinterpret_cast<Announcement*>(base() + lines(ranks_) * line);
}

FlagSegment::Announcement& FlagSegment::announcement(int rank, std::uint64_t sequence) const {
  return announcements()[static_cast<std::size_t>(rank) * announced + sequence % announced];
}

FlagSegment::Announcement& FlagSegment::message(int rank, int peer, bool sends,
                                                std::uint64_t sequence) const {
  const auto ring = static_cast<std::size_t>(((sends ? 1 : 0) * ranks_ + rank) * ranks_ + peer);
  Announcement* const all = announcements() + static_cast<std::size_t>(ranks_) * announced;
  const std::size_t each = announced_messages(ranks_);
  return all[ring * each + sequence % each];
}

void FlagSegment::write(Announcement& entry, std::uint64_t sequence, const Words& words) {
  // seq_cst: a reader that sees a new word beside a sequence sees this 0 when it looks again.
  shared(entry.sequence).store(0, std::memory_order_seq_cst);
  for (std::size_t i = 0; i < words.size(); ++i)
    shared(entry.words[i]).store(words[i], std::memory_order_seq_cst);
  shared(entry.sequence).store(sequence, std::memory_order_seq_cst);
}

std::optional<FlagSegment::Words> FlagSegment::read(Announcement& entry, std::uint64_t sequence) {
  if (shared(entry.sequence).load(std::memory_order_seq_cst) != sequence) return std::nullopt;
  Words found{};
  for (std::size_t i = 0; i < found.size(); ++i)
    found[i] = shared(entry.words[i]).load(std::memory_order_seq_cst);
  if (shared(entry.sequence).load(std::memory_order_seq_cst) != sequence) return std::nullopt;
  return found;
}

void FlagSegment::announce(int rank, std::uint64_t sequence, const Announced& call) const {
  write(announcement(rank, sequence), sequence,
        {call.fingerprint, word_of(call.places.input), word_of(call.places.output)});
}

std::optional<Announced> FlagSegment::find(int rank, std::uint64_t sequence) const {
  const auto found = read(announcement(rank, sequence), sequence);
  if (!found) return std::nullopt;
  return Announced{(*found)[0], {place_of((*found)[1]), place_of((*found)[2])}};
}

void FlagSegment::announce_message(int rank, int peer, bool sends, std::uint64_t sequence,
                                   const MessageShape& shape) const {
  write(message(rank, peer, sends, sequence), sequence, {word_of(shape), 0, 0});
}

std::optional<MessageShape> FlagSegment::find_message(int rank, int peer, bool sends,
                                                      std::uint64_t sequence) const {
  const auto found = read(message(rank, peer, sends, sequence), sequence);
  if (!found) return std::nullopt;
  return message_shape((*found)[0]);
}

}  // namespace rondo::direct_device
