// Whole models: gradients agree with finite differences in double, and options that must not change
// them do not.
#include "tools/trainer/model/model.h"

#include <cmath>
#include <vector>

#include "rondo/error.h"
#include "tests/catch.h"
#include "tools/trainer/data/random.h"

namespace {

using namespace rondo::train;

/// Two plain arrays, and a check that units are opened and closed as Store says.
template <class Real>
class PlainStore final : public Store<Real> {
 public:
  explicit PlainStore(const Layout& layout)
      : layout_(layout), values_(layout.size()), gradients_(layout.size()) {
    for (const Unit& unit : layout.units()) {
      std::vector<float> start(unit.size);
      start_values(unit, 3, start);
      std::copy(start.begin(), start.end(),
                values_.begin() + static_cast<std::ptrdiff_t>(unit.begin));
    }
  }

  void before_forward(std::size_t unit) override { forward_.push_back(unit); }
  void after_forward(std::size_t unit) override { close(forward_, unit); }
  void before_backward(std::size_t unit) override {
    backward_.push_back(unit);
    order.push_back(unit);
  }
  void after_backward(std::size_t unit) override { close(backward_, unit); }
  std::span<const Real> parameters(std::size_t unit) override {
    require_open(unit);
    return cut(values_, unit);
  }
  std::span<Real> gradients(std::size_t unit) override {
    require_open(unit);
    return cut(gradients_, unit);
  }

  std::vector<Real>& values() { return values_; }
  std::vector<Real>& all_gradients() { return gradients_; }
  bool all_closed() const { return forward_.empty() && backward_.empty(); }
  std::vector<std::size_t> order{};

 private:
  std::span<Real> cut(std::vector<Real>& all, std::size_t unit) {
    return std::span<Real>(all).subspan(layout_.unit(unit).begin, layout_.unit(unit).size);
  }
  void close(std::vector<std::size_t>& open, std::size_t unit) {
    REQUIRE(!open.empty());
    REQUIRE(open.back() == unit);
    open.pop_back();
  }
  void require_open(std::size_t unit) const {
    const auto in = [&](const std::vector<std::size_t>& open) {
      return std::find(open.begin(), open.end(), unit) != open.end();
    };
    REQUIRE((in(forward_) || in(backward_)));
  }

  const Layout& layout_;
  std::vector<Real> values_, gradients_;
  std::vector<std::size_t> forward_{}, backward_{};
};

ModelOptions small_gpt() {
  return {.kind = "gpt", .outputs = 7, .inputs = 5, .layers = 2, .heads = 2, .width = 8};
}
ModelOptions small_mlp() {
  return {.kind = "mlp", .outputs = 3, .inputs = 2, .layers = 2, .width = 6};
}

Batch small_batch(const ModelOptions& options) {
  Random random(11);
  Batch batch{.rows = 3, .columns = options.inputs};
  const bool text = options.kind == "gpt";
  for (std::size_t i = 0; i < batch.rows * batch.columns; ++i) {
    if (text) batch.tokens.push_back(static_cast<std::int32_t>(random.below(options.outputs)));
    if (!text) batch.features.push_back(static_cast<float>(random.normal()));
  }
  const std::size_t targets = text ? batch.tokens.size() : batch.rows;
  for (std::size_t i = 0; i < targets; ++i) {
    batch.targets.push_back(static_cast<std::int32_t>(random.below(options.outputs)));
  }
  return batch;
}

// Larger values than models start from, so that no gradient is lost in rounding.
void spread(std::vector<double>& values) {
  Random random(5);
  for (double& value : values) value += 0.3 * random.normal();
}

void check_gradients(const ModelOptions& options) {
  Ledger ledger;
  const auto model = make_model<double>(options, ledger);
  const auto batch = small_batch(options);
  PlainStore<double> store(model->layout());
  spread(store.values());
  const double scale = 0.2;
  model->forward(batch, store);
  model->backward(batch, store, scale);
  CHECK(store.all_closed());
  double worst = 0;
  double largest = 0;
  constexpr double step = 1e-5;
  for (std::size_t i = 0; i < store.values().size(); ++i) {
    const double kept = store.values()[i];
    store.values()[i] = kept + step;
    const double above = model->forward(batch, store);
    store.values()[i] = kept - step;
    const double below = model->forward(batch, store);
    store.values()[i] = kept;
    const double difference = scale * (above - below) / (2 * step);
    worst = std::max(worst, std::fabs(difference - store.all_gradients()[i]));
    largest = std::max(largest, std::fabs(difference));
  }
  CHECK(largest > 0.01);
  CHECK(worst < 1e-7);
}

TEST_CASE("the GPT's gradient is the derivative of its loss") { check_gradients(small_gpt()); }

TEST_CASE("activations that are made again give the same gradient") {
  auto options = small_gpt();
  options.checkpoint_activations = true;
  check_gradients(options);
}

TEST_CASE("the MLP's gradient is the derivative of its loss") { check_gradients(small_mlp()); }

TEST_CASE("checkpointing changes no bit of a float32 gradient, and holds less") {
  auto options = small_gpt();
  options.layers = 4;
  const auto batch = small_batch(options);
  std::vector<std::vector<float>> gradients;
  std::vector<std::size_t> held;
  for (const bool checkpoint : {false, true}) {
    options.checkpoint_activations = checkpoint;
    Ledger ledger;
    const auto model = make_model<float>(options, ledger);
    PlainStore<float> store(model->layout());
    model->forward(batch, store);
    model->backward(batch, store, 1);
    gradients.push_back(store.all_gradients());
    held.push_back(ledger.peak(Use::activations));
  }
  CHECK(gradients[0] == gradients[1]);
  CHECK(held[1] * 2 < held[0]);
}

TEST_CASE("units open from the root inwards and from the last block to the first") {
  Ledger ledger;
  const auto model = make_model<float>(small_gpt(), ledger);
  PlainStore<float> store(model->layout());
  const auto batch = small_batch(small_gpt());
  model->forward(batch, store);
  model->backward(batch, store, 1);
  CHECK(store.order == std::vector<std::size_t>{0, 2, 1});
}

TEST_CASE("rounded computation comes close to float32's") {
  const auto batch = small_batch(small_gpt());
  std::vector<double> losses;
  for (const auto precision : {Precision::float32, Precision::bf16, Precision::fp16}) {
    auto options = small_gpt();
    options.precision = precision;
    Ledger ledger;
    const auto model = make_model<float>(options, ledger);
    PlainStore<float> store(model->layout());
    losses.push_back(model->forward(batch, store));
  }
  CHECK(losses[1] == Approx(losses[0]).epsilon(0.01));
  CHECK(losses[2] == Approx(losses[0]).epsilon(0.002));
  CHECK(losses[1] != losses[0]);
  CHECK(losses[2] != losses[1]);
}

TEST_CASE("a batch of another shape is served too") {
  Ledger ledger;
  const auto model = make_model<float>(small_gpt(), ledger);
  PlainStore<float> store(model->layout());
  const auto batch = small_batch(small_gpt());
  const double whole = model->forward(batch, store);
  double parts = 0;
  for (std::size_t row = 0; row < batch.rows; ++row) {
    Batch one{.rows = 1, .columns = batch.columns};
    const auto begin = static_cast<std::ptrdiff_t>(row * batch.columns);
    const auto end = begin + static_cast<std::ptrdiff_t>(batch.columns);
    one.tokens.assign(batch.tokens.begin() + begin, batch.tokens.begin() + end);
    one.targets.assign(batch.targets.begin() + begin, batch.targets.begin() + end);
    parts += model->forward(one, store);
  }
  CHECK(parts == Approx(whole).epsilon(1e-6));
}

TEST_CASE("impossible models are refused in words") {
  Ledger ledger;
  auto options = small_gpt();
  options.heads = 3;
  CHECK_THROWS_AS(make_model<float>(options, ledger), rondo::Error);
  options = small_mlp();
  options.checkpoint_activations = true;
  CHECK_THROWS_AS(make_model<float>(options, ledger), rondo::Error);
  options = small_mlp();
  options.kind = "cnn";
  CHECK_THROWS_AS(make_model<float>(options, ledger), rondo::Error);
  options = small_gpt();
  options.outputs = 0;
  CHECK_THROWS_AS(make_model<float>(options, ledger), rondo::Error);
}

}  // namespace
