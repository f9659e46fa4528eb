// The trainer's kernel, as the fake driver finds and runs it.
#pragma once

#include <cstddef>
#include <string_view>

#include "tests/fake_driver/state.h"

namespace rondo::test {

/// 0 for the name of the trainer's kernel, otherwise negative.
int train_kernel(std::string_view name);
/// What a launch by so many threads does, the last thread first. Empty: the arguments name memory
/// that is not there.
Work train_work(int kernel, const void* arguments, std::size_t threads);

}  // namespace rondo::test
