// The picture of a topology, from top to bottom: the core, switches, hosts with ports and ranks.
#include <algorithm>
#include <string>
#include <vector>

#include "tools/plot/svg.h"
#include "tools/rondo/explain/hosts.h"
#include "tools/rondo/topology/file.h"
#include "tools/rondo/topology/text.h"

namespace rondo::tool {
namespace {

using plot::Point;

constexpr int most_hosts = 12;  ///< that are drawn
constexpr int most_ranks_of_host = 32;
constexpr int ranks_in_row = 4;
constexpr double cell = 26;
constexpr double gap = 14;
constexpr double host_width = ranks_in_row * cell + 2 * gap;
constexpr double core_top = 40;
constexpr double switch_top = 100;
constexpr double switch_height = 28;
constexpr double port_top = 180;
constexpr double host_top = 200;
constexpr const char* ink = "#5a6472";
constexpr const char* blue = "#4477aa";
constexpr const char* green = "#228833";
constexpr const char* shades[] = {"#e9ebee", "#cfdfee"};  ///< of sockets, in turn
constexpr const char* dark = "#1c2430";

class Picture {
 public:
  explicit Picture(const Topology& topology)
      : topology_(topology), hosts_(topology), shown_(std::min(hosts_.count(), most_hosts)) {}

  std::string svg() {
    if (hosts_.count() > 1) switches();
    for (int host = 0; host < shown_; ++host) this->host(host);
    const double width = std::max(gap + shown_ * (host_width + gap), 420.0);
    if (shown_ < hosts_.count())
      svg_.text({gap, bottom_ + 24},
                "and " + std::to_string(hosts_.count() - shown_) + " hosts more");
    return svg_.document(
        width, bottom_ + 40,
        std::to_string(topology_.ranks) + " ranks on " + std::to_string(hosts_.count()) + " hosts",
        "#f6f5f1", dark);
  }

 private:
  double left(int host) const { return gap + host * (host_width + gap); }
  const std::vector<Port>& ports(int host) const {
    static const std::vector<Port> unknown{Port{}};
    const Host* const known = described(topology_, hosts_, host);
    return known != nullptr && !known->ports.empty() ? known->ports : unknown;
  }
  Point port_place(int host, std::size_t port) const {
    const double step = host_width / static_cast<double>(ports(host).size() + 1);
    return {left(host) + step * static_cast<double>(port + 1), port_top};
  }

  /// The first switch of a host's port, and how many there are.
  int switch_of(int host, std::size_t port) const {
    switch (topology_.fabric.kind) {
      case FabricKind::rail_optimised:
        return static_cast<int>(port);
      case FabricKind::fat_tree:
      case FabricKind::dragonfly:
        return host / topology_.fabric.group;
      default:
        return 0;
    }
  }

  void switches() {
    const FabricKind kind = topology_.fabric.kind;
    if (kind == FabricKind::torus) return torus();
    if (kind == FabricKind::cables) return cables();
    int last = 0;
    for (int host = 0; host < shown_; ++host)
      for (std::size_t port = 0; port < ports(host).size(); ++port)
        last = std::max(last, switch_of(host, port));
    const double all = shown_ * (host_width + gap) - gap;
    const double width = (all - last * gap) / (last + 1);
    const auto middle = [&](int number) { return gap + number * (width + gap) + width / 2; };
    for (int host = 0; host < shown_; ++host)
      for (std::size_t port = 0; port < ports(host).size(); ++port)
        svg_.line({middle(switch_of(host, port)), switch_top + switch_height},
                  port_place(host, port), ink);
    for (int one = 0; one <= last; ++one) {
      if (kind == FabricKind::dragonfly && one < last)
        svg_.line({middle(one), switch_top + switch_height / 2},
                  {middle(one + 1), switch_top + switch_height / 2}, blue);
      if (kind == FabricKind::fat_tree || kind == FabricKind::rail_optimised)
        svg_.line({gap + all / 2, core_top + switch_height}, {middle(one), switch_top}, blue);
    }
    if (kind == FabricKind::fat_tree || kind == FabricKind::rail_optimised)
      box(gap + all / 2 - 85, core_top, 170,
          "core, " + speed_text(topology_.fabric.beta) + " each");
    for (int one = 0; one <= last; ++one)
      box(middle(one) - width / 2, switch_top, width,
          (kind == FabricKind::rail_optimised ? "rail " : "switch ") + std::to_string(one));
  }

  void torus() {
    std::string extents;
    for (const int extent : topology_.fabric.extents)
      extents += (extents.empty() ? "" : " x ") + std::to_string(extent);
    svg_.text({gap, switch_top}, "torus of " + extents + " hosts, " +
                                     speed_text(topology_.fabric.beta) + " between neighbours");
  }

  /// Each from above one host, at a height of its own, to above the other.
  void cables() {
    double height = port_top - 14;
    double beside = 0;
    for (const Cable& cable : topology_.fabric.cables) {
      if (cable.one >= shown_ || cable.other >= shown_) continue;
      const Point one{left(cable.one) + gap + beside, height};
      const Point other{left(cable.other) + gap + beside, height};
      svg_.line({one.x, port_top}, one, blue);
      svg_.line(one, other, blue);
      svg_.line(other, {other.x, port_top}, blue);
      svg_.text({(one.x + other.x) / 2, height - 3}, speed_text(cable.beta), "middle");
      height = height < core_top + 14 ? port_top - 14 : height - 14;
      beside = beside > host_width - 3 * gap ? 0 : beside + 7;
    }
  }

  void box(double x, double y, double width, const std::string& words) {
    svg_.rectangle({x, y}, width, switch_height, "#ffffff", blue);
    svg_.text({x + width / 2, y + 18}, words, "middle");
  }

  void host(int host) {
    const std::vector<int>& ranks = hosts_.ranks(host);
    const int drawn = std::min(static_cast<int>(ranks.size()), most_ranks_of_host);
    const int rows = (drawn + ranks_in_row - 1) / ranks_in_row;
    const double height = 34 + rows * cell + gap + (drawn < hosts_.size(host) ? 20 : 0);
    svg_.rectangle({left(host), host_top}, host_width, height, "#ffffff", ink);
    const std::size_t sockets = hosts_.sockets(host).size();
    svg_.text({left(host) + gap, host_top + 22},
              "host " + std::to_string(host) +
                  (sockets > 1 ? ", " + std::to_string(sockets) + " sockets" : ""),
              "start", "bold");
    for (std::size_t port = 0; port < ports(host).size(); ++port) {
      const Point at = port_place(host, port);
      svg_.line(at, {at.x, host_top}, ink);
      svg_.dot(at, 6, ports(host)[port].rdma ? green : blue);
      if (hosts_.count() > 1 && ports(host).size() == 1)
        svg_.text({at.x + 10, at.y + 4}, ports(host)[port].name);
    }
    for (int index = 0; index < drawn; ++index) {
      const Point at{left(host) + gap + index % ranks_in_row * cell,
                     host_top + 34 + static_cast<double>(index / ranks_in_row) * cell};
      const int rank = ranks[static_cast<std::size_t>(index)];
      svg_.rectangle(at, cell - 4, cell - 4, shades[hosts_.socket_of(rank) % 2]);
      svg_.text({at.x + (cell - 4) / 2, at.y + 15}, std::to_string(rank), "middle");
    }
    if (drawn < hosts_.size(host))
      svg_.text({left(host) + gap, host_top + height - 12},
                "and " + std::to_string(hosts_.size(host) - drawn) + " ranks more");
    bottom_ = std::max(bottom_, host_top + height);
  }

  const Topology& topology_;
  Hosts hosts_;
  int shown_;
  double bottom_ = host_top;
  plot::Svg svg_{};
};

}  // namespace

std::string topology_svg(const Topology& topology) { return Picture(topology).svg(); }

}  // namespace rondo::tool
