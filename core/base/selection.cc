#include <algorithm>

#include "core/base/config.h"
#include "core/base/text.h"
#include "rondo/error.h"

namespace rondo {

Selection::Selection(std::string_view text, std::span<const std::string_view> known,
                     std::string_view what) {
  const std::string whole(text);
  if (text.starts_with('^')) {
    excluding_ = true;
    text.remove_prefix(1);
  }
  names_ = split(text, ',');
  const ErrorDetails remedy{.remedy = "known names: " + join(known, ", ")};
  if (excluding_ && names_.empty()) {
    throw Error(ErrorCode::configuration,
                std::string(what) + "=" + whole + ": '^' is followed by no name", remedy);
  }
  for (const auto& name : names_) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const auto near = nearest(name, known);
    throw Error(ErrorCode::configuration,
                std::string(what) + "=" + whole + ": '" + name + "' is not a known name" +
                    (near.empty() ? "" : " (did you mean '" + std::string(near) + "'?)"),
                remedy);
  }
}

bool Selection::allows(std::string_view name) const {
  if (names_.empty()) return true;
  const bool named = std::find(names_.begin(), names_.end(), name) != names_.end();
  return named != excluding_;
}

}  // namespace rondo
