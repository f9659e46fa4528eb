// Functions of a library that was found at run time, for tables whose members each name their own.
#pragma once

#include <dlfcn.h>

namespace rondo {

/// Looks functions up, and remembers the first that is missing. Without a library it finds none.
class Symbols {
 public:
  explicit Symbols(void* library) : library_(library) {}

  /// An address that becomes a function of whatever type is wanted; null: there is none.
  struct Symbol {
    void* address = nullptr;
    template <class Function>
    operator Function*() const {  // NOLINT(google-explicit-constructor)
      return reinterpret_cast<Function*>(address);
    }
  };
  /// One that has to be there.
  Symbol operator()(const char* name) {
    const Symbol found = look_for(name);
    if (found.address == nullptr && missing_ == nullptr) missing_ = name;
    return found;
  }
  /// The symbol's default version.
  Symbol look_for(const char* name) const {
    return {library_ == nullptr ? nullptr : ::dlsym(library_, name)};
  }
  /// Null: all that had to be there were.
  const char* missing() const { return missing_; }

 private:
  void* library_;
  const char* missing_ = nullptr;
};

}  // namespace rondo
