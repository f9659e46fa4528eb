#include "tools/rondo/synthesize/text.h"

#include <algorithm>

#include "core/schedule/text.h"

namespace rondo::tool {
namespace {

/// For which hosts it is, as a condition.
std::string where(const Topology& topology) {
  const Hosts hosts(topology);
  std::string words = "H == " + std::to_string(hosts.count());
  if (hosts.count() == 1 || hosts.largest() == 1) return words;
  for (int rank = 0; rank < topology.ranks; ++rank)
    words += " and host(" + std::to_string(rank) + ") == " + std::to_string(hosts.host_of(rank));
  return words;
}

std::string section(const std::vector<Schedule>& by_root, int rank, int lane) {
  std::string words;
  for (const Schedule& schedule : by_root) {
    if (lane >= schedule.lanes) continue;
    const std::string steps = steps_text(schedule, rank, lane);
    if (steps.empty()) continue;
    words += by_root.size() == 1
                 ? steps
                 : " if root == " + std::to_string(schedule.root) + "\n" + steps + " end\n";
  }
  if (words.empty()) return words;
  return "\nrank " + std::to_string(rank) + " lane " + std::to_string(lane) + "\n" + words;
}

}  // namespace

std::string synthesized_text(const std::vector<Schedule>& by_root, const Topology& topology,
                             const TextHead& head) {
  const Schedule& first = by_root.front();
  const int lanes = std::ranges::max_element(by_root, {}, &Schedule::lanes)->lanes;
  std::string text;
  for (const std::string& comment : head.comments) text += "# " + comment + "\n";
  text += "collective " + std::string(name(first.collective)) + "\nalgorithm " + head.name +
          "\nranks " + std::to_string(first.ranks) + "\n";
  if (by_root.size() > 1) text += "root any\n";
  if (by_root.size() == 1 && first.root != 0) text += "root " + std::to_string(first.root) + "\n";
  text += "when " + where(topology) + "\n";
  if (!head.sizes.empty()) text += "sizes " + head.sizes + "\n";
  if (lanes > 1) text += "lanes " + std::to_string(lanes) + "\n";
  text += "parts " + std::to_string(first.layout.parts) + "\nphases";
  for (const std::string& phase : first.phases) text += " " + phase;
  text += "\n";
  for (int rank = 0; rank < first.ranks; ++rank)
    for (int lane = 0; lane < lanes; ++lane) text += section(by_root, rank, lane);
  return text;
}

}  // namespace rondo::tool
