// Uses: which drafts of a lane touch a chunk or a channel, so that lowering needs no look at all the
// others. Private to core/plan.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/plan/draft.h"

namespace rondo {

/// Calls `use(key)` for each chunk of a run; equal keys are the same memory. input and output count as
/// the same memory: calls may be in place. `chunks`: the layout's size, where runs wrap.
template <class Use>
void each_chunk(const Chunk& run, int chunks, Use use) {
  const auto all = static_cast<std::uint64_t>(chunks);
  const std::uint64_t slot = run.buffer == Buffer::scratch ? run.slot + std::uint64_t{1} : 0;
  for (std::uint64_t i = 0; i < run.count; ++i) use(slot * all + (run.first + i) % all);
}

/// Of drafts that change while it lives. Those that died do not count.
class Uses {
 public:
  using Index = std::uint32_t;

  /// `drafts` outlives it.
  Uses(const std::vector<Draft>& drafts, int chunks);
  /// A draft has come to use this, or does not use it any more.
  void add(Index by, const Operand& operand);
  void remove(Index by, const Operand& operand);
  void add_send(Index by, int peer);

  /// The last draft before `before` that writes to a chunk of the run.
  std::optional<Index> writer_before(Index before, const Chunk& run) const;
  /// Whether a draft after `after`, other than `ignored`, reads of the run before one writes just this
  /// run.
  bool read_after(Index after, Index ignored, const Chunk& run) const;
  /// Whether a draft between the two, both left out, sends to the peer or receives from it.
  bool sends_between(Index after, Index before, int peer) const;
  bool receives_between(Index after, Index before, int peer) const;

 private:
  using Users = std::vector<Index>;  ///< in order; a draft comes as often as it has such operands
  struct Memory {
    Users readers{};
    Users writers{};
  };

  bool is_alive(Index index) const { return drafts_[index].alive; }
  bool writes(Index index) const { return is_alive(index) && drafts_[index].op.writes; }
  bool any_between(const std::unordered_map<int, Users>& all, Index after, Index before,
                   int peer) const;

  const std::vector<Draft>& drafts_;
  int chunks_;
  std::unordered_map<std::uint64_t, Memory> memory_{};
  std::unordered_map<int, Users> senders_{};    ///< by peer
  std::unordered_map<int, Users> receivers_{};  ///< by peer
};

}  // namespace rondo
