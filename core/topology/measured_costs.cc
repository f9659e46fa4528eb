#include "core/topology/measured_costs.h"

#include <array>
#include <charconv>

namespace rondo {

void set_costs(const MeasuredCosts& costs, Topology& topology) {
  const auto set = [](double measured, double& into) {
    if (measured > 0) into = measured;
  };
  set(costs.memory_alpha, topology.memory.alpha);
  set(costs.memory_beta, topology.memory.beta);
  set(costs.network_alpha, topology.network_alpha);
  set(costs.gamma, topology.gamma);
  for (Host& host : topology.hosts) {
    if (host.ports.empty() && costs.network_beta > 0) host.ports.push_back({.name = "port0"});
    for (Port& port : host.ports) set(costs.network_beta, port.beta);
  }
}

std::string to_text(const MeasuredCosts& costs) {
  std::string text;
  for (const auto& [name, member] : measured_cost_names) {
    if (costs.*member <= 0) continue;
    std::array<char, 32> digits;
    char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), costs.*member,
                                    std::chars_format::general, 3)
                          .ptr;
    text += (text.empty() ? "" : ",") + std::string(name) + "=" + std::string(digits.data(), end);
  }
  return text;
}

}  // namespace rondo
