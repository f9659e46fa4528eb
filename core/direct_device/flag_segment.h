// FlagSegment: the flag segment, host memory that all ranks of a communicator map and every driver
// has registered. It holds flags that streams and kernels write and wait for, and what ranks tell each
// other.
//
// A signal is a word for each ordered pair of ranks, kind and half (or slot, of messages):
// - It is 0 or 1. The stream of its `from` writes 1. The stream of its `to` waits for 1, then
//   writes 0 again.
// - `free` and `taken` tell `to` that `from` no longer needs its half or slot. They begin as 1, the
//   others as 0.
//
// A counter is a word for each ordered pair of ranks and signal of one-sided calls: how many of these
// `from` has given `to`. The stream of `from` writes it, and it only grows.
//
// Each word that is written often has a cache line to itself, but for the counters of a pair.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/cuda/pinned.h"
#include "core/memory/shared_memory.h"
#include "rondo/types.h"

namespace rondo::direct_device {

inline constexpr int halves = 2;
inline constexpr int slots = 4;  ///< of messages from one rank to another
inline constexpr int most_ranks = 32;
inline constexpr int counters = 256;  ///< signals of one-sided calls from one rank to another

enum class Signal : std::uint8_t {
  filled,   ///< `from` has filled its half
  reduced,  ///< its part of its half is reduced
  free,     ///< it has read all it wanted of the half of `to`
  sent,     ///< it has filled its slot for `to`
  taken,    ///< it has read the slot of `to` that is for it
};
inline constexpr int signal_kinds = 5;
constexpr int places_of(Signal kind) { return kind < Signal::sent ? halves : slots; }

inline constexpr std::uint32_t most_windows = 65535;  ///< of one communicator, ever

/// Where a buffer lies in a window that all ranks have registered.
struct WindowPlace {
  std::uint32_t window = 0;  ///< number; 0: in none
  std::uint64_t offset = 0;  ///< in bytes
  friend bool operator==(const WindowPlace&, const WindowPlace&) = default;
};

/// Where a collective's buffers lie in windows, as far as peers use them there.
struct WindowPlaces {
  WindowPlace input{};
  WindowPlace output{};
  friend bool operator==(const WindowPlaces&, const WindowPlaces&) = default;
};

/// A collective as a rank announces it.
struct Announced {
  std::uint64_t fingerprint = 0;
  WindowPlaces places{};
  friend bool operator==(const Announced&, const Announced&) = default;
};

/// A message as one of its ranks announces it.
struct MessageShape {
  std::uint64_t count = 0;
  DataType type = DataType::uint8;
  bool on_device = false;  ///< it goes from device to device, as far as this rank knows
  friend bool operator==(const MessageShape&, const MessageShape&) = default;
};

/// Thread-safe once it is registered. The memory is there until the last rank unmaps it. Ranks of
/// one process share an object, or have a mapping each.
class FlagSegment {
 public:
  FlagSegment() = default;
  /// New memory. Throws what make_shared_memory() throws.
  static FlagSegment make(int ranks);
  /// The same, registered; or one that another communicator is done with. If all ranks leave this
  /// one in order, it is reused, too. The context must be current when the last rank lets go of it.
  /// Throws CudaError, too.
  static std::shared_ptr<FlagSegment> registered(int ranks);
  /// The memory that another rank of this machine, perhaps another process, made. Throws
  /// Error{system} where it cannot be reached: as another user, or from another pid namespace.
  static FlagSegment open(const std::string& address, int ranks);
  /// The address by which others open it.
  const std::string& address() const { return address_; }
  /// Makes it known to the driver, for every context of this process, until the destructor, which
  /// then needs a current context. Throws CudaError.
  void register_memory() { lock_.emplace(base(), bytes(ranks_)); }

  /// `place`: a half or a slot.
  std::uint32_t& signal(Signal kind, int place, int from, int to) const;
  /// The lower 32 bits of a counter.
  std::uint32_t& counter(int from, int to, int signal) const;
  /// The newest entry that a rank's stream has begun, and completed: lower 32 bits of its number. A
  /// kernel has begun when one of its blocks runs, not when the stream has come to it.
  std::uint32_t& begun(int rank) const { return word(1 + rank); }
  std::uint32_t& completed(int rank) const { return word(1 + ranks_ + rank); }
  /// Not 0: the rank maps nobody's device memory any more. `in_order`: none of its streams needs
  /// these flags any more either, and all ranks are threads of one process.
  std::uint32_t& closed(int rank) const { return word(1 + 2 * ranks_ + rank); }
  static constexpr std::uint32_t in_order = 2;
  /// For rank 0, where no other rank has seen the segment: as if all had left in order.
  void leave_unused() const;
  /// The newest entry in which a rank's stream uses windows of others, as reading_number() says;
  /// 0: none yet, or none since forget_reading().
  std::uint32_t& reading(int rank) const { return word(1 + 3 * ranks_ + rank); }
  /// Not 0: the rank's stream is within a captured call that uses windows of others.
  std::uint32_t& replaying(int rank) const { return word(1 + 4 * ranks_ + rank); }
  /// A bit for each rank: 1 where it has not noticed yet that such a call began.
  std::uint32_t& replayed(int rank) const { return word(1 + 5 * ranks_ + rank); }
  /// How many such calls the rank has in graphs that are still there.
  std::uint32_t& captured(int rank) const { return word(1 + 6 * ranks_ + rank); }
  /// Not 0: nobody may begin to use the rank's windows any more.
  std::uint32_t& withdrawn(int rank) const { return word(1 + 7 * ranks_ + rank); }
  /// Not 0: the rank's stream is within a captured call, whatever that uses. The second one: it
  /// has begun such a call since its watcher last looked.
  std::uint32_t& inside_captured(int rank) const { return word(1 + 8 * ranks_ + rank); }
  std::uint32_t& began_captured(int rank) const { return word(1 + 9 * ranks_ + rank); }
  /// The newest entry whose sends to `peer`, or receives from it, a rank's stream has done.
  std::uint32_t& passed(int rank, int peer, bool sends) const;
  /// How many entries of calls that are not complete a rank's stream has done, and how many pieces
  /// of messages of one direction with `peer`. Both are counted on from call to call. They are a
  /// hint of how much room there is in queues. The end of a call, or of a message, is not counted.
  std::uint32_t& advanced(int rank) const { return word(1 + 10 * ranks_ + rank); }
  std::uint32_t& moved(int rank, int peer, bool sends) const;
  /// Whether the rank's stream uses windows of others, or is to; captured calls count while they
  /// run.
  bool uses_windows(int rank) const;
  /// The lower bits of an entry's number, but never 0. For one entry in 2^32 it is the next one's
  /// number, so that the entry counts as read until that one is complete, too.
  static constexpr std::uint32_t reading_number(std::uint64_t number) {
    return std::max(static_cast<std::uint32_t>(number), std::uint32_t{1});
  }
  /// Called by the thread that makes the rank's calls, before each call. It forgets an entry that
  /// is complete, so that numbers that are 2^31 entries apart are never compared.
  void forget_reading(int rank) const;
  /// The address by which a stream knows a word of this segment.
  cuda::DevicePointer device_address(const std::uint32_t& word) const {
    return lock_->device_address(&word);
  }

  /// How many calls of each rank can be compared.
  static constexpr std::size_t announced = 256;
  /// Says that the rank's call `sequence` is this one. If two ranks announce a call and then look
  /// for the other's, at least one of them sees it: both are seq_cst.
  void announce(int rank, std::uint64_t sequence, const Announced& call) const;
  /// Nothing where the rank has not come there yet, or is `announced` calls further.
  std::optional<Announced> find(int rank, std::uint64_t sequence) const;

  /// The same for messages between two ranks, numbered from 1 for each direction; `sends`: that of
  /// `rank`.
  void announce_message(int rank, int peer, bool sends, std::uint64_t sequence,
                        const MessageShape& shape) const;
  std::optional<MessageShape> find_message(int rank, int peer, bool sends,
                                           std::uint64_t sequence) const;
  /// How many of each direction of a pair can be compared: as many as 2 MiB hold, at most 512.
  static constexpr std::size_t announced_messages(int ranks) {
    const auto pairs = static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks);
    return std::min<std::size_t>(512, std::bit_floor(32768 / pairs));
  }

 private:
  bool is_reading(int rank) const;
  using Words = std::array<std::uint64_t, 3>;
  struct Announcement {
    std::uint64_t sequence;  ///< 0 while the others change
    Words words;
  };
  static constexpr std::size_t line = 64;
  static constexpr int words_of_rank = 11;
  /// Of each ordered pair of ranks.
  static constexpr int lines_of_counters =
      counters / static_cast<int>(line / sizeof(std::uint32_t));

  FlagSegment(SharedMemory memory, Mapping mapping, int ranks)
      : memory_(std::move(memory)), mapping_(std::move(mapping)), ranks_(ranks) {}
  static std::size_t lines(int ranks);
  static std::size_t bytes(int ranks);
  /// As a communicator finds it; the memory is zero.
  void begin();
  bool is_left_in_order() const;
  std::byte* base() const { return mapping_ ? mapping_.data() : memory_.mapping.data(); }
  std::uint32_t& word(int index) const;
  Announcement* announcements() const;
  Announcement& announcement(int rank, std::uint64_t sequence) const;
  Announcement& message(int rank, int peer, bool sends, std::uint64_t sequence) const;
  static void write(Announcement& entry, std::uint64_t sequence, const Words& words);
  static std::optional<Words> read(Announcement& entry, std::uint64_t sequence);

  SharedMemory memory_{};  ///< where it was made
  Mapping mapping_{};      ///< where it was opened
  int ranks_ = 0;
  std::string address_{};
  std::optional<cuda::PageLock> lock_{};  ///< once it is registered
};

}  // namespace rondo::direct_device
