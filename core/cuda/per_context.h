// What is loaded into a CUDA context once and stays there as long as the context does.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "core/base/undying.h"
#include "core/cuda/contexts.h"
#include "core/cuda/handles.h"

namespace rondo::cuda {

template <class T>
class PerContext {
 public:
  /// The object of `context`. The first call makes it by `make()`, with the context current.
  /// Thread-safe: while it is made, which may wait for the device, other contexts are served.
  /// Throws what `make` throws, and the next call tries again. Throws CudaError where the driver
  /// does not know the context.
  template <class Make>
  static const T& of(Context context, Make make) {
    const std::shared_ptr<Entry> entry = instance().entry_of({context, number_of(context)});
    const std::scoped_lock lock(entry->mutex);
    if (entry->made == nullptr) {
      const CurrentContext current(context);
      entry->made = make();
    }
    return *entry->made;
  }
  /// Forgets a context that was destroyed. Another one may get its address. Thread-safe.
  static void forget(Context context) {
    PerContext& all = instance();
    const std::scoped_lock lock(all.mutex_);
    std::erase_if(all.entries_, [&](const auto& each) { return each.first.first == context; });
  }

 private:
  /// The program may destroy a context of its own and make another one at the same address, without
  /// any notice. So contexts are told apart by the driver's numbers, too.
  using Key = std::pair<Context, unsigned long long>;
  /// Its mutex is never locked with `mutex_` held.
  struct Entry {
    std::mutex mutex{};
    std::unique_ptr<const T> made{};  ///< under mutex
  };

  std::shared_ptr<Entry> entry_of(const Key& key) {
    const std::scoped_lock lock(mutex_);
    std::shared_ptr<Entry>& entry = entries_[key];
    if (entry == nullptr) entry = std::make_shared<Entry>();
    return entry;
  }
  /// Global, as contexts are; never destroyed: graphs hold kernels for as long as they like.
  static PerContext& instance() {
    static PerContext& instance = *undying<PerContext>();
    return instance;
  }

  std::mutex mutex_{};
  std::map<Key, std::shared_ptr<Entry>> entries_{};  ///< under mutex_
};

}  // namespace rondo::cuda
