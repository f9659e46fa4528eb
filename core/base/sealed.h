// Memory that another process passed: nothing that it does later may shrink it.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <cstddef>

namespace rondo {

/// Whether it has so many bytes, and its seals keep them there. Reading pages that its owner took away
/// would be SIGBUS.
inline bool is_sealed(int descriptor, std::size_t bytes) {
  struct stat status {};
  const int seals = ::fcntl(descriptor, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && ::fstat(descriptor, &status) == 0 &&
         status.st_size >= 0 && static_cast<std::size_t>(status.st_size) >= bytes;
}

}  // namespace rondo
