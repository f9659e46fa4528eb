// Data-parallel training: every rank has its own samples, and all ranks share one model.
//
//   rondorun -n 4 gradient_averaging
//
// The model is a line, y = slope x + offset. In each step a rank computes the gradient of the mean
// squared error on its own samples. all_reduce averages the gradients, so that every rank takes the
// same step and all models stay equal.
#include <rondo/rondo.h>

#include <array>
#include <cstdio>
#include <random>
#include <vector>

namespace {

struct Sample {
  double x;
  double y;
};

/// Samples near y = 3x - 1, others on each rank.
std::vector<Sample> samples_of(int rank) {
  std::mt19937_64 random(static_cast<unsigned>(rank));
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<Sample> samples(1000);
  for (Sample& sample : samples) {
    sample.x = uniform(random);
    sample.y = 3 * sample.x - 1 + 0.1 * uniform(random);
  }
  return samples;
}

using Parameters = std::array<double, 2>;  // slope, offset

Parameters gradient_of(const Parameters& model, const std::vector<Sample>& samples) {
  Parameters gradient{};
  for (const Sample& sample : samples) {
    const double error = model[0] * sample.x + model[1] - sample.y;
    gradient[0] += 2 * error * sample.x / static_cast<double>(samples.size());
    gradient[1] += 2 * error / static_cast<double>(samples.size());
  }
  return gradient;
}

}  // namespace

int main() {
  try {
    auto world = rondo::Communicator::from_environment();
    const std::vector<Sample> samples = samples_of(world.rank());
    Parameters model{static_cast<double>(world.rank()), 0};
    world.broadcast(model, 0);  // all ranks start with rank 0's model
    for (int step = 0; step < 200; ++step) {
      Parameters gradient = gradient_of(model, samples);
      world.all_reduce(gradient, rondo::ReduceOperator::avg);
      for (std::size_t i = 0; i < model.size(); ++i) model[i] -= 0.3 * gradient[i];
    }

    std::vector<double> models(model.size() * static_cast<std::size_t>(world.size()));
    world.all_gather(model, models);
    bool equal = true;
    for (std::size_t i = 0; i < models.size(); ++i) equal = equal && models[i] == model[i % 2];
    if (world.rank() == 0)
      std::printf("%d ranks: y = %.2f x %+.2f, models are %s\n", world.size(), model[0], model[1],
                  equal ? "equal" : "DIFFERENT");
    world.finalize();
    return equal ? 0 : 1;
  } catch (const rondo::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
