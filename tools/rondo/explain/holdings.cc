#include "tools/rondo/explain/holdings.h"

#include <algorithm>

#include "core/schedule/collective.h"

namespace rondo::tool {
namespace {

using Holdings = std::vector<std::vector<Holding>>;

Piece own_input(const Explanation& explanation, int rank, int chunk) {
  Piece piece{chunk, 1, {rank}};
  const auto at = static_cast<std::size_t>(rank);
  if (explanation.inputs.empty()) return piece;
  const Schedule& header = explanation.header;
  const Partition partition = partition_of(explanation);
  const ChunkSpan span = held(header.collective, Buffer::input, header.layout, rank, header.root);
  const std::size_t begin = partition.offset(span.first);
  const auto element = [&](int c) {
    return explanation.inputs[at].begin() +
           static_cast<std::ptrdiff_t>(partition.offset(c) - begin);
  };
  piece.numbers.assign(element(chunk), element(chunk + 1));
  return piece;
}

Holdings beginning(const Explanation& explanation) {
  const Schedule& header = explanation.header;
  Holdings table(static_cast<std::size_t>(header.ranks),
                 std::vector<Holding>(static_cast<std::size_t>(header.layout.chunks())));
  if (!may_alias(header.collective)) return table;
  for (int rank = 0; rank < header.ranks; ++rank) {
    const ChunkSpan span = held(header.collective, Buffer::input, header.layout, rank, header.root);
    for (int chunk = span.first; chunk < span.first + span.count; ++chunk)
      table[static_cast<std::size_t>(rank)][static_cast<std::size_t>(chunk)].piece =
          own_input(explanation, rank, chunk);
  }
  return table;
}

void put(const Schedule& header, std::vector<Holding>& rank, const ExplainedResult& result,
         bool fresh) {
  const auto chunks = static_cast<std::size_t>(header.layout.chunks());
  for (std::size_t i = 0; i < result.pieces.size(); ++i) {
    const Piece& piece = result.pieces[i];
    Holding& at = rank[(result.into.first + i) % chunks];
    if (result.buffer == Buffer::scratch) {
      if (!may_alias(header.collective) || piece.chunk < 0) continue;
      // Scratch may hold a chunk in another chunk's place: what it is decides.
      Holding& of_chunk = rank[static_cast<std::size_t>(piece.chunk) % chunks];
      const std::uint32_t least = of_chunk.piece.count + (of_chunk.buffer == Buffer::input ? 1 : 0);
      const bool better =
          of_chunk.buffer != Buffer::output && (of_chunk.piece.chunk < 0 || piece.count >= least);
      if (better) of_chunk = {piece, Buffer::scratch, fresh};
    } else {
      at = {piece, result.buffer, fresh};
    }
  }
}

}  // namespace

Holdings holdings(const Explanation& explanation, std::size_t rounds) {
  Holdings table = beginning(explanation);
  const std::size_t end = std::min(rounds, explanation.rounds.size());
  for (std::size_t round = 0; round < end; ++round)
    for (const ExplainedResult& result : explanation.rounds[round].results)
      put(explanation.header, table[static_cast<std::size_t>(result.rank)], result,
          round + 1 == end);
  return table;
}

}  // namespace rondo::tool
