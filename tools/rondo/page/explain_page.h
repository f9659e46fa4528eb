// `rondo explain --html`: the options, and the page they ask for.
#pragma once

#include <CLI/App.hpp>
#include <optional>
#include <string>

#include "core/schedule/schedule.h"
#include "core/schedule/simulate.h"

namespace rondo::tool {

struct PageArguments {
  std::string file{};
  std::string compare{};
  std::string profile{};    ///< of `rondo calibrate`; empty: the page's own alpha, beta and gamma
  std::string transport{};  ///< of the profile's; empty: its first

  bool wanted() const { return !file.empty() || !compare.empty(); }
};

/// After all other options have been added: those that say how tables look exclude --html.
void add_page_options(CLI::App& command, PageArguments& arguments);

/// `own_text`: the schedule is a user's, not one of the table's. `costs`: the page's clock, of
/// alpha, beta and gamma; by default its own. Throws Error{invalid_argument}
/// where it does not fit on a page, the algorithm to compare with is unknown, or the file cannot be
/// written.
void write_explained_page(const Schedule& schedule, bool own_text, const PageArguments& arguments,
                          const std::optional<Costs>& costs);

}  // namespace rondo::tool
