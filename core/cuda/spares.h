// Page-locked memory that a context keeps for the next who needs as much.
//
// Giving such memory back to the driver waits for all that is in the context's streams. Meanwhile
// no other thread can put anything into a stream of the context (seen with driver 580 on an H200).
// A stream may wait for a rank that is one of these threads: then all would wait for ever. So what
// is done with is kept, as long as the context lives. Of each kind and size, it is never more than
// was in use at once.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <typeindex>
#include <utility>

#include "core/cuda/api.h"

namespace rondo::cuda {

/// Thread-safe.
class Spares {
 public:
  /// Those of the current context. Throws CudaError.
  static std::shared_ptr<Spares> of_current();

  /// What was kept of this type and size; null: nothing.
  template <class T>
  std::shared_ptr<T> take(std::size_t bytes) {
    const std::scoped_lock lock(mutex_);
    const auto found = kept_.find({typeid(T), bytes});
    if (found == kept_.end()) return nullptr;
    return std::static_pointer_cast<T>(kept_.extract(found).mapped());
  }
  /// Without memory for that, it goes back to the driver after all.
  template <class T>
  void keep(std::size_t bytes, std::shared_ptr<T> spare) noexcept {
    try {
      const std::scoped_lock lock(mutex_);
      kept_.emplace(Key{typeid(T), bytes}, std::move(spare));
    } catch (const std::bad_alloc&) {
    }
  }

 private:
  using Key = std::pair<std::type_index, std::size_t>;
  std::mutex mutex_{};
  std::multimap<Key, std::shared_ptr<void>> kept_{};  ///< under mutex_
};

}  // namespace rondo::cuda
