#include "tools/torch/source/meet.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <utility>

namespace rondo_torch {
namespace {

const char* const id_key = "rondo/id";

std::string present_key(int rank) { return "rondo/present/" + std::to_string(rank); }

std::string decimals(std::chrono::milliseconds time) {
  return std::to_string(static_cast<double>(time.count()) / 1000).substr(0, 7) + " s";
}

/// rondo's own meeting has a limit of its own; a rank may be late by as much as torch's timeout.
void await_all(c10d::Store& store, int rank, int size, std::chrono::milliseconds timeout) {
  store.set(present_key(rank), std::vector<std::uint8_t>{1});
  std::vector<std::string> keys;
  for (int other = 0; other < size; ++other) keys.push_back(present_key(other));
  const std::vector<std::string> missing = await_keys(store, keys, timeout);
  if (missing.empty()) return;
  std::string names;
  for (const std::string& key : missing)
    names += (names.empty() ? " " : ", ") + key.substr(key.rfind('/') + 1);
  throw std::runtime_error("rondo: rank " + std::to_string(rank) + ": of " + std::to_string(size) +
                           " ranks these did not come within " + decimals(timeout) + ":" + names +
                           ". Try: look at their output; a larger timeout of the process group");
}

rondo::UniqueId exchange_id(c10d::Store& store, int rank, std::chrono::milliseconds timeout) {
  rondo::UniqueId id;
  if (rank == 0) {
    id = rondo::make_unique_id();
    store.set(id_key, std::vector<std::uint8_t>(id.bytes.begin(), id.bytes.end()));
    return id;
  }
  if (!await_keys(store, {id_key}, timeout).empty())
    throw std::runtime_error("rondo: rank " + std::to_string(rank) +
                             ": rank 0 made no unique id within " + decimals(timeout) +
                             ". Try: look at its output");
  const std::vector<std::uint8_t> bytes = store.get(id_key);
  if (bytes.size() != sizeof id) throw std::runtime_error("rondo: the store holds a wrong id");
  std::memcpy(id.bytes.data(), bytes.data(), sizeof id);
  return id;
}

}  // namespace

std::vector<std::string> await_keys(c10d::Store& store, const std::vector<std::string>& keys,
                                    std::chrono::milliseconds timeout) {
  constexpr std::chrono::milliseconds longest{50};
  std::chrono::milliseconds pause{1};
  const auto end = std::chrono::steady_clock::now() + timeout;
  std::vector<std::string> missing = keys;
  for (;;) {
    std::erase_if(missing, [&](const std::string& key) { return store.check({key}); });
    if (missing.empty() || std::chrono::steady_clock::now() >= end) return missing;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, longest);
  }
}

rondo::Communicator meet(c10d::Store& store, int rank, int size,
                         std::chrono::milliseconds timeout) {
  const rondo::Options options{.timeout = timeout};
  if (size == 1) return std::move(rondo::Communicator::from_threads(1, options).front());
  await_all(store, rank, size, timeout);
  return rondo::Communicator::from_unique_id(exchange_id(store, rank, timeout), rank, size,
                                             options);
}

}  // namespace rondo_torch
