// Which devices and ports RONDO_IB_HCA allows. Needs no libibverbs.
//
//   mlx5              ports of devices whose names begin so
//   mlx5_0:1,mlx5_1   several, the first at its port 1 only
//   =mlx5_1           exactly this name ("mlx5_1" alone means mlx5_10, too)
//   ^mlx5_3           all but these
//   ^=mlx5_3:2        all but exactly this port
//
// This is the syntax of NCCL_IB_HCA. Its newer ":port:port:plane" is refused by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rondo::verbs {

/// Value type.
class HcaSelection {
 public:
  /// Allows everything.
  HcaSelection() = default;
  /// Throws Error{configuration} that quotes the part that is wrong. Empty text allows everything.
  explicit HcaSelection(std::string_view text);

  bool allows(std::string_view device, int port) const;
  /// True when anything was said at all.
  bool restricts() const { return !entries_.empty(); }
  /// The selection as it was written.
  const std::string& text() const { return text_; }

 private:
  struct Entry {
    std::string device{};
    int port = 0;  ///< 0: every port
  };
  std::string text_;
  bool excluding_ = false;
  bool exact_ = false;
  std::vector<Entry> entries_;
};

}  // namespace rondo::verbs
