// Waiting for the control plane to say why something has failed.
#pragma once

#include <chrono>
#include <thread>

#include "core/base/awake.h"

namespace rondo::detail {

/// Asks `ask()` every 50 ms until `is_known()`, for `longest` at most. A death is known sooner than
/// that. For a rank that left in order, or makes another call, somebody has to ask.
template <class Known, class Ask>
void await_diagnosis(std::chrono::milliseconds longest, Known is_known, Ask ask) {
  constexpr std::chrono::milliseconds between_questions{50};
  AwakeClock clock;
  const auto begin = clock.now();
  auto next_question = begin + between_questions;
  for (auto now = begin; !is_known() && now < begin + longest; now = clock.now()) {
    if (now >= next_question) {
      ask();
      next_question = now + between_questions;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace rondo::detail
