// What stands for the transport where libibverbs's headers were missing when rondo was built.
#include "rondo/error.h"
#include "transports/verbs/verbs.h"

namespace rondo::verbs {

std::unique_ptr<Transport> make(const TransportSettings& settings) {
  throw Error(
      ErrorCode::configuration, "rondo was built without libibverbs's headers",
      {.rank = settings.rank, .remedy = "apt install libibverbs-dev and build rondo again"});
}

}  // namespace rondo::verbs
