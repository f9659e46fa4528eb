#include "tools/trainer/run.h"

#include <fstream>
#include <ostream>

#include "tools/trainer/agreement.h"
#include "tools/trainer/prove.h"
#include "tools/trainer/report/log.h"
#include "tools/trainer/report/progress.h"
#include "tools/trainer/session.h"

namespace rondo::train {
namespace {

constexpr std::size_t validation_samples = 256;

ProgressStyle style_of(const Options& options, bool terminal, int rank) {
  if (rank != 0 || options.progress == "none") return ProgressStyle::none;
  if (options.progress == "auto") return terminal ? ProgressStyle::bar : ProgressStyle::lines;
  return options.progress == "bar" ? ProgressStyle::bar : ProgressStyle::lines;
}

bool due(std::size_t step, std::size_t every, std::size_t steps) {
  return every > 0 && (step % every == 0 || step == steps);
}

/// Goes on where a checkpoint was left, if one is asked for and there.
void start(Session& session, Checkpoints& checkpoints, std::ostream& out, bool speaks) {
  const auto found = checkpoints.start();
  if (found.position) session.set_position(*found.position);
  if (speaks && !found.words.empty()) out << found.words << std::endl;
}

/// Finds out before the work, not after it, that a report cannot be written.
void try_reports(const Options& options) {
  for (const std::string& path : {options.log, options.plot}) {
    if (!path.empty()) try_report(path);
  }
}

/// Of a run that had nothing left to do nothing is written: what an earlier one left stays.
void write_reports(const Options& options, const RunRecord& record,
                   const std::vector<StepRecord>& steps) {
  for (const std::string& path : {options.log, options.plot}) {
    if (!path.empty() && !steps.empty()) write_report(path, record, steps);
  }
}

}  // namespace

std::vector<StepRecord> run(const Options& options, Communicator& world, std::ostream& out,
                            bool terminal) {
  const bool first = world.rank() == 0;
  Session session(options, world);
  const RunRecord record = session.run_record();
  together(world, [&] {
    if (first) try_reports(options);
  });
  Checkpoints checkpoints = session.checkpoints();
  const CheckpointOptions& saving = options.checkpoint;
  if (!saving.folder.empty()) {
    start(session, checkpoints, out, first && options.progress != "none");
  }
  Progress progress(out, style_of(options, terminal, world.rank()), record);
  progress.start();
  std::vector<StepRecord> steps;
  const Traffic before = world.traffic();
  while (session.position().step < options.steps) {
    steps.push_back(session.step());
    const std::size_t step = steps.back().step;
    if (!options.validate && due(step, options.validate_every, options.steps)) {
      steps.back().validation = session.validate(validation_samples);
    }
    if (!options.validate && due(step, options.check_every, options.steps)) session.check();
    if (!saving.folder.empty() && due(step, saving.every, options.steps)) {
      checkpoints.save(session.position());
    }
    progress.show(steps);
  }
  progress.finish(steps, session.memory());
  if (options.validate && !steps.empty()) {
    session.strategy().settle();
    const Traffic sent = world.traffic() - before;
    const std::string text = validation_text(evidence_of(session, world, options, steps, sent));
    if (first) out << text << std::flush;
  }
  if (options.sample > 0) {
    const auto text = session.write(options.prompt, options.sample, options.temperature);
    if (first) out << "\n" << text << std::endl;
  }
  together(world, [&] {
    if (first) write_reports(options, record, steps);
  });
  return steps;
}

}  // namespace rondo::train
