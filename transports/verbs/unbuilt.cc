// The transport in a build without libibverbs's headers: it cannot be made and says why.
#include "rondo/error.h"
#include "transports/verbs/verbs.h"

namespace rondo::verbs {

std::unique_ptr<Transport> make(const TransportSettings& settings) {
  throw Error(
      ErrorCode::configuration, "rondo was built without libibverbs's headers",
      {.rank = settings.rank, .remedy = "apt install libibverbs-dev and build rondo again"});
}

}  // namespace rondo::verbs
