// A model's parameters: a list of units, each a flat run of named parameters. The units in a row
// are the flat model, in which any shard is just a range.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace rondo::train {

enum class Start : unsigned char { zeros, ones, normal };

struct Parameter {
  std::string name;  ///< "block2.attention.weight"
  std::vector<std::size_t> shape;
  Start start = Start::normal;
  double deviation = 0;    ///< of Start::normal
  std::size_t offset = 0;  ///< in the unit, in elements

  std::size_t size() const {
    return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
  }
  /// Weight decay is for matrices, not for biases and norms.
  bool decays() const { return shape.size() > 1; }
};

/// Parameters that are gathered, computed and freed together: a layer or a block.
struct Unit {
  std::string name;
  std::vector<Parameter> parameters{};
  std::size_t begin = 0;  ///< in the flat model, in elements
  std::size_t size = 0;

  /// Points each member, in the order of the parameters, to its part of the unit's storage.
  template <class T>
  void cut(std::span<T> flat, std::initializer_list<std::span<T>*> members) const {
    std::size_t index = 0;
    for (std::span<T>* const member : members) {
      *member = flat.subspan(parameters[index].offset, parameters[index].size());
      ++index;
    }
  }
  void add(Parameter parameter) {
    parameter.offset = size;
    size += parameter.size();
    parameters.push_back(std::move(parameter));
  }
};

/// The units in order; equal on every rank.
class Layout {
 public:
  Layout() = default;
  explicit Layout(std::vector<Unit> units) : units_(std::move(units)) {
    for (Unit& unit : units_) {
      unit.begin = size_;
      size_ += unit.size;
    }
  }
  const std::vector<Unit>& units() const { return units_; }
  const Unit& unit(std::size_t index) const { return units_[index]; }
  std::vector<std::size_t> unit_sizes() const {
    std::vector<std::size_t> sizes;
    for (const Unit& unit : units_) sizes.push_back(unit.size);
    return sizes;
  }
  /// Parameters of the whole model, in elements.
  std::size_t size() const { return size_; }

 private:
  std::vector<Unit> units_{};
  std::size_t size_ = 0;
};

}  // namespace rondo::train
