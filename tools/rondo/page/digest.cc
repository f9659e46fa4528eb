#include "tools/rondo/page/digest.h"

#include <algorithm>

#include "tools/rondo/format.h"

namespace rondo::tool {
namespace {

std::string text(const Piece& piece) {
  if (piece.chunk < 0) return "-";
  std::uint64_t mask = 0;
  for (const int rank : piece.contributors) mask |= std::uint64_t{1} << rank;
  return format("%d:%llx", piece.chunk, static_cast<unsigned long long>(mask));
}

std::string text(const std::vector<Piece>& pieces) {
  std::string words;
  for (const Piece& piece : pieces) words += ' ' + text(piece);
  return words;
}

}  // namespace

std::uint32_t fingerprint(std::string_view text) {
  std::uint32_t hash = 2166136261u;
  for (const char each : text) hash = (hash ^ static_cast<unsigned char>(each)) * 16777619u;
  return hash;
}

std::string messages_text(const ExplainedRound& round) {
  std::vector<std::string> lines;
  for (const ExplainedMessage& message : round.messages)
    lines.push_back(std::to_string(message.from) + '>' + std::to_string(message.to) + '/' +
                    std::to_string(message.lane) + text(message.pieces));
  std::sort(lines.begin(), lines.end());
  std::string words;
  for (const std::string& line : lines) words += line + '\n';
  return words;
}

std::string outputs_text(const Explanation& explanation) {
  std::string words;
  for (const std::vector<Piece>& pieces : explanation.outputs) words += text(pieces) + '\n';
  return words;
}

}  // namespace rondo::tool
