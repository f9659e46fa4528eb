// A run whose ranks may die, and which others may join: see Elastic training in README.md.
#include <unistd.h>

#include <chrono>
#include <utility>

#include "bench/common/gather.h"
#include "core/base/text.h"
#include "core/settings/settings.h"
#include "tools/trainer/agreement.h"
#include "tools/trainer/elastic/held.h"
#include "tools/trainer/elastic/meeting.h"
#include "tools/trainer/words.h"

namespace rondo::train {
namespace {

/// Whether other ranks are gone, and not this one in trouble. A rank that has left in order, as after
/// an AgreedError that others did not get, makes a mismatch.
bool may_be_loss(const Error& error) {
  return error.code() == ErrorCode::peer_lost || error.code() == ErrorCode::timeout ||
         error.code() == ErrorCode::aborted || error.code() == ErrorCode::mismatch;
}

/// Going on would end in the same error.
bool is_hopeless(const Error& error, const std::vector<int>& lost) {
  return error.code() == ErrorCode::mismatch && lost.empty();
}

/// Belongs to one rank. The constructor's arguments outlive it.
class Elastic {
 public:
  Elastic(const Options& options, Communicator& world, std::ostream& out, const StepHook& hook)
      : options_(options), world_(world), out_(out), hook_(hook) {}

  std::vector<StepRecord> run() {
    options_.join ? join() : begin();
    for (;;) {
      try {
        return train();
      } catch (const AgreedError&) {
        throw;
      } catch (const Error& error) {
        if (!may_be_loss(error)) throw;
        recover(error);
      }
    }
  }

 private:
  using Clock = std::chrono::steady_clock;

  std::vector<StepRecord> train() {
    while (!run_->train([this] { return waits(); })) grow();
    auto steps = run_->report();
    if (meeting_) meeting_->refuse("the training has ended");
    return steps;
  }

  void begin() {
    while (!attempt(false)) world_ = world_.shrink();
    std::string text = "ranks are processes";
    for (const int process : processes_) text += " " + std::to_string(process);
    run_->say(text);
  }

  void join() {
    Request request(options_.checkpoint.folder,
                    print_of(options_, text_of(options_).fingerprint()));
    const Ticket ticket = request.wait(read_config().bootstrap_timeout);
    world_ = Communicator::from_unique_id(ticket.id, ticket.rank, ticket.ranks);
    if (attempt(false)) return;
    throw Error(ErrorCode::aborted, "the ranks went on without this one, as another one died",
                {.remedy = "start it again"});
  }

  /// Rank 0 looks for processes that want to join.
  bool waits() {
    if (hook_) hook_(run_->session().position().step);
    if (world_.rank() != 0 || options_.checkpoint.folder.empty()) return false;
    if (!meeting_)
      meeting_.emplace(options_.checkpoint.folder,
                       print_of(options_, run_->session().data_fingerprint()));
    if (!meeting_->somebody_waits()) return false;
    const std::size_t ranks = static_cast<std::size_t>(world_.size()) + 1;
    if (options_.batch >= ranks * options_.accumulate) return true;
    meeting_->refuse("a global batch of " + std::to_string(options_.batch) + " is too small for " +
                     std::to_string(ranks) + " ranks");
    return false;
  }

  void keep() {
    if (run_) held_ = hold(*run_);
    run_.reset();
  }

  /// Makes the run on the ranks of `world_`, with the state that they hold. All of them return the
  /// same. After false they still hold it, and this communicator is of no use. An AgreedError comes
  /// when all know that it will.
  bool attempt(bool unfinished) {
    std::optional<AgreedError> refusal;
    std::optional<Error> loss;
    bool made = false;
    try {
      run_.emplace(options_, world_, out_);
      restored_ = restore(*run_, held_, options_, world_, lost_, unfinished);
      processes_ = bench::gather_all(world_, static_cast<int>(::getpid()));
      made = true;
    } catch (const AgreedError& error) {
      refusal = error;
    } catch (const Error& error) {
      if (!may_be_loss(error)) throw;
      loss = error;
    }
    const Agreed agreed = world_.agree(made ? 1 : 0);
    if (agreed.flags == 1 && agreed.lost.empty()) {
      held_ = {};
      return true;
    }
    run_.reset();
    if (refusal) throw AgreedError(*refusal);
    if (loss && is_hopeless(*loss, agreed.lost)) throw Error(*loss);
    return false;
  }

  /// Goes on with the ranks that are left. Returns which died; empty: none. `cause`: why they stopped.
  std::string go_on_without_lost(const std::optional<Error>& cause, bool unfinished) {
    std::string died;
    lost_ = "is lost";
    do {
      const auto lost = world_.agree().lost;
      if (cause && is_hopeless(*cause, lost)) throw Error(*cause);
      if (!lost.empty()) {
        died += (died.empty() ? "" : ", then ") + rank_list(lost) + " of " +
                std::to_string(world_.size()) + " died";
        lost_ = "died with " + rank_list(lost);
      }
      world_ = world_.shrink();
    } while (!attempt(unfinished));
    return died;
  }

  void recover(const Error& error) {
    const auto since = Clock::now();
    keep();
    const std::string died = go_on_without_lost(error, true);
    say((died.empty() ? "the ranks were interrupted" : died) + " (" + error.message() + ")", since);
  }

  /// With the one that waits. Without it, if it does not come: that ends nothing.
  void grow() {
    const auto since = Clock::now();
    keep();
    Communicator grown;
    std::string trouble = "another rank could not reach it";
    try {
      std::optional<UniqueId> id;
      if (world_.rank() == 0) id = meeting_->invite(world_.size() + 1);
      grown = world_.grow(world_.size() + 1, id);
    } catch (const Error& error) {
      trouble = error.message();
    }
    if (world_.agree(grown ? 1 : 0).flags == 1) {
      Communicator before = std::exchange(world_, std::move(grown));
      try {
        if (attempt(false)) {
          if (meeting_) meeting_->close();
          return say("a rank joined (process " + std::to_string(processes_.back()) + ")", since);
        }
      } catch (const AgreedError& error) {
        trouble = error.message();
      }
      world_ = std::move(before);
    }
    const std::string died = go_on_without_lost({}, false);
    if (meeting_) meeting_->close();
    say(died + (died.empty() ? "" : ", and ") + "no rank joined (" + trouble + ")", since);
  }

  void say(const std::string& what, Clock::time_point since) {
    const double seconds = std::chrono::duration<double>(Clock::now() - since).count();
    std::string text = what + "; ";
    if (restored_.step < restored_.from)
      text += "went back from step " + std::to_string(restored_.from) + " to step " +
              std::to_string(restored_.step) + "; ";
    text += count_of_ranks(world_.size()) + (world_.size() == 1 ? " goes" : " go") +
            " on from step " + std::to_string(restored_.step) + format(" after %.2f s", seconds);
    run_->say(text);
  }

  const Options& options_;
  Communicator& world_;
  std::ostream& out_;
  const StepHook& hook_;
  std::optional<Meeting> meeting_{};  ///< with a folder; used on rank 0
  std::optional<Run> run_{};
  Held held_{};
  Restored restored_{};
  std::string lost_{};            ///< "died with rank 2"
  std::vector<int> processes_{};  ///< of the ranks
};

}  // namespace

std::vector<StepRecord> run(const Options& options, Communicator& world, std::ostream& out,
                            const StepHook& hook) {
  if (options.elastic) return Elastic(options, world, out, hook).run();
  Run whole(options, world, out);
  whole.start();
  whole.train();
  return whole.report();
}

}  // namespace rondo::train
