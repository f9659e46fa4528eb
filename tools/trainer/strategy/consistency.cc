#include "tools/trainer/strategy/consistency.h"

#include <cstring>

#include "tools/trainer/agreement.h"
#include "tools/trainer/data/random.h"

namespace rondo::train {

std::uint64_t fingerprint(std::span<const std::byte> bytes) {
  std::uint64_t print = bytes.size();
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min(sizeof word, bytes.size() - at));
    print = mix(print, word);
  }
  return print;
}

void check_replicas(Communicator& world, const Layout& layout, Strategy& strategy,
                    const Machine& machine) {
  std::vector<std::byte> room;
  std::vector<std::uint64_t> own;
  std::vector<const Parameter*> parameters;
  for (std::size_t u = 0; u < layout.units().size(); ++u) {
    const auto bytes = machine.shown(strategy.replica(u), room);
    if (bytes.empty()) continue;
    const std::size_t element = bytes.size() / layout.unit(u).size;
    for (const Parameter& parameter : layout.unit(u).parameters) {
      own.push_back(
          fingerprint(bytes.subspan(parameter.offset * element, parameter.size() * element)));
      parameters.push_back(&parameter);
    }
  }
  if (own.empty()) return;
  std::vector<std::uint64_t> all(own.size() * static_cast<std::size_t>(world.size()));
  world.all_gather(own.data(), all.data(), own.size(), DataType::uint64);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t tensor = i / world.size();
    const std::size_t rank = i % world.size();
    if (all[rank * own.size() + tensor] == all[tensor]) continue;
    throw AgreedError(
        ErrorCode::internal,
        "rank " + std::to_string(rank) + " holds other values of " + parameters[tensor]->name +
            " than rank 0",
        {.remedy = "report it: ranks that see the same gradients must hold the same parameters"});
  }
}

}  // namespace rondo::train
