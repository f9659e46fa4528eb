// The options of rondo-train by name.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "rondo/error.h"
#include "tools/trainer/concerns.h"
#include "tools/trainer/options.h"

namespace rondo::train {
namespace {

constexpr const char* purpose =
    "Trains a small model on N ranks and shows what communication costs.\n"
    "One rank: rondo-train [OPTIONS]. N ranks: rondorun -n N rondo-train [OPTIONS]";

constexpr const char* closing =
    "Any number of ranks trains the same model: --batch is divided among the ranks, and losses\n"
    "and gradients are averaged over all of it. Only rank 0 prints.\n"
    "Exit status: 0 when all went well; 1 on every rank after a failure, or when an option cannot\n"
    "be satisfied; 2 when the command line cannot be read.\n"
    "Not available: gradients sent in fewer than 16 bits, and types other than float32 on a GPU.";

/// The options as written on the command line, before they are checked.
struct Raw {
  double bucket_mb = 25;
  std::size_t memory_limit_mb = 0;
  std::optional<double> minimum_rate{};
  std::optional<double> weight_decay{};
  std::string precision = "float32";
  std::string wire{};
  std::string compress{};
  std::string offload{};
  std::string formulas = "brief";
  bool pad = false;
  bool no_shuffle = false;
  bool no_overlap = false;
};

// People read and write names; the enumeration's numbers stay inside.
Precision precision_of(const std::string& name) {
  const auto named = [&](const PrecisionInfo& row) { return row.name == name; };
  return std::find_if(precisions.begin(), precisions.end(), named)->precision;
}

CLI::IsMember one_of_precisions() {
  std::vector<std::string> names;
  for (const PrecisionInfo& row : precisions) names.emplace_back(row.name);
  return CLI::IsMember(names);
}

void add_model(CLI::App& app, Options& options) {
  auto* const group = app.add_option_group("Model and data");
  ModelOptions& model = options.model;
  group->add_option("--model", model.kind, "gpt: characters of a text; mlp: points of spirals")
      ->capture_default_str()
      ->check(CLI::IsMember({"gpt", "mlp"}));
  group->add_option("--data", options.data,
                    "gpt: a text file, the same on every host; default: "
                    "built-in stories");
  group->add_option("--block", options.block, "gpt: how many characters the model looks back")
      ->capture_default_str();
  group->add_option("--layers", model.layers, "gpt: blocks; mlp: hidden layers")
      ->capture_default_str();
  group
      ->add_option("--heads", model.heads, "gpt: attention heads; --width must be a multiple of it")
      ->capture_default_str();
  group->add_option("--width", model.width, "gpt: numbers per character; mlp: per hidden layer")
      ->capture_default_str();
  group->add_option("--points", options.points, "mlp: points on all spirals")
      ->capture_default_str();
  group->add_option("--classes", options.classes, "mlp: how many spirals")->capture_default_str();
  group->add_option("--seed", options.seed, "Seed of start values, sample order and points")
      ->capture_default_str();
}

void add_training(CLI::App& app, Options& options, Raw& raw) {
  auto* const group = app.add_option_group("Training");
  group->add_option("--steps", options.steps, "Optimizer steps")->capture_default_str();
  group->add_option("--batch", options.batch, "Samples per step, over all ranks")
      ->capture_default_str();
  group->add_option("--accumulate", options.accumulate, "Micro-steps per step")
      ->capture_default_str();
  group->add_flag("--no-shuffle", raw.no_shuffle, "Keep the same sample order in every epoch");
  group->add_flag(
      "--pad", raw.pad,
      "Fill an epoch's last batch with samples from its beginning instead of dropping it");
  group->add_option("--optimizer", options.optimizer.kind, "Which optimizer")
      ->capture_default_str()
      ->check(CLI::IsMember({"adamw", "sgd"}));
  group->add_option("--learning-rate", options.rate.peak, "Learning rate after warm-up")
      ->capture_default_str();
  group->add_option("--minimum-rate", raw.minimum_rate,
                    "Learning rate at the end of the cosine; default: a tenth of --learning-rate");
  group->add_option("--warm-up", options.rate.warm_up, "Steps until the full learning rate")
      ->capture_default_str();
  group->add_option("--momentum", options.optimizer.momentum, "sgd: momentum")
      ->capture_default_str();
  group->add_option("--weight-decay", raw.weight_decay,
                    "Weight decay of matrices; default: 0.1 with adamw, 0 with sgd");
  group->add_option("--clip", options.clip, "Largest norm of the whole gradient; 0: no limit")
      ->capture_default_str();
}

void add_sharing(CLI::App& app, Options& options, Raw& raw) {
  auto* const group = app.add_option_group("Sharing the work");
  StrategyOptions& strategy = options.strategy;
  std::string table;
  for (const StrategyInfo& row : strategies()) {
    table += (table.empty() ? "" : "\n") + std::string(row.name) + ": " + std::string(row.summary);
  }
  group->add_option("--strategy", strategy.kind, table)->capture_default_str();
  group->add_option("--bucket-mb", raw.bucket_mb, "MiB of gradients that one call sends")
      ->capture_default_str();
  group->add_flag("--sync-every-micro-step", strategy.sync_every_micro_step,
                  "Average gradients in every micro-step, not only in the last one of a step");
  group->add_flag("--no-overlap", raw.no_overlap,
                  "Communicate after the backward pass, not during it");
  group
      ->add_option("--precision", raw.precision,
                   "Type in which to compute and send; bf16 and fp16 keep float32 master weights, "
                   "fp16 has a dynamic loss scale")
      ->capture_default_str()
      ->type_name("TYPE")
      ->check(one_of_precisions());
  group->add_option("--wire", raw.wire, "Type in which to send float32 gradients")
      ->type_name("TYPE")
      ->check(one_of_precisions());
  group->add_option("--loss-scale", options.loss_scale, "fp16: the first loss scale")
      ->capture_default_str();
  group->add_option(
      "--compress", raw.compress,
      "topk:SHARE sends the largest SHARE of the gradients and keeps the rest for later; "
      "topk:0.01 sends a hundredth");
  group->add_flag(
      "--checkpoint-activations", options.model.checkpoint_activations,
      "gpt: keep only what enters a block; compute the rest again in the backward pass");
  group->add_option("--memory-limit", raw.memory_limit_mb,
                    "MiB of arrays that a rank may take; 0: what is free. Checked before training\n"
                    "starts, except for the free memory of a GPU");
  group
      ->add_option(
          "--device", options.device,
          "Where to compute. gpu: on CUDA devices with cuBLAS, a device for each rank while\n"
          "there are enough")
      ->capture_default_str()
      ->check(CLI::IsMember({"cpu", "gpu"}));
  group
      ->add_option(
          "--offload", raw.offload,
          "gpu: \"optimizer\" keeps optimizer state and master weights in the host's memory\n"
          "and takes the steps there")
      ->check(CLI::IsMember({"optimizer"}));
  group->add_option("--threads", options.threads, "Threads for the matrix products of a rank")
      ->capture_default_str();
}

void add_checkpoints(CLI::App& app, CheckpointOptions& options) {
  auto* const group = app.add_option_group("Checkpoints");
  auto* const folder = group->add_option("--checkpoint", options.folder,
                                         "Folder for checkpoints; hosts must share it");
  folder->type_name("DIR");
  group
      ->add_option("--checkpoint-every", options.every,
                   "Save every so many steps and after the last; 0: never")
      ->capture_default_str()
      ->needs(folder);
  group->add_option("--checkpoint-keep", options.keep, "How many of the newest checkpoints to keep")
      ->capture_default_str()
      ->needs(folder);
  group
      ->add_option("--checkpoint-format", options.format,
                   "sharded: every rank writes what it holds; whole: rank 0 writes one file")
      ->capture_default_str()
      ->check(CLI::IsMember({"sharded", "whole"}))
      ->needs(folder);
  group
      ->add_flag(
          "--resume", options.resume,
          "Continue from the newest checkpoint, on any number of ranks and with any strategy; "
          "start anew if there is none")
      ->needs(folder);
  group
      ->add_flag("--resume-older", options.older,
                 "As --resume; set a damaged checkpoint aside and take the one before it")
      ->needs(folder);
}

void add_reports(CLI::App& app, Options& options, Raw& raw) {
  auto* const group = app.add_option_group("Reports");
  group
      ->add_option("--validate-every", options.validate_every,
                   "Measure the validation loss every so many steps; 0: never")
      ->capture_default_str();
  group
      ->add_option("--check-every", options.check_every,
                   "Compare the ranks' parameters bit by bit every so many steps; 0: never")
      ->capture_default_str();
  group->add_flag(
      "--validate", options.validate,
      "At the end, compare each textbook formula (bytes, messages, memory, overlap,\n"
      "speed-up) with the measurement; fail where counts differ. Calls go round rings, or\n"
      "as RONDO_ALGORITHM says; --validate-every and --check-every are off");
  group
      ->add_option(
          "--formulas", raw.formulas,
          "At the end, show formulas beside measurements. brief: bytes, messages and memory; "
          "full: also time, overlap, speed-up and bandwidth (as with --validate)")
      ->capture_default_str()
      ->check(CLI::IsMember({"none", "brief", "full"}));
  group
      ->add_option(
          "--profile", options.profile,
          "Profile from `rondo calibrate --output FILE`: shows what the link carries beside "
          "busbw")
      ->type_name("FILE");
  group
      ->add_option("--log", options.log,
                   "FILE.csv or FILE.json: one row per step; a resumed run continues the file")
      ->type_name("FILE");
  group->add_option("--plot", options.plot, "FILE.svg: draw the loss and where the time went")
      ->type_name("FILE");
  group->add_option("--sample", options.sample, "gpt: how many characters to write at the end");
  group->add_option("--prompt", options.prompt,
                    "gpt: the text that they continue; default: a new line");
  group
      ->add_option("--temperature", options.temperature,
                   "gpt: how freely they are drawn; low: the likeliest ones")
      ->capture_default_str();
  group
      ->add_option(
          "--progress", options.progress,
          "auto: a bar on a terminal, lines elsewhere; none: print only what other options ask "
          "for, such as --formulas full")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "bar", "lines", "none"}));
}

double top_k_share(const std::string& text) {
  const std::string prefix = "topk:";
  std::size_t used = 0;
  double share = 0;
  try {
    if (text.starts_with(prefix)) share = std::stod(text.substr(prefix.size()), &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used == 0 || prefix.size() + used != text.size() || !(share > 0 && share <= 1)) {
    throw CLI::ValidationError("--compress", "'" + text +
                                                 "' is not topk:SHARE, with a SHARE above "
                                                 "0 and at most 1, as in topk:0.01");
  }
  return share;
}

std::size_t bytes_of(std::size_t mebibytes) {
  constexpr unsigned shift = 20;
  if (mebibytes <= std::numeric_limits<std::size_t>::max() >> shift) return mebibytes << shift;
  throw CLI::ValidationError("--memory-limit",
                             std::to_string(mebibytes) + " MiB are more than can be counted");
}

/// Without this, CLI11 would read -1 as the largest unsigned number.
void refuse_below_zero(CLI::App& app) {
  const auto check = [](const std::string& text) {
    return text.starts_with("-") ? text + " is below 0" : std::string();
  };
  for (CLI::App* const group : app.get_subcommands([](const CLI::App*) { return true; })) {
    for (CLI::Option* const option : group->get_options()) {
      if (option->get_type_name() == "UINT") option->check(check);
    }
  }
}

bool ends_with(const std::string& name, const std::string& ending) {
  return name.empty() || name.ends_with(ending);
}

void finish(const Raw& raw, Options& options) {
  StrategyOptions& strategy = options.strategy;
  if (!(raw.bucket_mb > 0 && raw.bucket_mb < 1e6)) {
    throw CLI::ValidationError("--bucket-mb", "must be above 0, as in --bucket-mb 25");
  }
  strategy.bucket_bytes = static_cast<std::size_t>(std::ceil(raw.bucket_mb * 1048576.0));
  strategy.precision = precision_of(raw.precision);
  strategy.wire = raw.wire.empty() ? strategy.precision : precision_of(raw.wire);
  strategy.overlap = !raw.no_overlap;
  strategy.offload = !raw.offload.empty();
  if (!raw.compress.empty()) strategy.top_k = top_k_share(raw.compress);
  options.optimizer.weight_decay =
      raw.weight_decay.value_or(options.optimizer.kind == "adamw" ? 0.1 : 0.0);
  options.rate.floor = raw.minimum_rate.value_or(options.rate.peak / 10);
  options.memory_limit = bytes_of(raw.memory_limit_mb);
  options.drop_last = !raw.pad;
  options.shuffle = !raw.no_shuffle;
  options.rate.steps = options.steps;
  options.checkpoint.resume |= options.checkpoint.older;
  if (options.steps == 0) throw CLI::ValidationError("--steps", "must be at least 1");
  if (options.checkpoint.keep == 0) {
    throw CLI::ValidationError("--checkpoint-keep", "must be at least 1");
  }
  if (!ends_with(options.log, ".csv") && !ends_with(options.log, ".json")) {
    throw CLI::ValidationError("--log", "needs a name that ends in .csv or .json");
  }
  if (!ends_with(options.plot, ".svg")) {
    throw CLI::ValidationError("--plot", "needs a name that ends in .svg");
  }
  if (options.validate && strategy.top_k > 0) {
    throw CLI::ValidationError("--validate", "there is no formula for --compress");
  }
  if (raw.formulas != "brief")
    options.formulas = raw.formulas == "full" ? Formulas::full : Formulas::none;
  if (options.validate) options.formulas = Formulas::full;
  if (options.rate.floor > options.rate.peak) {
    throw CLI::ValidationError("--minimum-rate",
                               "must not be above --learning-rate, at which the cosine begins");
  }
}

}  // namespace

CommandLine read_command_line(int argc, char** argv, bool speaks) {
  CLI::App app(purpose, "rondo-train");
  app.footer(closing);
  CommandLine line;
  Raw raw;
  add_model(app, line.options);
  add_training(app, line.options, raw);
  add_sharing(app, line.options, raw);
  add_checkpoints(app, line.options.checkpoint);
  add_reports(app, line.options, raw);
  refuse_below_zero(app);
  try {
    app.parse(argc, argv);
    finish(raw, line.options);
    const auto given = [&](const std::string& option) { return app.count(option) > 0; };
    const std::string idle = idle_option(line.options, given);
    if (!idle.empty()) throw CLI::ValidationError(idle);
  } catch (const CLI::ParseError& stop) {
    std::ostringstream silence;
    line.leave = speaks ? app.exit(stop) : app.exit(stop, silence, silence);
    if (line.leave != 0) line.leave = 2;
  }
  return line;
}

}  // namespace rondo::train
