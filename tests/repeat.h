// Large inputs without making each element anew, which takes long under sanitizers.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <type_traits>

namespace rondo::test {

/// Fills the rest of `values` with their first `made`, again and again. Take a number that divides
/// no chunk or slice, or one of them would look like its neighbour.
template <class T>
void repeat(std::span<T> values, std::size_t made) {
  static_assert(std::is_trivially_copyable_v<T>);
  for (std::size_t done = made; done < values.size();) {
    const std::size_t more = std::min(done, values.size() - done);
    std::memcpy(values.data() + done, values.data(), more * sizeof(T));
    done += more;
  }
}

}  // namespace rondo::test
