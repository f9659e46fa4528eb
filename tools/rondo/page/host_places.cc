#include "tools/rondo/page/host_places.h"

#include <algorithm>

namespace rondo::tool {
namespace {

constexpr double between_hosts = 0.5;  ///< cells
constexpr double wide = 2;             ///< a place is about so many times as wide as high

int rounded_up(int count, int by) { return (count + by - 1) / by; }

/// An arrangement: so many rows of hosts, and so many columns of ranks in each host.
class Arrangement {
 public:
  Arrangement(const std::vector<ShownHost>& hosts, int rows, int columns)
      : hosts_(hosts), columns_(columns), in_row_(rounded_up(count(), rows)) {
    for (int first = 0; first < count(); first += in_row_) {
      Point row;
      for (int host = first; host < end_of_row(first); ++host) {
        row.x += size(host).x + (host > first ? between_hosts : 0);
        row.y = std::max(row.y, size(host).y);
      }
      rows_.push_back(row);
      size_ = {std::max(size_.x, row.x), size_.y + row.y + (first > 0 ? between_hosts : 0)};
    }
  }

  /// The room it needs: the less, the larger the ranks.
  double room() const { return std::max(size_.x / wide, size_.y); }

  std::vector<Point> places() const {
    std::size_t ranks = 0;
    for (const ShownHost& host : hosts_) ranks += host.ranks.size();
    std::vector<Point> places(ranks);
    double top = 0;
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      const int first = static_cast<int>(row) * in_row_;
      double left = (size_.x - rows_[row].x) / 2;
      for (int at = first; at < end_of_row(first); ++at) {
        const int host = row % 2 == 0 ? at : first + end_of_row(first) - 1 - at;  // to and fro
        put(host, {left, top}, places);
        left += size(host).x + between_hosts;
      }
      top += rows_[row].y + between_hosts;
    }
    return places;
  }

 private:
  int count() const { return static_cast<int>(hosts_.size()); }
  int end_of_row(int first) const { return std::min(first + in_row_, count()); }
  const std::vector<int>& ranks(int host) const {
    return hosts_[static_cast<std::size_t>(host)].ranks;
  }
  Point cell(int index) const {
    const int column = index % columns_;
    return {static_cast<double>(column), index / columns_ + (column % 2 == 1 ? 0.5 : 0)};
  }
  Point size(int host) const {
    Point size;
    for (int index = 0; index < static_cast<int>(ranks(host).size()); ++index)
      size = {std::max(size.x, cell(index).x + 1), std::max(size.y, cell(index).y + 1)};
    return size;
  }
  void put(int host, Point corner, std::vector<Point>& places) const {
    for (int index = 0; index < static_cast<int>(ranks(host).size()); ++index) {
      const Point at = cell(index);
      const int rank = ranks(host)[static_cast<std::size_t>(index)];
      places[static_cast<std::size_t>(rank)] = {corner.x + at.x + 0.5, corner.y + at.y + 0.5};
    }
  }

  const std::vector<ShownHost>& hosts_;
  int columns_;
  int in_row_;
  std::vector<Point> rows_{};  ///< the size of each
  Point size_{};
};

}  // namespace

std::vector<Point> host_places(const std::vector<ShownHost>& hosts) {
  const int count = static_cast<int>(hosts.size());
  int largest = 1;
  for (const ShownHost& host : hosts)
    largest = std::max(largest, static_cast<int>(host.ranks.size()));
  const int least_rows = count > 3 ? 2 : 1;
  const int most_rows = count > 3 ? count : 1;
  int best_rows = least_rows;
  int best_columns = 1;
  double least = Arrangement(hosts, best_rows, best_columns).room();
  for (int rows = least_rows; rows <= most_rows; rows += 2)
    for (int columns = 1; columns <= largest; ++columns) {
      const double room = Arrangement(hosts, rows, columns).room();
      if (room >= least) continue;
      least = room;
      best_rows = rows;
      best_columns = columns;
    }
  return Arrangement(hosts, best_rows, best_columns).places();
}

}  // namespace rondo::tool
