#include "tests/device/weak_memory.h"

#include <algorithm>
#include <cstring>

namespace rondo::device::test {
namespace {

constexpr std::size_t word_bytes = sizeof(std::uint64_t);
/// Stores that a word remembers: more where threads need not know the oldest.
constexpr std::size_t known_history = 4;
constexpr std::size_t history = 64;

}  // namespace

WeakMemory::WeakMemory(std::size_t threads, std::uint64_t seed)
    : clocks_(threads, Clock(threads, 0)), random_(seed) {
  for (std::size_t thread = 0; thread < threads; ++thread) clocks_[thread][thread] = 1;
}

template <class Visit>
void WeakMemory::each_part(Address at, std::size_t size, const Visit& visit) {
  for (std::size_t done = 0; done < size;) {
    const std::size_t begin = (at + done) % word_bytes;
    const std::size_t part = std::min(size - done, word_bytes - begin);
    std::uint64_t mask = 0;
    std::memset(reinterpret_cast<std::byte*>(&mask) + begin, 0xff, part);
    visit(Part{at + done - begin, begin, part, mask}, done);
    done += part;
  }
}

/// The part's bytes, where they lie in the word. A thread that missed a barrier may come with the
/// wrong address, of nothing or past a buffer's end.
[[gnu::no_sanitize_address]] std::uint64_t WeakMemory::real(const Part& part) {
  constexpr Address nothing = 1 << 16;
  std::uint64_t value = 0;
  for (std::size_t i = part.begin; part.word >= nothing && i < part.begin + part.size; ++i)
    reinterpret_cast<std::byte*>(&value)[i] = reinterpret_cast<const std::byte*>(part.word)[i];
  return value;
}
void WeakMemory::put(Address address, const Store& store) {
  const auto* mask = reinterpret_cast<const std::byte*>(&store.mask);
  const auto* value = reinterpret_cast<const std::byte*>(&store.value);
  for (std::size_t i = 0; i < word_bytes; ++i) {
    if (mask[i] != std::byte{0}) reinterpret_cast<std::byte*>(address)[i] = value[i];
  }
}

void WeakMemory::read(Thread thread, const std::byte* at, std::span<std::byte> to,
                      Ordering ordering) {
  each_part(reinterpret_cast<Address>(at), to.size(), [&](const Part& part, std::size_t done) {
    const std::uint64_t value = read_part(thread, part, ordering);
    std::memcpy(to.data() + done, reinterpret_cast<const std::byte*>(&value) + part.begin,
                part.size);
  });
}

std::uint64_t WeakMemory::read_part(Thread thread, const Part& part, Ordering ordering) {
  ++now_;
  Word& word = words_[part.word];
  find_race(thread, word, part.mask, ordering, false);
  const bool ordinary = ordering == Ordering::ordinary;
  if (ordinary) look(thread, word, part.mask);
  std::uint64_t value = real(part);
  if (word.stores.empty()) return value;
  const auto seen = std::ranges::find(word.seen, thread, &Seen::thread);
  const std::uint64_t least = seen == word.seen.end() ? 0 : seen->number;
  // Of what the thread need not know: all, nothing, or each store by a coin.
  const std::uint64_t luck = random_();
  std::size_t last = word.stores.size();
  for (std::size_t i = 0; i < word.stores.size(); ++i) {
    const Store& store = word.stores[i];
    const bool arrived = !ordinary && (store.out <= now_ || word.first + i < least);
    const bool lucky = luck % 3 == 0 || (luck % 3 == 1 && (luck >> (8 + i % 48) & 1) != 0);
    if (!knows(thread, store.thread, store.time) && !arrived && !lucky) continue;
    value = (value & ~store.mask) | (store.value & store.mask & part.mask);
    last = i;
  }
  if (ordinary || last == word.stores.size()) return value;
  if (ordering == Ordering::ordered) acquire(thread, word.stores[last]);
  if (seen == word.seen.end()) {
    word.seen.push_back({thread, word.first + last + 1});
  } else {
    seen->number = std::max(least, word.first + last + 1);
  }
  return value;
}

void WeakMemory::acquire(Thread thread, const Store& store) {
  if (store.released == nullptr) return;
  Clock& clock = clocks_[thread];
  for (std::size_t other = 0; other < clock.size(); ++other)
    clock[other] = std::max(clock[other], (*store.released)[other]);
}

void WeakMemory::look(Thread thread, Word& word, std::uint64_t mask) const {
  const std::uint32_t time = clocks_[thread][thread];
  for (Look& earlier : word.looks) {
    if (earlier.thread == thread && earlier.mask == mask) {
      earlier.time = time;
      return;
    }
  }
  word.looks.push_back({mask, thread, time});
}

void WeakMemory::write(Thread thread, std::byte* at, std::span<const std::byte> from,
                       Ordering ordering) {
  each_part(reinterpret_cast<Address>(at), from.size(), [&](const Part& part, std::size_t done) {
    std::uint64_t value = 0;
    std::memcpy(reinterpret_cast<std::byte*>(&value) + part.begin, from.data() + done, part.size);
    append(thread, part, value, ordering);
  });
}

void WeakMemory::append(Thread thread, const Part& part, std::uint64_t value, Ordering ordering) {
  ++now_;
  Word& word = words_[part.word];
  find_race(thread, word, part.mask, ordering, true);
  std::erase_if(word.looks, [&](const Look& look) {
    return (look.mask & ~part.mask) == 0 && knows(thread, look.thread, look.time);
  });
  const std::uint64_t luck = random_();
  const std::uint64_t late =
      luck % 2 == 0 ? 0 : (luck >> 8) % (std::uint64_t{1} << (luck >> 1) % 12);
  Clock& clock = clocks_[thread];
  word.stores.push_back({value, part.mask, now_ + late, thread, clock[thread], ordering});
  if (ordering == Ordering::ordered) {
    word.stores.back().released = std::make_shared<const Clock>(clock);
    ++clock[thread];
  }
  shorten(part.word, word);
}

/// Forgets the oldest stores: the real memory has them, and everybody sees them.
void WeakMemory::shorten(Address address, Word& word) const {
  std::size_t gone = 0;
  while (word.stores.size() - gone > known_history &&
         (word.stores.size() - gone > history || known_to_all(word.stores[gone]))) {
    put(address, word.stores[gone]);
    ++gone;
  }
  word.first += gone;
  word.stores.erase(word.stores.begin(), word.stores.begin() + static_cast<std::ptrdiff_t>(gone));
}
bool WeakMemory::known_to_all(const Store& store) const {
  return std::ranges::all_of(clocks_,
                             [&](const Clock& clock) { return clock[store.thread] >= store.time; });
}

WeakMemory::Part WeakMemory::whole(const std::uint64_t* word) {
  return {reinterpret_cast<Address>(word), 0, word_bytes, ~std::uint64_t{0}};
}
std::uint64_t WeakMemory::newest(const Part& part) const {
  std::uint64_t newest = real(part);
  if (const auto found = words_.find(part.word); found != words_.end()) {
    for (const Store& store : found->second.stores)
      newest = (newest & ~store.mask) | (store.value & store.mask);
  }
  return newest;
}

bool WeakMemory::exchange_if(Thread thread, std::uint64_t* word, std::uint64_t expected,
                             std::uint64_t value) {
  const bool equal = newest(whole(word)) == expected;
  if (equal) append(thread, whole(word), value, Ordering::relaxed);
  return equal;
}

std::uint64_t WeakMemory::count_up(Thread thread, std::uint64_t* word, Ordering acquires,
                                   Ordering releases) {
  const Part part = whole(word);
  const std::uint64_t before = newest(part);
  const Word& stored = words_[part.word];
  if (acquires == Ordering::ordered && !stored.stores.empty())
    acquire(thread, stored.stores.back());
  append(thread, part, before + 1, releases);
  return before;
}

void WeakMemory::meet(std::span<const Thread> threads) {
  Clock together = clocks_[threads.front()];
  for (const Thread thread : threads) {
    for (std::size_t other = 0; other < together.size(); ++other)
      together[other] = std::max(together[other], clocks_[thread][other]);
  }
  for (const Thread thread : threads) {
    clocks_[thread] = together;
    ++clocks_[thread][thread];
  }
}

void WeakMemory::settle() {
  for (auto& [address, word] : words_) {
    for (const Store& store : word.stores) put(address, store);
  }
  words_.clear();
}

void WeakMemory::find_race(Thread thread, const Word& word, std::uint64_t mask, Ordering ordering,
                           bool stores) {
  if (!race_.empty()) return;
  const auto report = [&](const char* earlier, Thread other) {
    race_ = "race: thread " + std::to_string(thread) + (stores ? " stores" : " loads") + " what " +
            std::to_string(other) + " has " + earlier + ", at access " + std::to_string(now_);
  };
  for (const Store& store : word.stores) {
    const bool both = ordering != Ordering::ordinary && store.ordering != Ordering::ordinary;
    if (!both && (store.mask & mask) != 0 && !knows(thread, store.thread, store.time))
      report("stored", store.thread);
  }
  if (!stores) return;
  for (const Look& look : word.looks) {
    if (look.thread != thread && (look.mask & mask) != 0 && !knows(thread, look.thread, look.time))
      report("loaded", look.thread);
  }
}

}  // namespace rondo::device::test
