#include "tools/rondo/explain/names.h"

#include "core/schedule/collective.h"
#include "tools/rondo/format.h"

namespace rondo::tool {
namespace {

constexpr int most_letters = 26;
constexpr int most_digits = 10;  ///< ranks that one digit names
constexpr std::size_t most_elements = 4;

}  // namespace

bool ChunkNames::letters() const { return header_.layout.chunks() <= most_letters; }

std::string ChunkNames::chunk(int chunk) const {
  if (is_token(header_.collective)) return "t";
  return letters() ? std::string(1, static_cast<char>('a' + chunk)) : std::to_string(chunk);
}

std::string ChunkNames::prefix(int chunk) const {
  const bool number = !letters() && !is_token(header_.collective);
  return this->chunk(chunk) + (number ? ":" : "");
}

bool ChunkNames::complete(const Piece& piece) const {
  return header_.ranks > 1 && piece.contributors.size() == static_cast<std::size_t>(header_.ranks);
}

std::string ChunkNames::contributors(const Piece& piece) const {
  if (complete(piece)) return "*";
  if (header_.ranks > most_digits) return ranks_text(piece.contributors, "+");
  std::string digits;
  for (const int rank : piece.contributors) digits += std::to_string(rank);
  return digits;
}

std::string ChunkNames::pieces(const std::vector<Piece>& pieces) const {
  std::string words;
  for (std::size_t i = 0; i < pieces.size();) {
    std::size_t end = i + 1;
    while (end < pieces.size() && pieces[end].contributors == pieces[i].contributors &&
           pieces[end].chunk == (pieces[end - 1].chunk + 1) % header_.layout.chunks())
      ++end;
    if (!words.empty()) words += ",";
    words += run(pieces, i, end);
    i = end;
  }
  return words;
}

std::string ChunkNames::run(const std::vector<Piece>& pieces, std::size_t begin,
                            std::size_t end) const {
  if (pieces[begin].chunk < 0) return "?";
  std::string names = prefix(pieces[begin].chunk);
  if (end - begin > 3)
    names += "-" + prefix(pieces[end - 1].chunk);
  else
    for (std::size_t i = begin + 1; i < end; ++i) names += prefix(pieces[i].chunk);
  return names + contributors(pieces[begin]);
}

std::string ChunkNames::phase(int phase) const {
  const auto index = static_cast<std::size_t>(phase);
  return index < header_.phases.size() ? header_.phases[index]
                                       : "phase " + std::to_string(phase + 1);
}

std::string elements_text(const std::vector<double>& elements) {
  std::string words;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (elements.size() > most_elements && i == most_elements - 2) {
      words += " ..";
      i = elements.size() - 1;
    }
    words += (i == 0 ? "" : " ") + format("%.8g", elements[i]);
  }
  return words;
}

}  // namespace rondo::tool
