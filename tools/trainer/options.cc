#include "tools/trainer/options.h"

#include <nlohmann/json.hpp>

namespace rondo::train {
namespace {

using Json = nlohmann::ordered_json;

/// A file name that is not UTF-8 is no error; its characters are replaced.
std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string settings_json(const Options& options) {
  const ModelOptions& model = options.model;
  const OptimizerOptions& optimizer = options.optimizer;
  const StrategyOptions& strategy = options.strategy;
  const Json json{
      {"model", model.kind},
      {"layers", model.layers},
      {"heads", model.heads},
      {"width", model.width},
      {"block", options.block},
      {"checkpoint_activations", model.checkpoint_activations},
      {"data", options.data.empty() ? "built-in" : options.data},
      {"points", options.points},
      {"classes", options.classes},
      {"batch", options.batch},
      {"accumulate", options.accumulate},
      {"steps", options.steps},
      {"seed", options.seed},
      {"shuffle", options.shuffle},
      {"drop_last", options.drop_last},
      {"optimizer", optimizer.kind},
      {"momentum", optimizer.momentum},
      {"betas", {optimizer.beta1, optimizer.beta2}},
      {"weight_decay", optimizer.weight_decay},
      {"learning_rate", options.rate.peak},
      {"minimum_rate", options.rate.floor},
      {"warm_up", options.rate.warm_up},
      {"clip", options.clip},
      {"strategy", strategy.kind},
      {"bucket_bytes", strategy.bucket_bytes},
      {"precision", info(strategy.precision).name},
      {"wire", info(strategy.wire).name},
      {"sync_every_micro_step", strategy.sync_every_micro_step},
      {"overlap", strategy.overlap},
      {"top_k", strategy.top_k},
      {"device", options.device},
      {"offload", strategy.offload ? "optimizer" : ""},
      {"loss_scale", options.loss_scale},
      {"validate_every", options.validate_every},
      {"check_every", options.check_every},
  };
  return text_of(json);
}

std::string common_settings(const Options& options) {
  const CheckpointOptions& checkpoint = options.checkpoint;
  return settings_json(options) + text_of({{"checkpoint", checkpoint.folder},
                                           {"checkpoint_every", checkpoint.every},
                                           {"checkpoint_format", checkpoint.format},
                                           {"resume", checkpoint.resume},
                                           {"resume_older", checkpoint.older},
                                           {"validate", options.validate},
                                           {"formulas", options.formulas},
                                           {"memory_limit", options.memory_limit},
                                           {"sample", options.sample},
                                           {"prompt", options.prompt}});
}

}  // namespace rondo::train
