// Options without effect are refused; the message names the option that they belong to.
#include "tools/trainer/concerns.h"

#include "tests/catch.h"

namespace {

using namespace rondo::train;

std::string idle(const Options& options, const std::string& name) {
  return idle_option(options, [&](const std::string& option) { return option == name; });
}

TEST_CASE("an option is idle where the model, the strategy or the type has no use for it") {
  Options gpt;
  Options mlp;
  mlp.model.kind = "mlp";
  for (const std::string name : {"--data", "--block", "--heads", "--checkpoint-activations"}) {
    CHECK(idle(gpt, name).empty());
    CHECK(idle(mlp, name).find(name + " works only with --model gpt") == 0);
  }
  for (const std::string name : {"--points", "--classes"}) {
    CHECK(idle(gpt, name) == name + " works only with --model mlp");
    CHECK(idle(mlp, name).empty());
  }
  CHECK(idle(gpt, "--momentum") == "--momentum works only with --optimizer sgd");
  CHECK(idle(gpt, "--loss-scale") == "--loss-scale works only with --precision fp16");
  CHECK(idle(gpt, "--prompt").find("--sample") != std::string::npos);
  CHECK(idle(gpt, "--sync-every-micro-step").find("--accumulate 2") != std::string::npos);
  gpt.accumulate = 2;
  CHECK(idle(gpt, "--sync-every-micro-step").empty());
  CHECK(idle(gpt, "--steps").empty());
  gpt.strategy.kind = "zero3";
  CHECK(idle(gpt, "--bucket-mb").find("layer by layer") != std::string::npos);
  CHECK(!idle(gpt, "--compress").empty());
  gpt.strategy.kind = "zero1";
  CHECK(idle(gpt, "--bucket-mb").empty());
  CHECK(idle(gpt, "--threads").empty());
  CHECK(idle(gpt, "--offload") == "--offload works only with --device gpu");
  gpt.device = "gpu";
  CHECK(idle(gpt, "--offload").empty());
  CHECK(idle(gpt, "--threads") == "--threads works only with --device cpu");
  gpt.validate = true;
  CHECK(!idle(gpt, "--check-every").empty());
}

}  // namespace
