#include "tools/trainer/run.h"

#include <iostream>
#include <utility>

#include "tools/trainer/agreement.h"
#include "tools/trainer/report/evidence.h"
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
    if (saves()) start();
    StepLog log(options_.log, record_, session_.position().step);
    Link link;
    const bool apart = on_several_hosts(world_);
    together(world_, [&] {
      if (!first_) return;
      log.check();
      if (!options_.plot.empty()) try_file(options_.plot);
      if (!options_.profile.empty()) link = link_of(session_, world_, options_, apart);
    });
    progress_.start();
    try {
      while (session_.position().step < options_.steps) one_step(log);
    } catch (const AgreedError&) {  // what was learnt until here is worth a look
      plot_or_say();
      throw;
    }
    report(log, link);
    return std::move(steps_);
  }

 private:
  bool saves() const { return !options_.checkpoint.folder.empty(); }
  /// Whether rank 0 prints more than what other options ask for.
  bool speaks() const { return first_ && options_.progress != "none"; }

  /// Continues from a checkpoint, if that is asked for and there is one.
  void start() {
    const auto found = checkpoints_.start();
    if (found.position) session_.set_position(*found.position);
    if (speaks() && !found.words.empty()) out_ << found.words << std::endl;
  }

  void plot() const {
    if (first_ && !options_.plot.empty() && !steps_.empty())
      replace_file(options_.plot, plot_svg(record_, steps_));
  }
  /// An error of the plot must not hide why the training ended.
  void plot_or_say() const {
    try {
      plot();
    } catch (const Error& error) {
      std::cerr << error.what() << std::endl;
    }
  }

  void one_step(StepLog& log) {
    steps_.push_back(session_.step());
    const std::size_t step = steps_.back().step;
    if (!options_.validate && due(step, options_.validate_every, options_.steps)) {
      steps_.back().validation = session_.validate(validation_samples);
    }
    if (first_) log.append(steps_.back());
    if (!options_.validate && due(step, options_.check_every, options_.steps)) session_.check();
    if (saves() && due(step, options_.checkpoint.every, options_.steps)) {
      checkpoints_.save(session_.position());
    }
    progress_.show(steps_);
  }

  void report(StepLog& log, const Link& link) {
    progress_.finish(steps_, session_.memory());
    const auto proved = prove(log, link);
    if (options_.sample > 0) {
      const auto text = session_.write(options_.prompt, options_.sample, options_.temperature);
      if (first_) out_ << "\n" << options_.prompt << text << std::endl;
    }
    together(world_, [&] {
      plot();
      log.finish();
    });
    if (speaks() && !steps_.empty()) say_where();
    if (options_.validate) demand_within(proved);
  }

  /// Collective.
  std::vector<ValidationRow> prove(StepLog& log, const Link& link) {
    if (options_.formulas == Formulas::none || steps_.empty()) return {};
    const bool asked = options_.validate || options_.formulas == Formulas::full;
    const bool says = speaks() || (first_ && asked);
    if (options_.strategy.top_k > 0) {
      if (says) out_ << "formulas: there is none for --compress" << std::endl;
      return {};
    }
    Evidence evidence = evidence_of(session_, world_, options_, steps_);
    evidence.link = link;
    auto rows = validation_rows(evidence);
    if (says) out_ << validation_text(evidence) << std::flush;
    if (first_) log.add_formulas(rows);
    return rows;
  }

  /// "log FILE, plot FILE, checkpoints DIR".
  void say_where() const {
    std::string text;
    const auto add = [&](const std::string& what, const std::string& path) {
      if (!path.empty()) text += (text.empty() ? "\n" : ", ") + what + " " + path;
    };
    add("log", options_.log);
    add("plot", options_.plot);
    add("checkpoints", options_.checkpoint.folder);
    if (!text.empty()) out_ << text << std::endl;
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
