// Precision, compression, and errors, which all ranks get together.
#include "tools/trainer/session.h"

#include <cmath>
#include <functional>
#include <limits>

#include "tests/catch.h"
#include "tests/support/files.h"
#include "tests/trainer/train.h"

namespace {

using namespace rondo;
using test::small_gpt_options;
using train::Precision;

double last_loss(const test::Trained& trained) { return trained.steps.back().loss; }

TEST_CASE("16-bit computation, a 16-bit wire and compression learn nearly as well") {
  auto options = small_gpt_options();
  options.steps = options.rate.steps = 40;
  const auto plain = test::train_on(2, options);
  CHECK(last_loss(plain) < 0.8 * plain.steps.front().loss);
  for (const auto precision : {Precision::bf16, Precision::fp16}) {
    auto narrow = options;
    narrow.strategy.precision = narrow.strategy.wire = precision;
    const auto trained = test::train_on(2, narrow);
    CHECK(last_loss(trained) == Approx(last_loss(plain)).epsilon(0.05));
    CHECK(last_loss(trained) != last_loss(plain));
    CHECK(trained.steps[5].traffic.payload_bytes * 2 == plain.steps[5].traffic.payload_bytes);
    narrow.accumulate = 2;
    for (const std::string kind : {"zero1", "zero2", "zero3"}) {
      narrow.strategy.kind = kind;
      CHECK(last_loss(test::train_on(3, narrow)) == Approx(last_loss(plain)).epsilon(0.05));
    }
  }
  auto wire = options;
  wire.strategy.wire = Precision::bf16;
  CHECK(last_loss(test::train_on(2, wire)) == Approx(last_loss(plain)).epsilon(0.02));
  auto sparse = options;
  sparse.strategy.top_k = 0.1;
  const auto trained = test::train_on(2, sparse);
  CHECK(last_loss(trained) == Approx(last_loss(plain)).epsilon(0.15));
  CHECK(trained.steps[5].traffic.payload_bytes < plain.steps[5].traffic.payload_bytes / 4);
  auto eight_bits = options;
  eight_bits.strategy.quantized = true;
  const auto quantized = test::train_on(3, eight_bits);
  CHECK(last_loss(quantized) == Approx(last_loss(test::train_on(3, options))).epsilon(0.01));
}

TEST_CASE("with all gradients sent, top-k is plain averaging") {
  auto options = small_gpt_options();
  const auto plain = test::train_on(2, options);
  options.strategy.top_k = 1;
  CHECK(last_loss(test::train_on(2, options)) == Approx(last_loss(plain)).epsilon(1e-4));
}

TEST_CASE("a loss scale that overflows is halved on every rank until it fits") {
  auto options = small_gpt_options();
  options.strategy.precision = options.strategy.wire = Precision::fp16;
  options.loss_scale = 0x1p40;
  options.steps = 30;
  const auto trained = test::train_on(3, options);
  CHECK(trained.steps[0].skipped);
  CHECK(trained.steps[1].loss_scale == 0x1p39);
  CHECK_FALSE(trained.steps.back().skipped);
  CHECK(last_loss(trained) < trained.steps[0].loss);
}

/// A change of good options, and what is said then.
struct Refusal {
  std::function<void(train::Options&)> change;
  std::string words;
};

TEST_CASE("what cannot be trained is refused on every rank together, in the same words") {
  const test::TemporaryFolder folder;
  const std::string empty = folder / "empty.txt";
  test::write_file(empty, "");
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  using O = train::Options;
  for (const auto& [change, words] : std::vector<Refusal>{
           {[](O& o) { o.data = "/nowhere/text"; }, "cannot read the text /nowhere/text"},
           {[](O& o) { o.data = "/nowhere/\xff"; }, "cannot read the text /nowhere/"},
           {[](O& o) { o.data = "/"; }, "cannot read the text /"},
           {[](O& o) { o.data = "/dev/zero"; }, "cannot read the text /dev/zero"},
           {[&](O& o) { o.data = empty; }, "is empty"},
           {[](O& o) { o.block = 30'000; }, "is too short"},
           {[](O& o) { o.batch = o.accumulate = 2; },
            "is too small for 3 ranks with 2 micro-steps"},
           {[](O& o) { o.batch = 100'000; }, "samples, less than a global batch of 100000"},
           {[](O& o) { o.memory_limit = 300'000; }, "the limit is 293 KiB"},
           {[](O& o) { o.rate.peak = infinity; }, "is not a number"},
           {[](O& o) { o.strategy.kind = "magic"; }, "there is no strategy 'magic'"},
           {[](O& o) { o.strategy = {.wire = Precision::bf16, .top_k = 0.5}; },
            "--compress takes float32 gradients once a step"},
           {[](O& o) {
              o.sample = 5;
              o.prompt = "The f\xc3\xb6x";
            },
            "the text has no \"\xc3\xb6\", so the model does not know it"},
           {[](O& o) { o.profile = "/nowhere/profile.json"; }, "there is no such file to read"},
           {[](O& o) { o.log = "/nowhere/log.csv"; }, "cannot write /nowhere/log.csv"},
           {[](O& o) { o.batch = std::numeric_limits<std::size_t>::max(); },
            "count from 1, to at most"},
           {[](O& o) { o.accumulate = std::size_t{1} << 63; }, "count from 1, to at most"},
           {[](O& o) { o.model.width = std::size_t{1} << 62; }, "is too large"},
           {[](O& o) { o.clip = nan; }, "is out of range"},
           {[](O& o) { o.rate.floor = nan; }, "is out of range"},
           {[](O& o) { o.loss_scale = nan; }, "is out of range"},
           {[](O& o) { o.loss_scale = 0x1p65; }, "is out of range"}}) {
    auto options = small_gpt_options();
    change(options);
    CHECK_THAT(test::refusal(3, options), Catch::Contains(words));
  }
}

TEST_CASE("an error that one rank finds is every rank's") {
  const std::string words = test::refusal(3, [](Communicator& world) {
    train::together(world, [&] {
      if (world.rank() != 0) throw std::runtime_error("trouble " + std::to_string(world.rank()));
    });
  });
  CHECK_THAT(words, Catch::Contains("trouble 1"));
}

TEST_CASE("ranks with other options are found out before they train") {
  using O = train::Options;
  for (const auto& [change, refused] : std::vector<std::pair<void (*)(O&), bool>>{
           {[](O& o) { o.rate.peak += 1; }, true},
           {[](O& o) { o.sample = 5; }, true},
           {[](O& o) { o.validate = true; }, true},
           {[](O& o) { o.checkpoint.folder = "saved"; }, true},
           {[](O& o) { o.progress = "lines"; }, false}}) {
    const std::string words = test::refusal(2, [&, change = change](Communicator& world) {
      auto options = small_gpt_options();
      if (world.rank() == 1) change(options);
      train::Session session(options, world);
    });
    CHECK((words.find("the ranks do not have the same options") != std::string::npos) == refused);
  }
}

TEST_CASE("the check names the first rank and tensor that differ") {
  const std::string words = test::refusal(3, [](Communicator& world) {
    train::Session session(small_gpt_options(), world);
    session.step();
    session.check();
    const auto& block = session.layout().unit(1);
    const std::size_t place = block.begin + block.parameters[2].offset;
    for (const auto& shard : session.strategy().shards()) {
      const std::size_t end = shard.begin + shard.parameters.size();
      if (world.rank() != 2 || place < shard.begin || place >= end) continue;
      float& value = shard.parameters[place - shard.begin];
      value = std::nextafter(value, 1.0F);
    }
    session.strategy().shards_changed();
    session.check();
  });
  CHECK_THAT(words,
             Catch::Contains("rank 2 holds other values of block1.packing.weight than rank 0"));
}

TEST_CASE("validation and written text do not depend on the number of ranks") {
  auto options = small_gpt_options();
  options.validate_every = 10;
  options.sample = 40;
  options.temperature = 0.01;
  const auto alone = test::train_on(1, options);
  const auto three = test::train_on(3, options);
  REQUIRE(alone.steps.back().validation);
  REQUIRE(three.steps.back().validation);
  CHECK(*three.steps.back().validation == Approx(*alone.steps.back().validation).epsilon(1e-3));
  CHECK(alone.text == three.text);
  CHECK(alone.text.size() == 42);
}

}  // namespace
