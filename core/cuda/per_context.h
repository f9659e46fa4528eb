// What is loaded into a CUDA context once and stays there as long as the context does.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <typeindex>
#include <vector>

#include "core/base/undying.h"
#include "core/cuda/contexts.h"
#include "core/cuda/handles.h"

namespace rondo::cuda {

/// Of each type a context has one object at most.
class PerContext {
 public:
  /// The T of `context`. The first call makes it by `make()`, with the context current, which returns
  /// a pointer that owns it. Thread-safe: while it is made, which may wait for the device, other
  /// contexts are served. Throws what `make` throws, and the next call tries again. Throws CudaError
  /// where the driver does not know the context.
  template <class T, class Make>
  static const T& of(Context context, Make make) {
    const std::shared_ptr<Entry> entry = entry_of({context, number_of(context), typeid(T)});
    const std::scoped_lock lock(entry->mutex);
    if (entry->made == nullptr) {
      const CurrentContext current(context);
      entry->made = std::shared_ptr<const T>(make());
    }
    return *static_cast<const T*>(entry->made.get());
  }
  /// Forgets all of a context that was destroyed. Another one may get its address. Thread-safe.
  static void forget(Context context) {
    std::vector<std::shared_ptr<Entry>> gone;  // when the lock is, as their end may take time
    const std::scoped_lock lock(table().mutex);
    std::erase_if(table().entries, [&](const auto& each) {
      const bool is_its = std::get<Context>(each.first) == context;
      if (is_its) gone.push_back(each.second);
      return is_its;
    });
  }

 private:
  /// The program may destroy a context of its own and make another one at the same address, without
  /// any notice. So contexts are told apart by the driver's numbers, too.
  using Key = std::tuple<Context, unsigned long long, std::type_index>;
  /// Its mutex is never locked with the table's held.
  struct Entry {
    std::mutex mutex{};
    std::shared_ptr<const void> made{};  ///< under mutex
  };
  struct Table {
    std::mutex mutex{};
    std::map<Key, std::shared_ptr<Entry>> entries{};  ///< under mutex
  };

  static std::shared_ptr<Entry> entry_of(const Key& key) {
    const std::scoped_lock lock(table().mutex);
    std::shared_ptr<Entry>& entry = table().entries[key];
    if (entry == nullptr) entry = std::make_shared<Entry>();
    return entry;
  }
  /// Global, as contexts are; never destroyed: graphs hold kernels for as long as they like.
  static Table& table() {
    static Table& table = *undying<Table>();
    return table;
  }
};

}  // namespace rondo::cuda
