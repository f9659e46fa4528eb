#include "tools/trainer/run.h"

#include <utility>

#include "tools/trainer/agreement.h"
#include "tools/trainer/report/progress.h"

namespace rondo::train {
namespace {

constexpr std::size_t validation_samples = 256;

bool due(std::size_t step, std::size_t every, std::size_t steps) {
  return every > 0 && (step % every == 0 || step == steps);
}

}  // namespace

Run::Run(const Options& options, Communicator& world, std::ostream& out)
    : options_(options),
      world_(world),
      first_(world.rank() == 0),
      asked_(first_ ? out : silence_),
      out_(options.progress == "none" ? silence_ : asked_),
      session_(options, world),
      record_(session_.run_record()),
      checkpoints_(session_.checkpoints()) {}

void Run::say(const std::string& text) {
  if (!text.empty()) out_ << text << std::endl;
}

void Run::start() {
  if (saves()) {
    say(checkpoints_.start());
  }
  open(session_.position().step);
  say(headline(record_));
}

void Run::go_on(std::vector<StepRecord> steps, bool unfinished) {
  steps_ = std::move(steps);
  earlier_ = steps_.size();
  open(steps_.empty() ? session_.position().step : steps_.front().step - 1);
  if (steps_.empty()) return;
  unfinished_ = unfinished;
  if (first_) log_->replace({steps_.begin(), steps_.end() - (unfinished ? 1 : 0)});
}

/// `resumed`: as StepLog's.
void Run::open(std::size_t resumed) {
  log_.emplace(options_.log, resumed);
  const bool apart = on_several_hosts(world_);
  together(world_, [&] {
    if (!first_) return;
    log_->check();
    if (!options_.plot.empty()) try_file(options_.plot);
    if (!options_.profile.empty()) link_ = link_of(session_, world_, options_, apart);
  });
}

bool Run::train(const std::function<bool()>& asked) {
  if (std::exchange(unfinished_, false)) finish_step();
  while (session_.position().step < options_.steps) {
    steps_.push_back(session_.step(asked && asked()));
    finish_step();
    show_progress(out_, record_, steps_);
    if (session_.asked() && session_.position().step < options_.steps) return false;
  }
  return true;
}

void Run::finish_step() {
  const std::size_t step = steps_.back().step;
  if (!options_.validate && due(step, options_.validate_every, options_.steps)) {
    steps_.back().validation = session_.validate(validation_samples);
  }
  if (first_) log_->append(steps_.back());
  if (!options_.validate && due(step, options_.check_every, options_.steps)) session_.check();
  if (saves() && due(step, options_.checkpoint.every, options_.steps)) {
    checkpoints_.save();
  }
}

std::vector<StepRecord> Run::report() {
  say(summary(record_, steps_, session_.memory()));
  const auto proved = prove();
  if (options_.sample > 0) {
    const auto text = session_.write(options_.prompt, options_.sample, options_.temperature);
    asked_ << "\n" << options_.prompt << text << std::endl;
  }
  together(world_, [&] {
    if (first_ && !options_.plot.empty() && !steps_.empty())
      replace_file(options_.plot, plot_svg(record_, steps_));
    log_->finish();
  });
  std::string files;
  for (const auto& [what, path] : {std::pair{"log ", options_.log},
                                   {"plot ", options_.plot},
                                   {"checkpoints ", options_.checkpoint.folder}})
    if (!path.empty() && !steps_.empty()) files += (files.empty() ? "\n" : ", ") + (what + path);
  say(files);
  if (options_.validate) demand_within(proved);
  return std::move(steps_);
}

/// Formulas hold for a number of ranks, so only these ranks' steps count.
std::vector<ValidationRow> Run::prove() {
  const std::vector<StepRecord> steps(steps_.begin() + static_cast<std::ptrdiff_t>(earlier_),
                                      steps_.end());
  if (options_.formulas == "none" || steps.empty()) return {};
  const bool asked = options_.validate || options_.formulas == "full";
  std::ostream& out = asked ? asked_ : out_;
  if (options_.strategy.compresses()) {
    out << "formulas: there is none for --compress" << std::endl;
    return {};
  }
  if (is_asynchronous(options_.strategy)) {
    out << session_.staleness_words() << std::endl;
    return {};
  }
  Evidence evidence = evidence_of(session_, world_, options_, steps);
  evidence.link = link_;
  out << validation_text(evidence) << std::flush;
  return validation_rows(evidence);
}

}  // namespace rondo::train
