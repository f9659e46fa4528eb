// The lessons of `rondo learn`: short texts, each with a page that plays what the text explains.
#pragma once

#include <string>
#include <vector>

namespace rondo::tool {

/// A file of the site: its name, such as "tree.html", and what is in it.
struct SiteFile {
  std::string name{};
  std::string html{};
};

/// index.html first, then a page for each lesson.
std::vector<SiteFile> learning_site();

}  // namespace rondo::tool
