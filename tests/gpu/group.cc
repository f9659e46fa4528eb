#include "tests/gpu/group.h"

#include <algorithm>

namespace rondo::gpu_test {

using device::DeviceMemory;

Group::Group(const device::ArenaShape& shape, std::uint64_t patience) : shape_(shape) {
  device::check(shape);
  std::vector<std::byte*> places;
  for (std::uint32_t rank = 0; rank < shape.ranks; ++rank) {
    arenas_.emplace_back(device::ArenaPlaces(shape).bytes());
    places.push_back(arenas_.back().data());
  }
  places_ = DeviceMemory(places);
  std::vector<device::Control> controls(shape.ranks);
  for (device::Control& control : controls) control.patience = patience;
  controls_ = DeviceMemory(controls);
}

std::string Group::failures() const {
  std::vector<device::Control> controls(shape_.ranks);
  controls_.copy_to(controls.data(), controls_.bytes());
  std::string words;
  for (std::size_t rank = 0; rank < controls.size(); ++rank) {
    const device::Failure* const failure = device::failure_of(controls[rank]);
    if (failure == nullptr) continue;
    words += "rank " + std::to_string(rank) + " lane " + std::to_string(failure->lane) +
             " stripe " + std::to_string(failure->stripe) + " op " + std::to_string(failure->op) +
             " waited for peer " + std::to_string(failure->peer) + " at step " +
             std::to_string(failure->step) + "; ";
  }
  return words;
}

Call::Call(const Group& group, const std::vector<Rank>& ranks) {
  std::vector<device::RankContext> contexts;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const Rank& from = ranks[rank];
    programs_.emplace_back(from.part.program);
    inputs_.emplace_back(from.input);
    outputs_.emplace_back(from.output_bytes);
    scratch_.emplace_back(from.part.scratch_bytes);
    if (from.in_place) outputs_.back().copy_from(from.input.data(), from.input.size());
    contexts.push_back({.program = programs_.back().data(),
                        .input = (from.in_place ? outputs_ : inputs_).back().data(),
                        .output = outputs_.back().data(),
                        .scratch = scratch_.back().data(),
                        .arenas = group.arenas(),
                        .control = group.control(rank),
                        .sizes = from.part.sizes});
    launch_.teams = std::max(launch_.teams, from.part.teams());
  }
  contexts_ = DeviceMemory(contexts);
  launch_.contexts = contexts_.as<device::RankContext>();
  launch_.ranks = static_cast<std::uint32_t>(ranks.size());
}

std::vector<std::byte> Call::output(std::size_t rank) const {
  std::vector<std::byte> bytes(outputs_[rank].bytes());
  outputs_[rank].copy_to(bytes.data(), bytes.size());
  return bytes;
}

}  // namespace rondo::gpu_test
