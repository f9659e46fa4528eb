// A weak memory, for tests: what the memory model of a device lets threads see, by a seed.
//
// Memory is words of 8 bytes. A word has the history of its stores, in one order. Clocks of the
// threads say which stores each one must know: its own, those from before a barrier of its team, and
// those that an acquire has brought. A load gives what the thread must know, and of the rest any
// part:
//   ordinary   a store that the thread need not know may stay unseen for ever, as in a cache that
//              only an acquire drops
//   ordered    such a store may stay unseen until it has left its thread's store buffer, after a
//              random while. Nobody sees an older value of a word than he saw before.
// A release carries all that its thread must know. So it is cumulative. An access of 16 bytes is two
// of 8, each with a fate of its own.
//
// Beyond that it reports races: two accesses that meet, one of them a store, one of them ordinary,
// with nothing between. A thread could see either, and a load could even see a store after it.
//
// Loads are not late: none sees a store that is made after it. Stores to one word have the order in
// which they are made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/device/simulated.h"

namespace rondo::device::test {

/// Not thread-safe: all threads that it knows are simulated on one.
class WeakMemory {
 public:
  using Thread = std::uint32_t;

  WeakMemory(std::size_t threads, std::uint64_t seed);

  /// `ordered` is an acquire in read() and a release in write(). Both take any bytes. Those of
  /// relaxed and ordered accesses are whole words.
  void read(Thread thread, const std::byte* at, std::span<std::byte> to, Ordering ordering);
  void write(Thread thread, std::byte* at, std::span<const std::byte> from, Ordering ordering);
  /// Finds the newest value, as what changes memory at once must; orders nothing.
  bool exchange_if(Thread thread, std::uint64_t* word, std::uint64_t expected, std::uint64_t value);
  /// Adds 1 to the newest value, which it returns. Either side may order nothing.
  std::uint64_t count_up(Thread thread, std::uint64_t* word, Ordering acquires, Ordering releases);
  /// A barrier: afterwards each one knows what any of them knew.
  void meet(std::span<const Thread> threads);

  /// Puts the newest value of every word into the real memory, where all is until it is stored to.
  void settle();
  /// The first race; empty: none.
  const std::string& race() const { return race_; }

 private:
  using Clock = std::vector<std::uint32_t>;
  using Address = std::uintptr_t;

  struct Store {
    std::uint64_t value = 0;
    std::uint64_t mask = 0;  ///< of the bits that it writes
    std::uint64_t out = 0;   ///< when it has left the store buffer
    Thread thread = 0;
    std::uint32_t time = 0;
    Ordering ordering = Ordering::ordinary;
    std::shared_ptr<const Clock> released{};
  };
  /// A thread's last ordinary load of these bits.
  struct Look {
    std::uint64_t mask = 0;
    Thread thread = 0;
    std::uint32_t time = 0;
  };
  /// The stores of a word before this number are not newer than one that the thread has seen.
  struct Seen {
    Thread thread = 0;
    std::uint64_t number = 0;
  };
  struct Word {
    std::uint64_t first = 0;  ///< the number of stores.front()
    std::vector<Store> stores{};
    std::vector<Look> looks{};
    std::vector<Seen> seen{};
  };
  /// A part of an access that lies in one word.
  struct Part {
    Address word = 0;
    std::size_t begin = 0;  ///< bytes, in the word
    std::size_t size = 0;
    std::uint64_t mask = 0;
  };

  /// Calls visit(part, bytes before it).
  template <class Visit>
  static void each_part(Address at, std::size_t size, const Visit& visit);
  static Part whole(const std::uint64_t* word);
  static std::uint64_t real(const Part& part);
  std::uint64_t newest(const Part& part) const;
  static void put(Address address, const Store& store);

  bool knows(Thread thread, Thread other, std::uint32_t time) const {
    return clocks_[thread][other] >= time;
  }
  bool known_to_all(const Store& store) const;
  std::uint64_t read_part(Thread thread, const Part& part, Ordering ordering);
  void append(Thread thread, const Part& part, std::uint64_t value, Ordering ordering);
  void look(Thread thread, Word& word, std::uint64_t mask) const;
  void shorten(Address address, Word& word) const;
  void acquire(Thread thread, const Store& store);
  void find_race(Thread thread, const Word& word, std::uint64_t mask, Ordering ordering,
                 bool stores);

  std::vector<Clock> clocks_;
  std::unordered_map<Address, Word> words_{};
  std::mt19937_64 random_;
  std::uint64_t now_ = 0;
  std::string race_{};
};

}  // namespace rondo::device::test
