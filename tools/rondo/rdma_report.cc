#include "tools/rondo/rdma_report.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "tools/rondo/format.h"

namespace rondo::tool {
namespace {

using verbs::Discovery;
using verbs::Gid;
using verbs::GidChoice;
using verbs::Port;
using verbs::Settings;

constexpr std::size_t columns = 80;

/// Text in lines of at most 80 columns. `first` begins the first line; the others are indented.
std::string told(const std::string& first, const std::string& text) {
  return wrapped(first, words_of(text), first.empty() ? 0 : first.size() + 1, columns);
}

std::string number(double value) { return format("%g", value); }

std::string row(const std::string& device, std::size_t width,
                const std::array<std::string, 7>& cells) {
  constexpr std::array<std::size_t, 7> widths{4, 10, 10, 6, 4, 4, 4};
  std::string line = padded(device, width);
  for (std::size_t i = 0; i < cells.size(); ++i) line += "  " + padded(cells[i], widths[i]);
  return ended_line(line);
}

/// "-" for what is zero or unknown.
std::string known(long long value, bool is_known) { return is_known ? std::to_string(value) : "-"; }

std::string gids_text(const Port& port, const GidChoice& choice, bool used) {
  std::size_t address = 0;
  for (const Gid& gid : port.gids) address = std::max(address, verbs::to_text(gid).size());
  std::string text;
  for (const Gid& gid : port.gids) {
    const bool chosen = used && choice.found && gid.index == choice.gid.index;
    text += ended_line(std::string(chosen ? "  * " : "    ") + "GID " +
                       padded(std::to_string(gid.index), 3) + "  " +
                       padded(std::string(name(gid.kind)), 7) + "  " +
                       padded(verbs::to_text(gid), address) + "  " + gid.interface);
  }
  return text;
}

std::string port_text(const Port& port, const Settings& settings, std::size_t width) {
  const std::string why = why_not(port, settings);
  const bool used = why.empty();
  std::string text =
      row(port.device, width,
          {known(port.port, port.port > 0), std::string(port.port > 0 ? name(port.state) : "-"),
           std::string(port.port > 0 ? name(port.layer) : "-"),
           port.speed > 0 ? number(port.speed) : "-", known(port.mtu, port.mtu > 0),
           known(port.numa_node, port.numa_node >= 0), used ? "yes" : "no"});
  const GidChoice choice = choose_gid(port.gids, port.layer, settings.gid_index);
  text +=
      used ? told("    used by", "GID " + std::to_string(choice.gid.index) + ": " + choice.reason)
           : told("    not used:", why);
  if (used && port.numa_node >= 0 && settings.numa_node >= 0) {
    text += "    on NUMA node " + std::to_string(port.numa_node) +
            (is_near(port, settings) ? ", as this process\n" : ", this process on another\n");
  }
  if (port.lid != 0) text += "    LID " + std::to_string(port.lid) + "\n";
  return text + gids_text(port, choice, used);
}

std::string settings_text(const Settings& settings) {
  const double seconds = std::chrono::duration<double>(retry_time(settings)).count();
  return told("", "A call gives up a silent peer after " + format("%.2g", seconds) +
                      " s or more (RONDO_IB_TIMEOUT=" + std::to_string(settings.timeout) +
                      ", RONDO_IB_RETRY_CNT=" + std::to_string(settings.retry_count) + ").");
}

std::string nothing_text(const Discovery& discovery) {
  return told("", "No InfiniBand or RoCE here: " + discovery.obstacle + ".") +
         (discovery.remedy.empty() ? "" : told("To have it:", discovery.remedy)) +
         "Without it rondo uses tcp between machines.\n";
}

nlohmann::ordered_json port_json(const Port& port, const Settings& settings) {
  const std::string why = why_not(port, settings);
  const GidChoice choice = choose_gid(port.gids, port.layer, settings.gid_index);
  const std::string guid = format("%016llx", static_cast<unsigned long long>(port.guid));
  nlohmann::ordered_json gids = nlohmann::ordered_json::array();
  for (const Gid& gid : port.gids) {
    gids.push_back({{"index", gid.index},
                    {"kind", name(gid.kind)},
                    {"address", verbs::to_text(gid)},
                    {"interface", gid.interface}});
  }
  nlohmann::ordered_json json{{"device", port.device},
                              {"guid", guid},
                              {"port", port.port},
                              {"state", name(port.state)},
                              {"link_layer", name(port.layer)},
                              {"gbit_per_s", port.speed},
                              {"mtu_bytes", port.mtu},
                              {"lid", port.lid},
                              {"numa_node", port.numa_node},
                              {"gids", std::move(gids)},
                              {"used", why.empty()}};
  json["why_not"] = why;
  if (why.empty()) json["gid_index"] = choice.gid.index;
  if (why.empty()) json["why_gid"] = choice.reason;
  return json;
}

}  // namespace

std::string rdma_text(const Discovery& discovery, const Settings& settings) {
  if (discovery.ports.empty()) return nothing_text(discovery);
  std::size_t width = 6;
  for (const Port& port : discovery.ports) width = std::max(width, port.device.size());
  std::string text =
      row("DEVICE", width, {"PORT", "STATE", "LINK", "GBIT/S", "MTU", "NUMA", "USED"});
  for (const Port& port : discovery.ports) text += port_text(port, settings, width);
  const auto used = usable_ports(discovery.ports, settings).size();
  if (used == 0) return text + "\nrondo uses none of them. Between machines it uses tcp.\n";
  text += "\n" + told("", "rondo uses " + std::to_string(used) + " of " +
                              std::to_string(discovery.ports.size()) +
                              " ports, at the addresses marked *. RONDO_IB_HCA chooses ports, "
                              "RONDO_IB_GID_INDEX addresses. The fastest ports come first; "
                              "among equals, those " +
                              (settings.numa_node < 0
                                   ? std::string("near the process, once it is bound to the "
                                                 "processors of one NUMA node.")
                                   : "near this process, on NUMA node " +
                                         std::to_string(settings.numa_node) + "."));
  return text + settings_text(settings);
}

nlohmann::ordered_json rdma_json(const Discovery& discovery, const Settings& settings) {
  nlohmann::ordered_json ports = nlohmann::ordered_json::array();
  for (const Port& port : discovery.ports) ports.push_back(port_json(port, settings));
  return {{"obstacle", discovery.obstacle},
          {"remedy", discovery.remedy},
          {"ports", std::move(ports)},
          {"settings",
           {{"hca", settings.hcas.text()},
            {"disabled", settings.disabled},
            {"gid_index", settings.gid_index},
            {"timeout", settings.timeout},
            {"retry_count", settings.retry_count},
            {"service_level", settings.service_level},
            {"traffic_class", settings.traffic_class},
            {"pkey_index", settings.pkey_index},
            {"queue_pairs", settings.queue_pairs},
            {"numa_node", settings.numa_node},
            {"retry_us", retry_time(settings).count()}}}};
}

}  // namespace rondo::tool
