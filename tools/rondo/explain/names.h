// How explanations write chunks and contributions: "d0", "bc03", "a*".
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/rondo/explain/explain.h"

namespace rondo::tool {

/// Letters for up to 26 chunks, numbers beyond ("27:03" is chunk 27 with contributions of ranks 0
/// and 3); a token's chunk is "t". Refers to the schedule's header.
class ChunkNames {
 public:
  explicit ChunkNames(const Schedule& header) : header_(header) {}

  bool letters() const;
  /// "c", "27"; as the beginning of a longer word "27:".
  std::string chunk(int chunk) const;
  std::string prefix(int chunk) const;
  /// "all" of them is "*"; ranks beyond 9 are set apart: "0-3+12".
  std::string contributors(const Piece& piece) const;
  /// Runs of chunks with the same contributors: "d0", "bc03", "g-b*" (wrapping). "?" for nothing.
  std::string pieces(const std::vector<Piece>& pieces) const;
  bool complete(const Piece& piece) const;
  std::string phase(int phase) const;

 private:
  std::string run(const std::vector<Piece>& pieces, std::size_t begin, std::size_t end) const;
  const Schedule& header_;
};

/// A chunk's elements, the first ones and the last where they are many.
std::string elements_text(const std::vector<double>& elements);

}  // namespace rondo::tool
