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
  std::string profile{};    ///< of `rondo calibrate`; empty: default_costs
  std::string transport{};  ///< one of the profile; empty: its first

  bool wanted() const { return !file.empty() || !compare.empty(); }
};

/// Call this after all other options have been added: those for tables exclude --html.
void add_page_options(CLI::App& command, PageArguments& arguments);

/// `own_text`: the schedule is a user's, not one of the table. `costs`: alpha, beta and gamma of
/// the page's clock; default: default_costs. Throws Error{invalid_argument} if the schedule does
/// not fit on a page, the algorithm to compare with is unknown, or the file cannot be written.
void write_explained_page(const Schedule& schedule, bool own_text, const PageArguments& arguments,
                          const std::optional<Costs>& costs);

}  // namespace rondo::tool
