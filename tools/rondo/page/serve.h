// A small web server for pages that are in memory: GET and HEAD, this machine only.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/rondo/page/lessons.h"

namespace rondo::tool {

/// Serves until SIGINT or SIGTERM. `port` 0: any free one. Calls `ready` with the address once
/// it listens. A connection that sends no whole request within 10 s is closed. Throws Error{system}
/// when it cannot listen.
void serve(const std::vector<SiteFile>& files, int port,
           const std::function<void(const std::string& address)>& ready);

}  // namespace rondo::tool
