// The Domain of contributions: every rank's buffers hold Contributions instead of bytes.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/schedule/contribution.h"
#include "core/schedule/machine.h"

namespace rondo {

/// Complains through `complain(site, sentence)` of everything a step does wrong: reading what
/// nothing wrote, reading input after output of the same chunk was written, mixing chunks, counting
/// a rank twice, using buffers the rank does not have, sharing memory between lanes.
class ContributionDomain {
 public:
  using Value = std::vector<Contribution>;  ///< one per chunk of the extent
  using Complain = std::function<void(const Site&, const std::string&)>;

  /// `lanes_apart`: lanes must not share memory, since nothing orders them (true for schedules;
  /// programs have dependencies for that).
  /// `places`: where those of merged programs lie.
  ContributionDomain(const Schedule& header, Complain complain, bool lanes_apart,
                     Places places = Places::buffers);

  Value read(const Site& site, const Chunk& run);
  /// A copy of a peer's input never changes, nor what its output holds as the input did.
  Value read_place(const Site& site, int peer, const Chunk& run);
  Value arrive(const Site& site, int peer, Value value);
  static Value depart(const Site&, int, Value value) { return value; }
  Value combine(const Site& site, std::span<Value> operands);
  void write(const Site& site, const Chunk& run, const Value& value);

  /// What output chunk `chunk` of `rank` holds now.
  const Contribution& output(int rank, int chunk) const;
  /// What a chunk of any buffer of `rank` holds now.
  Contribution peek(int rank, const Chunk& chunk);
  ContributionAlgebra& algebra() { return algebra_; }
  const ContributionAlgebra& algebra() const { return algebra_; }
  /// Complains of input that one lane read and whose output another lane wrote.
  void check_lanes();

 private:
  struct Cell {
    Contribution value{};
    std::int32_t lane = -1;  ///< the last writer; -1: never written
  };
  struct Memory {
    ChunkSpan outputs{};
    std::vector<Cell> output{};                         ///< the held chunks only
    std::unordered_map<std::uint64_t, Cell> scratch{};  ///< slot * chunks + chunk
    std::vector<std::int32_t>
        reader{};  ///< lane that read input chunk c; -1 none; lanes apart only
  };

  Memory& memory(int rank) { return memories_[static_cast<std::size_t>(rank)]; }
  Cell* find(int rank, const Chunk& run, int chunk);
  bool stays(int peer, int chunk);
  Contribution read_input(const Site& site, int chunk);
  Contribution read_written(const Site& site, const Chunk& run, int chunk);
  int chunk_at(const Chunk& run, std::uint32_t i) const;

  const Schedule& header_;
  Complain complain_;
  bool lanes_apart_;
  Places places_;
  ContributionAlgebra algebra_;
  std::vector<Memory> memories_;
};

}  // namespace rondo
