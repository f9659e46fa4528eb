#include "tools/trainer/concerns.h"

#include <array>
#include <string_view>

namespace rondo::train {
namespace {

bool is_gpt(const Options& options) { return options.model.kind == "gpt"; }
bool is_mlp(const Options& options) { return options.model.kind == "mlp"; }
bool is_sgd(const Options& options) { return options.optimizer.kind == "sgd"; }
bool is_ddp(const Options& options) { return options.strategy.kind == "ddp"; }
bool is_ddp_or_one_type(const Options& options) {
  return is_ddp(options) || options.strategy.wire == options.strategy.precision;
}
bool has_buckets(const Options& options) { return options.strategy.kind != "zero3"; }
bool writes(const Options& options) { return options.sample > 0; }
bool is_fp16(const Options& options) { return options.strategy.precision == Precision::fp16; }
bool is_quiet(const Options& options) { return !options.validate; }
bool accumulates(const Options& options) { return is_ddp(options) && options.accumulate > 1; }
bool is_on_cpu(const Options& options) { return options.device == "cpu"; }
bool is_on_gpu(const Options& options) { return options.device == "gpu"; }
bool times_on_cpu(const Options& options) {
  return options.formulas == Formulas::full && is_on_cpu(options);
}

struct Concern {
  std::string_view option;
  bool (*concerns)(const Options&);
  std::string_view words;
};

constexpr std::array table{
    Concern{"--data", &is_gpt, "works only with --model gpt: the mlp learns built-in points"},
    Concern{"--block", &is_gpt, "works only with --model gpt"},
    Concern{"--heads", &is_gpt, "works only with --model gpt"},
    Concern{"--sample", &is_gpt, "works only with --model gpt: only it writes text"},
    Concern{"--checkpoint-activations", &is_gpt,
            "works only with --model gpt: the mlp has no blocks"},
    Concern{"--points", &is_mlp, "works only with --model mlp"},
    Concern{"--classes", &is_mlp, "works only with --model mlp"},
    Concern{"--prompt", &writes, "works only with --sample COUNT"},
    Concern{"--temperature", &writes, "works only with --sample COUNT"},
    Concern{"--momentum", &is_sgd, "works only with --optimizer sgd"},
    Concern{"--loss-scale", &is_fp16, "works only with --precision fp16"},
    Concern{"--bucket-mb", &has_buckets, "does not work with zero3, which sends layer by layer"},
    Concern{"--wire", &is_ddp_or_one_type,
            "works only with --strategy ddp: the others send the type that they compute in"},
    Concern{"--compress", &is_ddp, "works only with --strategy ddp"},
    Concern{"--sync-every-micro-step", &accumulates,
            "works only with --strategy ddp and --accumulate 2 or more"},
    Concern{"--validate-every", &is_quiet,
            "does not work with --validate, which times nothing but the steps"},
    Concern{"--check-every", &is_quiet,
            "does not work with --validate, which times nothing but the steps"},
    Concern{"--offload", &is_on_gpu, "works only with --device gpu"},
    Concern{"--threads", &is_on_cpu, "works only with --device cpu"},
    Concern{"--profile", &times_on_cpu,
            "works only with --validate or --formulas full, and with --device cpu"},
};

}  // namespace

std::string idle_option(const Options& options,
                        const std::function<bool(const std::string&)>& given) {
  for (const Concern& row : table) {
    const std::string option(row.option);
    if (given(option) && !row.concerns(options)) return option + " " + std::string(row.words);
  }
  return "";
}

}  // namespace rondo::train
