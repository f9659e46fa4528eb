// A page: one HTML file without links to anything else, from sources and data.
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

/// The page of one schedule as `rondo explain --html` writes it. Where it came from the table, all
/// algorithms of its collective can be chosen in the page, as long as there is room. `compare`: the
/// algorithm beside it at the start; empty: none.
PageContent explained_page(const Schedule& schedule, const std::string& compare);

/// "a < b" as "a &lt; b".
std::string html_text(std::string_view text);

/// Writes all of it or throws Error{invalid_argument} that names the file and what the system said.
void write_page(const std::string& path, std::string_view html);
/// The same of what `write` puts into it.
void write_page(const std::string& path, const std::function<void(std::ostream&)>& write);

}  // namespace rondo::tool
