// A run whose ranks may die, and which others may join: see Elastic training in README.md.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "rondo/rondo.h"
#include "tools/trainer/elastic/held.h"
#include "tools/trainer/elastic/meeting.h"
#include "tools/trainer/run.h"

namespace rondo::train {

/// Called before each step, so that tests can end a rank there.
using StepHook = std::function<void(std::size_t steps_done)>;

/// Belongs to one rank. The constructor's arguments outlive it.
class Elastic {
 public:
  /// `hook`: for tests; may be empty.
  Elastic(const Options& options, Communicator& world, std::ostream& out, std::size_t columns,
          StepHook hook = {});

  /// As train::run().
  std::vector<StepRecord> run();

 private:
  using Clock = std::chrono::steady_clock;

  void begin();
  void join();
  std::vector<StepRecord> train();
  std::string go_on_without_lost(const std::optional<Error>& cause, bool unfinished);
  void recover(const Error& error);
  void grow();
  bool waits();
  void keep();
  bool attempt(bool unfinished);
  void remember_processes();
  std::string processes_text() const;
  void say(const std::string& what, Clock::time_point since);

  const Options& options_;
  Communicator& world_;
  std::ostream& out_;
  std::size_t columns_;
  StepHook hook_;
  std::optional<Meeting> meeting_{};  ///< with a folder; used on rank 0
  std::optional<Run> run_{};
  Held held_{};
  Restored restored_{};
  std::string lost_{};            ///< "died with rank 2"
  std::vector<int> processes_{};  ///< of the ranks
};

}  // namespace rondo::train
