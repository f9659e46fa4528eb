// A page: one HTML file, made from sources and data, that needs no other file.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

#include "tools/rondo/page/data.h"

namespace rondo::tool {

/// Throws Error{invalid_argument} for schedules that do not fit on a page, or a page that would be
/// larger than most_page_bytes.
std::string page_html(const PageContent& content);

/// The page of one schedule as `rondo explain --html` writes it. The page also has as many other
/// algorithms of the collective as fit. `compare`: the algorithm beside it at the start; empty:
/// none.
PageContent explained_page(const Schedule& schedule, const std::string& compare,
                           const Topology& topology);
/// The same, where it is not known on which hosts the ranks live.
PageContent explained_page(const Schedule& schedule, const std::string& compare);

/// A schedule for another number of ranks.
using Rebuild = std::function<Schedule(const Schedule& schedule, int ranks)>;
/// By the row of the table that it names, which must exist.
Schedule rebuilt(const Schedule& schedule, int ranks);

/// Gives the page a choice of numbers of ranks, as many as fit: the schedules that are shown at the
/// start for each number, and the others for small ones. No choice, where hosts are known.
void add_worlds(PageContent& content, const Rebuild& rebuild);

/// Writes the file, or throws Error{invalid_argument} that names the file and the system's error.
void write_page(const std::string& path, std::string_view html);
/// The same, and says so, with the file's size.
void write_to_open(const std::string& path, const std::string& text);
/// The first, with the content that `write` writes.
void write_page(const std::string& path, const std::function<void(std::ostream&)>& write);

}  // namespace rondo::tool
