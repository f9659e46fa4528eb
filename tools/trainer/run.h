// A whole run: its steps, its output and its files.
#pragma once

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "rondo/rondo.h"
#include "tools/trainer/options.h"
#include "tools/trainer/report/log.h"
#include "tools/trainer/report/progress.h"
#include "tools/trainer/report/record.h"
#include "tools/trainer/session.h"

namespace rondo::train {

/// Collective. Rank 0 writes to `out`. `columns`: width of the terminal; 0: `out` is not a
/// terminal, so there is no bar. Returns all steps, on every rank. Throws AgreedError on all ranks,
/// or another error on one rank, which must then abort the world. With options.elastic `world`
/// becomes a communicator of the ranks that are left or have joined; with options.join it is empty
/// before.
std::vector<StepRecord> run(const Options& options, Communicator& world, std::ostream& out,
                            std::size_t columns);

/// The steps of a run while its ranks stay the same. Belongs to one rank; every call is collective,
/// but for session() and steps(). Errors as Session's. The constructor's arguments outlive it.
class Run {
 public:
  Run(const Options& options, Communicator& world, std::ostream& out, std::size_t columns);

  /// Begins, from a checkpoint if that is asked for.
  void start();
  /// Instead: goes on where the session is, after these steps that other ranks took part in.
  /// `unfinished`: what follows the last of them, such as its checkpoint, may not have been done.
  void go_on(std::vector<StepRecord> steps, bool unfinished);
  /// Rank 0 prints a line.
  void say(const std::string& text) { progress_.say(text); }
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
  /// Whether rank 0 prints more than what other options ask for.
  bool speaks() const { return first_ && options_.progress != "none"; }
  std::vector<StepRecord> own_steps() const;
  void open(std::size_t resumed);
  void plot() const;
  void plot_or_say() const;
  void finish_step();
  std::vector<ValidationRow> prove();
  void say_where() const;

  const Options& options_;
  Communicator& world_;
  std::ostream& out_;
  bool first_;
  Session session_;
  RunRecord record_;
  Checkpoints checkpoints_;
  Progress progress_;
  std::optional<StepLog> log_{};
  Link link_{};
  std::vector<StepRecord> steps_{};
  std::size_t earlier_ = 0;  ///< of the steps: those that other ranks took part in
  bool unfinished_ = false;  ///< the last step is
};

}  // namespace rondo::train
