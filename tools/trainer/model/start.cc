// Start values: each is a function of the seed and its place in the flat model, and nothing else.

#include "tools/trainer/data/random.h"
#include "tools/trainer/model/model.h"

namespace rondo::train {

void start_values(const Unit& unit, std::uint64_t seed, std::span<float> values) {
  for (const Parameter& parameter : unit.parameters) {
    const auto run = values.subspan(parameter.offset, parameter.size());
    for (std::size_t i = 0; i < run.size(); ++i) {
      if (parameter.start == Start::normal) {
        Random random(mix(seed, unit.begin + parameter.offset + i));
        run[i] = static_cast<float>(parameter.deviation * random.normal());
      } else {
        run[i] = parameter.start == Start::ones ? 1.0F : 0.0F;
      }
    }
  }
}

}  // namespace rondo::train
