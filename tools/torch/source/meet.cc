#include "tools/torch/source/meet.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <stdexcept>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <utility>

namespace rondo_torch {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Milliseconds = std::chrono::milliseconds;

/// A random number that no other process, and no earlier process in this place, has drawn.
using Word = std::array<std::uint8_t, 8>;

/// Rank 0's list of the ranks that have come. A store outlives processes that torchrun restarts,
/// and keeps what they wrote. So a rank trusts a list only if it holds the word that this rank has
/// just drawn. Rank 0 trusts that a rank has come when it repeats the word of this list.
struct List {
  Word word{};
  std::vector<Word> ranks{};            ///< the words that rank 0 has seen
  std::vector<std::uint8_t> present{};  ///< 1 for ranks that have repeated the list's word
  rondo::UniqueId id{};                 ///< valid once all are present
};

const char* const list_key = "rondo/list";

std::string rank_key(int rank) { return "rondo/rank/" + std::to_string(rank); }

std::string decimals(Milliseconds time) {
  return std::to_string(static_cast<double>(time.count()) / 1000).substr(0, 7) + " s";
}

Word draw() {
  std::random_device source;
  Word word;
  for (std::uint8_t& byte : word) byte = static_cast<std::uint8_t>(source());
  return word;
}

template <class T>
void append(Bytes& bytes, const T& value) {
  const auto* first = reinterpret_cast<const std::uint8_t*>(&value);
  bytes.insert(bytes.end(), first, first + sizeof value);
}

Bytes packed(const List& list) {
  Bytes bytes;
  append(bytes, list.word);
  append(bytes, list.id);
  for (const Word& word : list.ranks) append(bytes, word);
  bytes.insert(bytes.end(), list.present.begin(), list.present.end());
  return bytes;
}

/// Reads a list for `size` ranks; an empty one if the bytes are not a list.
List unpacked(const Bytes& bytes, std::size_t size) {
  List list{.ranks = std::vector<Word>(size), .present = std::vector<std::uint8_t>(size)};
  if (bytes.size() != sizeof list.word + sizeof list.id + size * (sizeof(Word) + 1)) return list;
  const std::uint8_t* from = bytes.data();
  const auto take = [&](void* to, std::size_t count) {
    std::memcpy(to, from, count);
    from += count;
  };
  take(list.word.data(), sizeof list.word);
  take(list.id.bytes.data(), sizeof list.id);
  take(list.ranks.data(), size * sizeof(Word));
  take(list.present.data(), size);
  return list;
}

bool complete(const List& list) {
  return std::all_of(list.present.begin(), list.present.end(), [](auto one) { return one != 0; });
}

Bytes value_of(c10d::Store& store, const std::string& key) {
  return store.check({key}) ? store.get(key) : Bytes{};
}

/// Calls `done`, less and less often, until it is true or the time is up. The store's own wait
/// would block other threads, and prints a warning when its time is up.
template <class Done>
bool poll(Milliseconds timeout, const Done& done) {
  constexpr std::chrono::microseconds longest{50'000};
  std::chrono::microseconds pause{200};
  const auto end = std::chrono::steady_clock::now() + timeout;
  while (!done()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, longest);
  }
  return true;
}

[[noreturn]] void report_absent(const List& list, int rank, Milliseconds timeout) {
  std::string names;
  for (std::size_t other = 0; other < list.present.size(); ++other) {
    if (list.present[other] == 0 && other != static_cast<std::size_t>(rank))
      names += (names.empty() ? " " : ", ") + std::to_string(other);
  }
  if (names.empty()) names = " 0";  // which has not heard this rank's answer
  throw std::runtime_error("rondo: rank " + std::to_string(rank) + ": of " +
                           std::to_string(list.present.size()) +
                           " ranks these did not come within " + decimals(timeout) + ":" + names +
                           ". Try: look at their output; a larger timeout of the process group");
}

/// Reads the other ranks' words and answers. True if that changed the list.
bool look_around(c10d::Store& store, List& list) {
  bool news = false;
  for (std::size_t rank = 1; rank < list.present.size(); ++rank) {
    if (list.present[rank] != 0) continue;
    const Bytes value = value_of(store, rank_key(static_cast<int>(rank)));
    if (value.size() < sizeof(Word)) continue;
    const bool answered =
        value.size() == 2 * sizeof(Word) &&
        std::equal(list.word.begin(), list.word.end(), value.begin() + sizeof(Word));
    Word word;
    std::copy_n(value.begin(), word.size(), word.begin());
    news = news || answered || word != list.ranks[rank];
    list.ranks[rank] = word;
    list.present[rank] = answered ? 1 : 0;
  }
  return news;
}

List call_the_roll(c10d::Store& store, int size, Milliseconds timeout) {
  const auto ranks = static_cast<std::size_t>(size);
  List list{.word = draw(),
            .ranks = std::vector<Word>(ranks),
            .present = std::vector<std::uint8_t>(ranks)};
  list.present.front() = 1;
  const bool all = poll(timeout, [&] {
    const bool news = look_around(store, list);
    if (complete(list)) list.id = rondo::make_unique_id();
    if (news) store.set(list_key, packed(list));
    return complete(list);
  });
  if (!all) report_absent(list, 0, timeout);
  return list;
}

List answer_the_call(c10d::Store& store, int rank, int size, Milliseconds timeout) {
  const Word own = draw();
  Bytes value(own.begin(), own.end());
  store.set(rank_key(rank), value);
  List list{.present = std::vector<std::uint8_t>(static_cast<std::size_t>(size), 1)};
  list.present.front() = 0;  // nobody else is missed until rank 0 has spoken
  const bool all = poll(timeout, [&] {
    List read = unpacked(value_of(store, list_key), static_cast<std::size_t>(size));
    if (read.ranks[static_cast<std::size_t>(rank)] != own) return false;  // an earlier life's
    if (read.word != list.word) {
      value.resize(sizeof(Word));
      append(value, read.word);
      store.set(rank_key(rank), value);
    }
    list = std::move(read);
    return complete(list);
  });
  if (!all) report_absent(list, rank, timeout);
  return list;
}

/// A prefix for keys that only this group uses.
std::string place_of(const List& list) {
  constexpr char digits[] = "0123456789abcdef";
  std::string place = "rondo/";
  for (const std::uint8_t byte : list.word) place += {digits[byte >> 4], digits[byte & 15]};
  return place;
}

}  // namespace

std::vector<std::string> await_keys(c10d::Store& store, const std::vector<std::string>& keys,
                                    Milliseconds timeout) {
  std::vector<std::string> missing = keys;
  poll(timeout, [&] {
    std::erase_if(missing, [&](const std::string& key) { return store.check({key}); });
    return missing.empty();
  });
  return missing;
}

/// rondo's bootstrap has a time limit of its own, but a rank may be late by as much as torch's
/// timeout. So all ranks meet in the store first.
Meeting meet(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
             Milliseconds timeout) {
  const rondo::Options options{.timeout = timeout};
  if (size == 1) return {std::move(rondo::Communicator::from_threads(1, options).front()), store};
  const List list = rank == 0 ? call_the_roll(*store, size, timeout)
                              : answer_the_call(*store, rank, size, timeout);
  return {rondo::Communicator::from_unique_id(list.id, rank, size, options),
          c10::make_intrusive<c10d::PrefixStore>(place_of(list), store)};
}

}  // namespace rondo_torch
