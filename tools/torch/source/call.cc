#include "tools/torch/source/call.h"

#include <iterator>
#include <utility>

namespace rondo_torch {
namespace {

template <class T>
void append(std::vector<T>& to, std::vector<T>& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

void Plan::merge(Plan other) {
  append(calls, other.calls);
  append(outputs, other.outputs);
  append(kept, other.kept);
  append(last, other.last);
}

}  // namespace rondo_torch
