#include "tools/trainer/run.h"

#include <iostream>
#include <utility>

#include "tools/trainer/agreement.h"
#include "tools/trainer/files.h"
#include "tools/trainer/prove.h"
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

/// Continues from a checkpoint, if that is asked for and there is one.
void start(Session& session, Checkpoints& checkpoints, std::ostream& out, bool speaks) {
  const auto found = checkpoints.start();
  if (found.position) session.set_position(*found.position);
  if (speaks && !found.words.empty()) out << found.words << std::endl;
}

/// The parts of one run, and its steps in order.
class Run {
 public:
  Run(const Options& options, Communicator& world, std::ostream& out, std::size_t columns)
      : options_(options),
        world_(world),
        out_(out),
        first_(world.rank() == 0),
        session_(options, world),
        record_(session_.run_record()),
        checkpoints_(session_.checkpoints()),
        progress_(out, style_of(options, columns > 0, world.rank()), record_, columns) {}

  std::vector<StepRecord> all() {
    if (saves()) start(session_, checkpoints_, out_, first_ && options_.progress != "none");
    Files files(options_, record_, session_.position().step);
    Link link;
    const bool apart = on_several_hosts(world_);
    together(world_, [&] {
      if (!first_) return;
      files.check();
      if (!options_.profile.empty()) link = link_of(session_, world_, options_, apart);
    });
    progress_.start();
    try {
      while (session_.position().step < options_.steps) one_step(files);
    } catch (const AgreedError&) {  // what was learnt until here is worth a look
      if (first_) plot_or_say(files);
      throw;
    }
    report(files, link);
    return std::move(steps_);
  }

 private:
  bool saves() const { return !options_.checkpoint.folder.empty(); }

  /// An error of the plot must not hide why the training ended.
  void plot_or_say(const Files& files) const {
    try {
      files.plot(steps_);
    } catch (const Error& error) {
      std::cerr << error.what() << std::endl;
    }
  }

  void one_step(Files& files) {
    steps_.push_back(session_.step());
    const std::size_t step = steps_.back().step;
    if (!options_.validate && due(step, options_.validate_every, options_.steps)) {
      steps_.back().validation = session_.validate(validation_samples);
    }
    if (first_) files.append(steps_.back());
    if (!options_.validate && due(step, options_.check_every, options_.steps)) session_.check();
    if (saves() && due(step, options_.checkpoint.every, options_.steps)) {
      checkpoints_.save(session_.position());
    }
    progress_.show(steps_);
  }

  void report(Files& files, const Link& link) {
    progress_.finish(steps_, session_.memory());
    std::vector<ValidationRow> proved;
    const bool proves = options_.formulas != Formulas::none && options_.strategy.top_k == 0;
    if (proves && !steps_.empty()) {
      Evidence evidence = evidence_of(session_, world_, options_, steps_);
      evidence.link = link;
      proved = validation_rows(evidence);
      if (first_ && says_formulas()) out_ << validation_text(evidence) << std::flush;
      if (first_) files.add_formulas(proved);
    }
    if (first_ && options_.formulas != Formulas::none && options_.strategy.top_k > 0 &&
        says_formulas()) {
      out_ << "formulas: there is none for --compress" << std::endl;
    }
    if (options_.sample > 0) {
      const auto text = session_.write(options_.prompt, options_.sample, options_.temperature);
      if (first_) out_ << "\n" << options_.prompt << text << std::endl;
    }
    together(world_, [&] {
      if (first_) files.plot(steps_);
      if (first_) files.finish();
    });
    if (first_ && options_.progress != "none" && !steps_.empty()) say_where(files);
    if (options_.validate) demand_within(proved);
  }

  /// Also without progress output, if all formulas are asked for.
  bool says_formulas() const {
    return options_.progress != "none" || options_.validate || options_.formulas == Formulas::full;
  }

  void say_where(const Files& files) const {
    const std::string text = files.words();
    if (!text.empty()) out_ << "\n" << text << std::endl;
  }

  const Options& options_;
  Communicator& world_;
  std::ostream& out_;
  bool first_;
  Session session_;
  RunRecord record_;
  Checkpoints checkpoints_;
  Progress progress_;
  std::vector<StepRecord> steps_{};
};

}  // namespace

std::vector<StepRecord> run(const Options& options, Communicator& world, std::ostream& out,
                            std::size_t columns) {
  return Run(options, world, out, columns).all();
}

}  // namespace rondo::train
