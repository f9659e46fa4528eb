// A whole run: its steps, its output and its files.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "rondo/rondo.h"
#include "tools/trainer/options.h"
#include "tools/trainer/report/log.h"
#include "tools/trainer/report/validation.h"
#include "tools/trainer/session.h"

namespace rondo::train {

/// Called before each step of an elastic run, so that tests can end a rank there. May be empty.
using StepHook = std::function<void(std::size_t steps_done)>;

/// Collective. Rank 0 writes to `out`. Returns all steps, on every rank. Throws AgreedError on all
/// ranks, or another error on one rank, which must then abort the world. With options.elastic ranks
/// may die and others join (elastic/elastic.cc): `world` becomes a communicator of those that are
/// left or have joined. With options.join it is empty before.
std::vector<StepRecord> run(const Options& options, Communicator& world, std::ostream& out,
                            const StepHook& hook = {});

/// The steps of a run while its ranks stay the same. Belongs to one rank; every call is collective,
/// but for session() and steps(). Errors as Session's. The constructor's arguments outlive it.
class Run {
 public:
  Run(const Options& options, Communicator& world, std::ostream& out);

  /// Begins, from a checkpoint if that is asked for.
  void start();
  /// Instead: goes on where the session is, after these steps that other ranks took part in.
  /// `unfinished`: what follows the last of them, such as its checkpoint, may not have been done.
  void go_on(std::vector<StepRecord> steps, bool unfinished);
  /// Rank 0 prints a line.
  void say(const std::string& text);
  /// Trains until all steps are done, and returns true. Returns false after a step in which a rank
  /// has asked() for a pause.
  bool train(const std::function<bool()>& asked = {});
  /// What is said and written after the last step. Returns all steps.
  std::vector<StepRecord> report();

  Session& session() { return session_; }
  Checkpoints& checkpoints() { return checkpoints_; }
  const std::vector<StepRecord>& steps() const { return steps_; }

 private:
  bool saves() const { return !options_.checkpoint.folder.empty(); }
  void open(std::size_t resumed);
  void finish_step();
  std::vector<ValidationRow> prove();

  const Options& options_;
  Communicator& world_;
  bool first_;
  std::ostream silence_{nullptr};
  std::ostream& asked_;  ///< rank 0: for what options ask for
  std::ostream& out_;    ///< and for all else
  Session session_;
  RunRecord record_;
  Checkpoints checkpoints_;
  std::optional<StepLog> log_{};
  Link link_{};
  std::vector<StepRecord> steps_{};
  std::size_t earlier_ = 0;  ///< of the steps: those that other ranks took part in
  bool unfinished_ = false;  ///< the last step is
};

}  // namespace rondo::train
