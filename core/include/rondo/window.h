// One-sided calls: a rank writes and reads memory of its peers, which make no call for it.
//
//   std::vector<float> halo(1000);
//   rondo::Window window(world, halo.data(), halo.size() * sizeof(float));  // collective
//   window.put(edge, next);        // into the vector of rank `next`
//   window.signal(next);           // after all puts of this rank to it
//   window.wait_signal(previous);  // now the puts of rank `previous` are in this rank's vector
//   window.close();                // collective
//
// Rules:
// - Each rank gives one block of its own memory, of any size. Ordinary host memory will do. Where
//   all ranks share a host and the block lies in memory from rondo::allocate() (or the ranks are
//   threads), peers access it directly. Else their calls are messages, which a thread of the window
//   answers. Where the owner computes on all its cores, that takes turns with it.
// - The puts, gets and signals of one rank to one peer take effect in their order. But a get_async()
//   that is not complete yet may find bytes of later puts. There is no order between different ranks.
// - Two ranks that write the same bytes at once leave any mixture of both. So does a rank that reads
//   them meanwhile. A signal, a fence or another call orders them.
// - Lengths and offsets are in bytes. Where a call takes a vector or span, its offset is in elements.
// - One thread at a time uses a window. Another one may use the communicator meanwhile. A group does
//   not defer these calls.
// - Waits end as all others do: with an Error that names the peer, at the latest after RONDO_TIMEOUT.
//   abort() of the communicator ends them, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>

#include "rondo/traffic.h"
#include "rondo/work.h"

namespace rondo {

class Communicator;

namespace detail {
class OneSided;
}

/// A number that a peer signals.
struct Signal {
  int peer = 0;
  int signal = 0;
};

/// A handle that can be moved. Errors are those of rondo.h's calls; a place outside a peer's block is
/// Error{invalid_argument}.
class Window {
 public:
  /// Signals of one rank to another have a number from 0 to signals - 1.
  static constexpr int signals = 256;

  Window() = default;
  /// Collective. `memory` stays the caller's. It may be null where `bytes` is 0.
  Window(Communicator& world, void* memory, std::size_t bytes);
  /// As close(), without throwing. If an exception destroys it, the peers' calls end with an error.
  ~Window();
  Window(Window&&) noexcept = default;
  Window& operator=(Window&&) = delete;
  explicit operator bool() const { return calls_ != nullptr; }

  /// What this rank has put, and sent in answer to its peers. A request counts as payload, too. Bytes
  /// that a rank gets directly count nowhere. See rondo/traffic.h.
  Traffic traffic() const;
  /// The size of a rank's block.
  std::size_t bytes(int rank) const;

  /// Copies into a peer's block. Returns when `source` may change again. The bytes may arrive later.
  void put(const void* source, std::size_t bytes, int peer, std::size_t offset);
  /// The same, and then signal(peer, signal). It saves a message.
  void put_signal(const void* source, std::size_t bytes, int peer, std::size_t offset,
                  int signal = 0);
  /// The same as put(), but `source` must not change until the Work is complete.
  Work put_async(const void* source, std::size_t bytes, int peer, std::size_t offset);
  /// Copies from a peer's block.
  void get(void* destination, std::size_t bytes, int peer, std::size_t offset);
  Work get_async(void* destination, std::size_t bytes, int peer, std::size_t offset);

  /// Tells the peer that all earlier puts of this rank to it have arrived.
  void signal(int peer, int signal = 0);
  /// Waits until so many signals have come that no wait has taken, and takes them.
  void wait_signal(int peer, int signal = 0, std::size_t count = 1);
  /// Waits until one of these has come, takes it, and returns which. There is at least one.
  std::size_t wait_any(std::span<const Signal> wanted);
  /// Takes them if they have come; else false.
  bool test_signal(int peer, int signal = 0, std::size_t count = 1);

  /// Returns when all earlier puts of this rank have arrived, and its gets are complete, at one peer or
  /// at all.
  void flush(int peer);
  void flush();
  /// Collective: flush() on every rank, and a barrier.
  void fence();
  /// Collective: fence(), and the end of the window. Then the memory may be freed.
  void close();

  /// Ends this window's calls on every rank, with Error{aborted}. Any thread.
  void abort(const std::string& reason = {}) noexcept;

  template <std::ranges::contiguous_range Values>
  void put(const Values& source, int peer, std::size_t first = 0) {
    const auto bytes = std::as_bytes(std::span(source));
    put(bytes.data(), bytes.size(), peer, first * element_bytes<Values>());
  }
  template <std::ranges::contiguous_range Values>
  void put_signal(const Values& source, int peer, std::size_t first = 0, int signal = 0) {
    const auto bytes = std::as_bytes(std::span(source));
    put_signal(bytes.data(), bytes.size(), peer, first * element_bytes<Values>(), signal);
  }
  template <std::ranges::contiguous_range Values>
  void get(Values&& destination, int peer, std::size_t first = 0) {
    const auto bytes = std::as_writable_bytes(std::span(destination));
    get(bytes.data(), bytes.size(), peer, first * element_bytes<Values>());
  }

 private:
  template <class Values>
  static constexpr std::size_t element_bytes() {
    using Element = std::ranges::range_value_t<Values>;
    static_assert(std::is_trivially_copyable_v<Element>,
                  "rondo: windows hold bytes, so elements must be trivially copyable");
    return sizeof(Element);
  }
  detail::OneSided& usable() const;

  std::shared_ptr<detail::OneSided> calls_{};
  std::uint32_t number_ = 0;
  int exceptions_ = 0;  ///< on their way when it was made
};

}  // namespace rondo
