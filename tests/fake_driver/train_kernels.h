// The trainer's kernels, as the fake driver finds and runs them.
#pragma once

#include <cstddef>
#include <string_view>

#include "tests/fake_driver/state.h"

namespace rondo::test {

/// The number of the kernel of this name; negative: the trainer has none.
int train_kernel(std::string_view name);
/// What a launch by so many threads does, the last thread first. Empty: the arguments name memory
/// that is not there.
Work train_work(int kernel, const void* arguments, std::size_t threads);

}  // namespace rondo::test
