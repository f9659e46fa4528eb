// `rondo explain --html`: the options, and the page they ask for.
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "core/schedule/schedule.h"

namespace rondo::tool {

struct PageArguments {
  std::string file{};
  std::string compare{};

  bool wanted() const { return !file.empty() || !compare.empty(); }
};

/// After all other options have been added: those that say how tables look exclude --html.
void add_page_options(CLI::App& command, PageArguments& arguments);

/// `own_text`: the schedule is a user's, not one of the table's. Throws Error{invalid_argument}
/// where it does not fit on a page, the algorithm to compare with is unknown, or the file cannot be
/// written.
void write_explained_page(const Schedule& schedule, bool own_text, const PageArguments& arguments);

}  // namespace rondo::tool
