#include "tools/trainer/report/link.h"

#include <cmath>

#include "tools/rondo/calibrate/profile.h"
#include "tools/trainer/words.h"

namespace rondo::train {

Link read_link(const std::string& path, const Route& route, double bytes) {
  const tool::Profile profile = tool::read_profile(path);
  const std::string make = "`rondo calibrate --output " + path + "` ";
  if (profile.apart() != route.apart) {
    reject("--profile " + path + ": it has nothing about ranks on " +
               (route.apart ? "several hosts" : "one host"),
           make + (route.apart ? "under a launcher, one rank on each host, makes one"
                               : "without a launcher makes one in half a minute"));
  }
  const tool::LinkProfile& link = profile.link(route.transport, route.ranks);
  const double sent = 2.0 * (link.ranks - 1) / link.ranks;  // by a rank in an exchange, in bytes
  const double rate = sent / tool::seconds_a_byte(link.exchange, bytes, 0);
  if (!std::isfinite(rate))
    reject("--profile " + path + ": its samples are no times", make + "makes one");
  return {.rate = rate,
          .alpha = link.alpha.median,
          .beta = link.beta(bytes),
          // A rank waits while the others that share its core combine, too.
          .gamma = link.combined(bytes) * link.ranks / link.cores,
          .words = route.transport + " between " + std::to_string(link.ranks) +
                   (route.apart ? " hosts; " : " ranks; ") + profile.machine.cpu + ", " +
                   std::to_string(profile.machine.cores) + " cores, " + profile.date};
}

}  // namespace rondo::train
