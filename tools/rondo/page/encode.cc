#include "tools/rondo/page/encode.h"

#include <map>
#include <nlohmann/json.hpp>
#include <vector>

namespace rondo::tool {
namespace {

/// Writes one rank's steps. With `rotated`, rank and chunk numbers count from the rank's own.
class Writer {
 public:
  Writer(const Schedule& schedule, int rank, bool rotated)
      : ranks_(static_cast<std::uint32_t>(schedule.ranks)),
        chunks_(static_cast<std::uint32_t>(schedule.layout.chunks())),
        rank_(rotated ? static_cast<std::uint32_t>(rank) : 0),
        chunk_(rank_ * (chunks_ / ranks_)) {}

  std::string write(Steps steps) {
    while (const Step* step = steps.next()) {
      if (!words_.empty()) words_ += ' ';
      label(*step);
      add(*step);
    }
    return std::move(words_);
  }

 private:
  void label(const Step& step) {
    if (step.phase == phase_ && step.round == round_) return;
    phase_ = step.phase;
    round_ = step.round;
    words_ += '@' + std::to_string(phase_) + '.' + std::to_string(round_) + ' ';
  }

  void add(const Step& step) {
    switch (step.kind) {
      case StepKind::send:
        words_ += 's' + peer(step) + chunk(step.from);
        break;
      case StepKind::receive:
        words_ += 'r' + peer(step) + chunk(step.into);
        break;
      case StepKind::receive_reduce:
        words_ += step.order == Order::received_first ? 'a' : 'b';
        words_ += peer(step) + chunk(step.from) + chunk(step.into);
        break;
      case StepKind::reduce:
        words_ += 'm' + std::to_string(step.operands) + chunk(step.from) + chunk(step.into);
        break;
      case StepKind::copy:
        words_ += 'c' + chunk(step.from) + chunk(step.into);
        break;
    }
  }

  std::string peer(const Step& step) const {
    return std::to_string((static_cast<std::uint32_t>(step.peer) + ranks_ - rank_) % ranks_);
  }
  std::string chunk(const Chunk& run) const {
    std::string words = run.buffer == Buffer::input    ? "i"
                        : run.buffer == Buffer::output ? "o"
                                                       : 'x' + std::to_string(run.slot) + '.';
    words += std::to_string((run.first + chunks_ - chunk_) % chunks_);
    return run.count == 1 ? words : words + '*' + std::to_string(run.count);
  }

  std::uint32_t ranks_;
  std::uint32_t chunks_;
  std::uint32_t rank_;
  std::uint32_t chunk_;
  std::uint32_t phase_ = 0;
  std::uint32_t round_ = 0;
  std::string words_{};
};

nlohmann::ordered_json encode(const Schedule& schedule, bool rotated) {
  std::map<std::string, std::size_t> numbers;
  std::vector<std::string> programs;
  std::vector<std::size_t> of;
  for (int rank = 0; rank < schedule.ranks; ++rank)
    for (int lane = 0; lane < schedule.lanes; ++lane) {
      std::string program = Writer(schedule, rank, rotated).write(schedule.steps(rank, lane));
      const auto [at, is_new] = numbers.emplace(program, programs.size());
      if (is_new) programs.push_back(std::move(program));
      of.push_back(at->second);
    }
  return {{"rotated", rotated}, {"programs", programs}, {"of", of}};
}

}  // namespace

nlohmann::ordered_json encode_steps(const Schedule& schedule) {
  nlohmann::ordered_json rotated = encode(schedule, true);
  nlohmann::ordered_json plain = encode(schedule, false);
  return rotated.dump().size() < plain.dump().size() ? rotated : plain;
}

}  // namespace rondo::tool
