// The options by name: one list, from which the command line and the record of a run are made.
#include "tools/trainer/options.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <type_traits>
#include <vector>

namespace rondo::train {
namespace {

using Json = nlohmann::ordered_json;

/// In which trainings an option has an effect, and what is said elsewhere.
struct Concern {
  bool (*concerns)(const Options&) = nullptr;  ///< null: in all
  const char* words = "";
};

/// Adds each option to a command line, and knows its value by its name.
class Reader {
 public:
  explicit Reader(CLI::App& app) : app_(app) {}

  void group(const char* name) { group_ = app_.add_option_group(name); }
  /// The values of all options so far. A file name that is not UTF-8 is no error; its characters
  /// are replaced.
  std::string settings() const {
    Json json;
    for (const auto& [option, value] : values_) json[option->get_name().substr(2)] = value();
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  template <class T>
  CLI::Option* value(const std::string& name, T& field, const std::string& help,
                     const Concern& concern = {}, const std::vector<std::string>& choices = {}) {
    CLI::Option* const option =
        note(concern, group_->add_option(name, field, help), [&field] { return Json(field); });
    if constexpr (std::is_same_v<T, std::string>) {
      if (!field.empty()) option->capture_default_str();
      if (!choices.empty()) option->check(CLI::IsMember(choices));
    } else {
      option->capture_default_str();
    }
    if constexpr (std::is_unsigned_v<T>) option->check(not_below_zero);
    return option;
  }
  void flag(const std::string& name, bool& field, bool given, const std::string& help,
            const Concern& concern = {}) {
    note(concern,
         group_->add_flag_callback(
             name, [&field, given] { field = given; }, help),
         [&field, given] { return Json(field == given); });
  }
  void precision(const std::string& name, Precision& field, const std::string& help,
                 const Concern& concern = {}) {
    std::vector<std::string> words;
    for (const PrecisionInfo& row : precisions) words.emplace_back(row.name);
    const auto set = [&field](const std::string& word) {
      for (const PrecisionInfo& row : precisions)
        if (row.name == word) field = row.precision;
    };
    note(concern, group_->add_option_function<std::string>(name, set, help),
         [&field] { return Json(info(field).name); })
        ->type_name("TYPE")
        ->default_str(std::string(info(field).name))
        ->check(CLI::IsMember(words));
  }
  void mebibytes(const std::string& name, std::size_t& bytes, const std::string& help,
                 const Concern& concern = {}) {
    constexpr double mebibyte = 1048576;
    const auto set = [&bytes, name](double count) {
      if (!(count * mebibyte < 0x1p63))
        throw CLI::ValidationError(name, "so many MiB are more than can be counted");
      bytes = static_cast<std::size_t>(std::ceil(count * mebibyte));
    };
    note(concern, group_->add_option_function<double>(name, set, help),
         [&bytes] { return Json(static_cast<double>(bytes) / mebibyte); })
        ->check(not_below_zero)
        ->default_str(std::to_string(bytes >> 20));
  }
  void compression(const std::string& name, StrategyOptions& strategy, const std::string& help,
                   const Concern& concern) {
    double& share = strategy.top_k;
    const auto set = [&strategy, &share, name](const std::string& text) {
      strategy.quantized = text == "int8";
      if (strategy.quantized) return;
      std::istringstream rest(text.starts_with("topk:") ? text.substr(5) : "");
      if (rest >> share && rest.eof() && share > 0 && share <= 1) return;
      throw CLI::ValidationError(name, "'" + text +
                                           "' is neither int8 nor topk:SHARE, with a SHARE above 0 "
                                           "and at most 1, as in topk:0.01");
    };
    note(concern, group_->add_option_function<std::string>(name, set, help),
         [&strategy, &share] { return strategy.quantized ? Json("int8") : Json(share); });
  }

  bool given(const char* name) const { return app_.count(name) > 0; }
  /// Throws for an option on the command line that has no effect.
  void refuse_idle(const Options& options) const {
    for (const auto& [option, concern] : concerns_) {
      if (option->count() > 0 && !concern.concerns(options))
        throw CLI::ValidationError(option->get_name() + " " + concern.words);
    }
  }

 private:
  /// Without it, CLI11 would read -1 as the largest unsigned number.
  static std::string not_below_zero(const std::string& text) {
    return text.starts_with("-") ? text + " is below 0" : "";
  }
  CLI::Option* note(const Concern& concern, CLI::Option* option, std::function<Json()> value) {
    values_.emplace_back(option, std::move(value));
    if (concern.concerns != nullptr) concerns_.emplace_back(option, concern);
    return option;
  }

  CLI::App& app_;
  CLI::Option_group* group_ = nullptr;
  std::vector<std::pair<CLI::Option*, Concern>> concerns_{};
  std::vector<std::pair<CLI::Option*, std::function<Json()>>> values_{};
};

std::string summaries() {
  std::string text;
  for (const auto rows : {strategies(), asynchronous_strategies()}) {
    for (const StrategyInfo& row : rows)
      text += (text.empty() ? "" : "\n") + std::string(row.name) + ": " + std::string(row.summary);
  }
  return text;
}

void list_training(Options& o, Reader& list) {
  list.group("Model and data");
  list.value("--data", o.data, "A text file, the same on every host; default: built-in stories");
  list.value("--block", o.block, "How many characters the model looks back");
  list.value("--layers", o.model.layers, "Blocks");
  list.value("--heads", o.model.heads, "Attention heads; --width must be a multiple of it");
  list.value("--width", o.model.width, "Numbers per character");
  list.value("--seed", o.seed, "Seed of start values and sample order");

  list.group("Training");
  list.value("--steps", o.steps, "Optimizer steps");
  list.value("--batch", o.batch, "Samples per step, over all ranks");
  list.value("--accumulate", o.accumulate, "Micro-steps per step");
  list.flag("--no-shuffle", o.shuffle, false, "Keep the same sample order in every epoch");
  list.flag("--pad", o.drop_last, false,
            "Fill an epoch's last batch with samples from its beginning instead of dropping it");
  list.value("--optimizer", o.optimizer.kind, "Which optimizer", {}, {"adamw", "sgd"});
  list.value("--learning-rate", o.rate.peak, "Learning rate after warm-up");
  list.value("--minimum-rate", o.rate.floor,
             "Learning rate at the end of the cosine; default: a tenth of --learning-rate")
      ->default_str("");
  list.value("--warm-up", o.rate.warm_up, "Steps until the full learning rate");
  list.value("--momentum", o.optimizer.momentum, "sgd: momentum",
             {[](const Options& all) { return all.optimizer.kind == "sgd"; },
              "works only with --optimizer sgd"});
  list.value("--weight-decay", o.optimizer.weight_decay,
             "Weight decay of matrices; default: 0.1 with adamw, 0 with sgd")
      ->default_str("");
  list.value("--clip", o.clip, "Largest norm of the whole gradient; 0: no limit");
}

void list_sharing(Options& o, Reader& list) {
  const auto is_ddp = [](const Options& all) { return all.strategy.kind == "ddp"; };
  StrategyOptions& strategy = o.strategy;
  list.group("Sharing the work");
  list.value("--strategy", strategy.kind, summaries());
  list.value("--local-steps", strategy.local_steps,
             "Steps of its own that a rank makes before it tells the others what it changed",
             {[](const Options& all) { return all.strategy.kind == "local_sgd"; },
              "works only with --strategy local_sgd"});
  list.value(
      "--staleness", strategy.staleness,
      "hogwild, local_sgd: steps that a rank makes before it waits until a peer takes a change",
      {[](const Options& all) { return is_asynchronous(all.strategy); },
       "works only with --strategy hogwild or local_sgd"});
  list.mebibytes("--bucket-mb", strategy.bucket_bytes,
                 "MiB of gradients that one call sends; a layer is never cut",
                 {[](const Options& all) { return all.strategy.kind != "zero3"; },
                  "does not work with zero3, which sends layer by layer"});
  list.flag("--sync-every-micro-step", strategy.sync_every_micro_step, true,
            "Average gradients in every micro-step, not only in the last one of a step",
            {[](const Options& all) { return all.strategy.kind == "ddp" && all.accumulate > 1; },
             "works only with --strategy ddp and --accumulate 2 or more"});
  list.flag("--no-overlap", strategy.overlap, false,
            "Communicate after the backward pass, not during it");
  list.precision("--precision", strategy.precision,
                 "Type in which to compute and send; bf16 and fp16 keep float32 master weights, "
                 "fp16 has a dynamic loss scale");
  list.precision("--wire", strategy.wire,
                 "Type in which to send float32 gradients; default: that of --precision",
                 {[](const Options& all) {
                    return all.strategy.kind == "ddp" ||
                           all.strategy.wire == all.strategy.precision;
                  },
                  "works only with --strategy ddp: the others send the type that they compute in"});
  list.value("--loss-scale", o.loss_scale, "fp16: the first loss scale",
             {[](const Options& all) { return all.strategy.precision == Precision::fp16; },
              "works only with --precision fp16"});
  list.compression(
      "--compress", strategy,
      "int8 sends gradients as 8-bit numbers and keeps what they are off for later; "
      "topk:SHARE sends the largest SHARE of them and keeps the rest; topk:0.01 sends a "
      "hundredth",
      {is_ddp, "works only with --strategy ddp"});
  list.flag("--checkpoint-activations", o.model.checkpoint_activations, true,
            "Keep only what enters a block; compute the rest again in the backward pass");
  list.mebibytes("--memory-limit", o.memory_limit,
                 "MiB of arrays that a rank may take; 0: what is free. Checked before training\n"
                 "starts, except for the free memory of a GPU");
  list.value("--device", o.device,
             "Where to compute. gpu: on CUDA devices with cuBLAS, a device for each rank while\n"
             "there are enough",
             {}, {"cpu", "gpu"});
  list.value(
      "--threads", o.threads, "Threads for the matrix products of a rank",
      {[](const Options& all) { return all.device == "cpu"; }, "works only with --device cpu"});
}

void list_checkpoints(CheckpointOptions& o, Reader& list) {
  const Concern saved{[](const Options& all) { return !all.checkpoint.folder.empty(); },
                      "works only with --checkpoint DIR"};
  list.group("Checkpoints");
  list.value("--checkpoint", o.folder, "Folder for checkpoints; hosts must share it");
  list.value("--checkpoint-every", o.every, "Save every so many steps and after the last; 0: never",
             saved);
  list.value("--checkpoint-keep", o.keep, "How many of the newest checkpoints to keep", saved);
  list.flag("--resume", o.resume, true,
            "Continue from the newest checkpoint, on any number of ranks and with any strategy; "
            "start anew if there is none",
            saved);
  list.flag("--resume-older", o.older, true,
            "As --resume; set a damaged checkpoint aside and take the one before it", saved);
}

void list_elastic(Options& o, Reader& list) {
  list.group("Elastic training");
  list.flag("--elastic", o.elastic, true,
            "Go on when ranks die, and take in processes that --join. Start it with rondorun\n"
            "--elastic. Without --checkpoint only ddp survives a death",
            {[](const Options& all) {
               return !all.validate && all.device == "cpu" && !all.strategy.compresses() &&
                      !is_asynchronous(all.strategy);
             },
             "does not work with --validate, --device gpu, --compress, hogwild and local_sgd"});
}

void list_reports(Options& o, Reader& list) {
  const Concern quiet{[](const Options& all) { return !all.validate; },
                      "does not work with --validate, which times nothing but the steps"};
  const Concern writes{[](const Options& all) { return all.sample > 0; },
                       "works only with --sample COUNT"};
  list.group("Reports");
  list.value("--validate-every", o.validate_every,
             "Measure the validation loss every so many steps; 0: never", quiet);
  list.value("--check-every", o.check_every,
             "Compare the ranks' parameters bit by bit every so many steps; 0: never", quiet);
  list.flag("--validate", o.validate, true,
            "At the end, compare each textbook formula (bytes, messages, memory, overlap,\n"
            "speed-up) with the measurement; fail where counts differ. Calls go round rings, or\n"
            "as RONDO_ALGORITHM says; --validate-every and --check-every are off");
  list.value("--formulas", o.formulas,
             "At the end, show formulas beside measurements. brief: bytes, messages and memory; "
             "full: also time, overlap, speed-up and bandwidth (as with --validate)",
             {}, {"none", "brief", "full"});
  list.value("--sample", o.sample, "How many characters to write at the end");
  list.value("--prompt", o.prompt, "The text that they continue; default: a new line", writes);
  list.value("--temperature", o.temperature, "How freely they are drawn; low: the likeliest ones",
             writes);
}

/// All that must be equal on all ranks.
void list_shared(Options& options, Reader& list) {
  list_training(options, list);
  list_sharing(options, list);
  list_checkpoints(options.checkpoint, list);
  list_elastic(options, list);
  list_reports(options, list);
}

/// What may differ between ranks: rank 0's files and lines, and who joins.
void list_output(Options& o, Reader& list) {
  list.flag("--join", o.join, true,
            "Join the training that runs with these options and this --checkpoint DIR, as its "
            "last rank",
            {[](const Options& all) { return all.elastic && !all.checkpoint.folder.empty(); },
             "works only with --elastic and --checkpoint DIR"});
  list.value("--profile", o.profile,
             "Profile from `rondo calibrate --output FILE`: shows what the link carries beside "
             "busbw",
             {[](const Options& all) {
                return all.device == "cpu" && (all.validate || all.formulas == "full");
              },
              "works only with --validate or --formulas full, and with --device cpu"});
  list.value("--log", o.log, "FILE.csv: one row per step; a resumed run continues the file");
  list.value("--plot", o.plot, "FILE.svg: draw the loss and where the time went");
  list.value("--progress", o.progress,
             "none: print only what other options ask for, such as --formulas full", {},
             {"lines", "none"});
}

void finish(const Reader& reader, Options& options) {
  StrategyOptions& strategy = options.strategy;
  const auto demand = [](bool holds, const char* option, const char* words) {
    if (!holds) throw CLI::ValidationError(option, words);
  };
  const auto ends_with = [](const std::string& name, const char* ending) {
    return name.empty() || name.ends_with(ending);
  };
  if (!reader.given("--wire")) strategy.wire = strategy.precision;
  if (!reader.given("--weight-decay"))
    options.optimizer.weight_decay = options.optimizer.kind == "adamw" ? 0.1 : 0.0;
  if (!reader.given("--minimum-rate")) options.rate.floor = options.rate.peak / 10;
  options.rate.steps = options.steps;
  options.checkpoint.resume |= options.checkpoint.older;
  if (options.validate) options.formulas = "full";
  demand(strategy.bucket_bytes > 0, "--bucket-mb", "must be above 0, as in --bucket-mb 25");
  demand(options.steps > 0, "--steps", "must be at least 1");
  demand(options.checkpoint.keep > 0, "--checkpoint-keep", "must be at least 1");
  demand(ends_with(options.log, ".csv"), "--log", "needs a name that ends in .csv");
  demand(ends_with(options.plot, ".svg"), "--plot", "needs a name that ends in .svg");
  demand(!options.validate || !strategy.compresses(), "--validate",
         "there is no formula for --compress");
  demand(!options.validate || !is_asynchronous(strategy), "--validate",
         "there are no formulas for hogwild and local_sgd");
  demand(!(options.rate.floor > options.rate.peak), "--minimum-rate",
         "must not be above --learning-rate, at which the cosine begins");
  reader.refuse_idle(options);
}

}  // namespace

std::string settings_json(const Options& options) {
  Options copy = options;
  CLI::App app;
  Reader reader(app);
  list_shared(copy, reader);
  return reader.settings();
}

CommandLine read_command_line(int argc, const char* const* argv, bool speaks) {
  CLI::App app(
      "Trains a small model on N ranks and shows what communication costs.\n"
      "One rank: rondo-train [OPTIONS]. N ranks: rondorun -n N rondo-train [OPTIONS]",
      "rondo-train");
  app.footer(
      "Any number of ranks trains the same model: --batch is divided among the ranks, and losses\n"
      "and gradients are averaged over all of it. Only rank 0 prints.\n"
      "Exit status: 0 when all went well; 1 on every rank after a failure, or when an option "
      "cannot\n"
      "be satisfied; 2 when the command line cannot be read. With --elastic a rank that fails "
      "alone\n"
      "ends alone.\n"
      "Not available: types other than float32 on a GPU.");
  CommandLine line;
  Reader reader(app);
  list_shared(line.options, reader);
  list_output(line.options, reader);
  try {
    app.parse(argc, argv);
    finish(reader, line.options);
  } catch (const CLI::ParseError& stop) {
    std::ostringstream silence;
    line.leave = speaks ? app.exit(stop) : app.exit(stop, silence, silence);
    if (line.leave != 0) line.leave = 2;
  }
  return line;
}

}  // namespace rondo::train
