// Where ranks stand on pages and pictures that show hosts as boxes.
#pragma once

#include <vector>

#include "tools/rondo/explain/hosts.h"

namespace rondo::tool {

struct Point {
  double x = 0;
  double y = 0;
};

/// The middle of each rank, in cells: no two ranks are nearer than one cell across or one down, and
/// between the ranks of two hosts there is half a cell more. Hosts are side by side. From four on
/// they go in rows to and fro, so that neighbours are near. Within
/// a host every second column is half a row lower: lines between hosts then pass between ranks.
std::vector<Point> host_places(const std::vector<ShownHost>& hosts);

}  // namespace rondo::tool
