#include "algorithms/embed.h"

#include <algorithm>

namespace rondo {
namespace {

Chunk in(const Part& part, const Chunk& chunk, ChunkSpan span) {
  Chunk made = chunk;
  if (chunk.buffer == Buffer::input) made = part.input;
  if (chunk.buffer == Buffer::output) made = part.output;
  if (chunk.buffer == Buffer::scratch)
    made.slot = static_cast<std::uint16_t>(chunk.slot + part.first_scratch);
  made.first = static_cast<std::uint32_t>(span.first);
  made.count = static_cast<std::uint32_t>(span.count);
  return made;
}

/// A run of the part's chunks, in as few runs as there can be.
Spans spans_of(const Part& part, const Chunk& run) {
  Spans all;
  for (std::uint32_t i = 0; i < run.count; ++i)
    for (const ChunkSpan& span : part.chunks[(run.first + i) % part.chunks.size()])
      if (span.count > 0) all.push_back(span);
  std::ranges::sort(all, {}, &ChunkSpan::first);
  Spans merged;
  for (const ChunkSpan& span : all) add(merged, span);
  const bool wraps = merged.size() > 1 && merged.front().first == 0 &&
                     merged.back().first + merged.back().count == part.total;
  if (wraps) {
    merged.back().count += merged.front().count;
    merged.erase(merged.begin());
  }
  return merged;
}

/// A step's parts, one for each run of the whole.
std::vector<Step> split(const Part& part, const Step& step) {
  Step now = step;
  now.phase = static_cast<std::uint16_t>(step.phase + part.phase);
  if (step.peer >= 0) now.peer = part.ranks[static_cast<std::size_t>(step.peer)];
  std::vector<Step> all;
  for (const ChunkSpan& span :
       spans_of(part, step.kind == StepKind::send ? step.from : step.into)) {
    now.from = in(part, step.from, span);
    now.into = in(part, step.into, span);
    if (step.kind != StepKind::copy || now.from != now.into) all.push_back(now);
  }
  return all;
}

/// Of each the first step, then of each the second, and so on.
Steps in_turn(std::vector<std::vector<Step>> all) {
  std::size_t longest = 0;
  for (const std::vector<Step>& each : all) longest = std::max(longest, each.size());
  for (std::size_t i = 0; i < longest; ++i)
    for (const std::vector<Step>& each : all)
      if (i < each.size()) co_yield each[i];
}

}  // namespace

void add(Spans& spans, ChunkSpan next) {
  if (next.count == 0) return;
  if (!spans.empty() && spans.back().first + spans.back().count == next.first) {
    spans.back().count += next.count;
  } else {
    spans.push_back(next);
  }
}

Steps embedded(Part part, Steps steps) {
  std::vector<std::vector<Step>> round;
  Step before;
  const Step* step = steps.next();
  while (step != nullptr) {
    before = *step;
    round.push_back(split(part, before));
    step = steps.next();
    if (step != nullptr && step->phase == before.phase && step->round == before.round) continue;
    Steps all = in_turn(std::move(round));
    while (const Step* next = all.next()) co_yield *next;
    round.clear();
  }
}

Steps in_runs(Part part, int most, const Algorithm& row, RankInLane at) {
  const ChunkSpan all = part.chunks.front().front();
  for (int done = 0; done < all.count; done += most) {
    part.chunks.front() = {{all.first + done, std::min(most, all.count - done)}};
    Steps steps = embedded(part, row.steps(at));
    while (const Step* step = steps.next()) co_yield *step;
  }
}

}  // namespace rondo
