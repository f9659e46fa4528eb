// Which options have an effect in which training.
#pragma once

#include <functional>
#include <string>

#include "tools/trainer/options.h"

namespace rondo::train {

/// Finds an option on the command line that has no effect in this training, and says why: "--block
/// works only with --model gpt". Empty if every option has an effect. `given`: whether the command
/// line has an option of this name.
std::string idle_option(const Options& options,
                        const std::function<bool(const std::string&)>& given);

}  // namespace rondo::train
