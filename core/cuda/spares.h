// Page-locked memory that a context keeps for the next who needs as much.
//
// Giving such memory back to the driver waits for all that is in the context's streams. Meanwhile no
// other thread can put anything into a stream of the context (seen with driver 580 on an H200). A
// stream may wait for a rank that is one of these threads: then all would wait for ever. So what is
// done with is kept. It is never more than was in use at once.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "core/cuda/per_context.h"

namespace rondo::cuda {

/// Thread-safe. T: what is kept; movable.
template <class T>
class Spares {
 public:
  /// Those of the current context. Throws CudaError.
  static std::shared_ptr<Spares> of_current() {
    Context context = nullptr;
    check(driver().ctx_get_current(&context), "cuCtxGetCurrent");
    return PerContext<std::shared_ptr<Spares>>::of(context, [] {
      return std::make_unique<std::shared_ptr<Spares>>(std::make_shared<Spares>());
    });
  }

  std::optional<T> take(std::size_t bytes) {
    const std::scoped_lock lock(mutex_);
    const auto found = kept_.find(bytes);
    if (found == kept_.end()) return std::nullopt;
    return std::move(kept_.extract(found).mapped());
  }
  void keep(std::size_t bytes, T spare) {
    const std::scoped_lock lock(mutex_);
    kept_.emplace(bytes, std::move(spare));
  }

 private:
  std::mutex mutex_{};
  std::multimap<std::size_t, T> kept_{};  ///< by bytes; under mutex_
};

}  // namespace rondo::cuda
