#include "transports/shm/peer_windows.h"

#include <algorithm>
#include <string>

#include "rondo/error.h"

namespace rondo::shm {
namespace {

constexpr const char* how_windows_last =
    "keep memory of rondo::allocate() until all calls on it are complete, on every rank";

Error refusal(std::uint64_t number, Verdict verdict, int rank, int peer) {
  if (verdict == Verdict::no_memory) {
    return Error(ErrorCode::out_of_memory, "no room to map the peer's memory",
                 {.rank = rank, .peer = peer, .remedy = "raise vm.max_map_count, or free memory"});
  }
  if (verdict == Verdict::no_descriptors) {
    return Error(
        ErrorCode::system, "out of file descriptors, mapping the peer's memory",
        {.rank = rank, .peer = peer, .remedy = "raise the limit of open files (ulimit -n)"});
  }
  return Error(ErrorCode::invalid_argument,
               "the peer has no window " + std::to_string(number) + " (any more)",
               {.rank = rank, .peer = peer, .remedy = how_windows_last});
}

}  // namespace

std::byte* PeerWindows::find(const Exposed& place, std::size_t bytes) const {
  for (const Mapped& window : mapped_) {
    if (window.number != place.window) continue;
    // An address before the base wraps to an offset beyond any size.
    const std::uint64_t offset = place.address - window.base;
    if (offset > window.memory.size() || bytes > window.memory.size() - offset) [[unlikely]] {
      throw Error(ErrorCode::invalid_argument,
                  std::to_string(bytes) + " bytes reach beyond the peer's window " +
                      std::to_string(place.window) + " of " + std::to_string(window.memory.size()) +
                      " bytes",
                  {.rank = rank_, .peer = peer_, .remedy = "pass the same count on every rank"});
    }
    return window.memory.data() + offset;
  }
  return nullptr;
}

bool PeerWindows::is_asked(std::uint64_t number) const {
  return std::ranges::find(asked_, number) != asked_.end();
}

void PeerWindows::settle(const Note& note, const UniqueFd& memory) {
  const bool asked = std::erase(asked_, note.window) > 0;
  // The question and the offer may have crossed.
  if (std::ranges::find(mapped_, note.window, &Mapped::number) != mapped_.end()) return;
  Verdict verdict = note.verdict;
  if (verdict == Verdict::accepted && !memory) verdict = Verdict::no_descriptors;
  if (verdict == Verdict::accepted) {
    Mapping mapping = map_shared_memory(memory.get(), note.bytes);
    if (mapping) {
      mapped_.push_back({note.window, note.base, std::move(mapping)});
      return;
    }
    verdict = Verdict::no_memory;
  }
  if (asked) refused_.push_back({note.window, verdict});
}

void PeerWindows::check_refused(std::uint64_t number) {
  const auto found = std::ranges::find(refused_, number, &Refused::number);
  if (found == refused_.end()) return;
  const Verdict verdict = found->verdict;
  refused_.erase(found);
  throw refusal(number, verdict, rank_, peer_);
}

void PeerWindows::drop(std::uint64_t number) {
  std::erase_if(mapped_, [&](const Mapped& window) { return window.number == number; });
}

}  // namespace rondo::shm
