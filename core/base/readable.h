// Whether memory can be read, found out without a crash.
#pragma once

namespace rondo {

/// Whether this process can read the byte at `address`. Reads nothing of it. True where the system
/// does not say. Makes one system call, about 0.1 us. Thread-safe. Leaves errno as it was.
bool is_readable(const void* address) noexcept;

}  // namespace rondo
