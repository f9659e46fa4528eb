// Which options concern which training.
#pragma once

#include <functional>
#include <string>

#include "tools/trainer/options.h"

namespace rondo::train {

/// Why an option that was given does nothing in this training, as "concerns --model gpt only";
/// empty where every one does something. `given`: whether the command line has an option of this
/// name.
std::string idle_option(const Options& options,
                        const std::function<bool(const std::string&)>& given);

}  // namespace rondo::train
