// A table in text.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace rondo::tool {

/// Columns are as wide as their widest cell. The first `left` ones are aligned left, the others
/// right.
class Table {
 public:
  explicit Table(std::size_t left) : left_(left) {}

  void row(std::vector<std::string> cells) {
    if (widths_.size() < cells.size()) widths_.resize(cells.size());
    for (std::size_t i = 0; i < cells.size(); ++i)
      widths_[i] = std::max(widths_[i], cells[i].size());
    rows_.push_back(std::move(cells));
  }
  std::string text() const {
    std::string all;
    for (const auto& cells : rows_) {
      std::string line = "  ";
      for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::string room(widths_[i] - cells[i].size(), ' ');
        line += (i == 0 ? "" : "  ") + (i < left_ ? cells[i] + room : room + cells[i]);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      all += line + "\n";
    }
    return all;
  }

 private:
  std::size_t left_;
  std::vector<std::size_t> widths_{};
  std::vector<std::vector<std::string>> rows_{};
};

}  // namespace rondo::tool
