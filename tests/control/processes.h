// What tests of ranks as processes share.
#pragma once

#include <functional>
#include <string>

#include "tests/ports.h"
#include "tests/support/processes.h"

namespace rondo {

using test::Child;
using test::Gate;
using test::run_ranks;
using test::start_ranks;

/// True when `part` is in `text`; shows the text when a check on it fails.
bool says(const std::string& text, const std::string& part);

/// True once `condition` holds; polls for at most `seconds`.
bool eventually(const std::function<bool()>& condition, double seconds = 30);

}  // namespace rondo
