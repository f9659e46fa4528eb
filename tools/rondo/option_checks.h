// Checks of options that command lines share.
#pragma once

#include <CLI/App.hpp>
#include <initializer_list>
#include <string>

#include "core/schedule/simulate.h"

namespace rondo::tool {

/// Throws Error{invalid_argument} if one of these options was given an empty text: that is a
/// script's unset variable, not what a user means.
void refuse_empty(const CLI::App& command, std::initializer_list<const char*> options);

/// Each of `options` excludes each of `others`.
void exclude(CLI::App& command, std::initializer_list<const char*> options,
             std::initializer_list<const char*> others);

/// Throws Error{invalid_argument} if the folder of the file that an option names is not there: nobody
/// wants to learn that at the end.
void require_folder_of(const char* option, const std::string& path);

/// For CLI::Option::check(): a finite number, not below 0.
std::string cost_obstacle(const std::string& text);

/// Adds --alpha, --beta and --gamma; `whose` begins their descriptions. They exclude `profile`,
/// which replaces them.
void add_costs(CLI::App& command, Costs& costs, const std::string& whose, CLI::Option* profile);

}  // namespace rondo::tool
