// A build without libibverbs's headers: discovery finds nothing, the transport cannot be made, and
// both say why.
#include "rondo/error.h"
#include "transports/verbs/devices.h"
#include "transports/verbs/verbs.h"

namespace rondo::verbs {
namespace {

constexpr const char* why = "rondo was built without libibverbs's headers";
constexpr const char* remedy = "apt install libibverbs-dev and build rondo again";

}  // namespace

Discovery discover() { return {.obstacle = why, .remedy = remedy}; }

/// No context was ever opened.
void CloseContext::operator()(ibv_context*) const noexcept {}

Context open(const Port& port) {
  throw Error(ErrorCode::configuration, port.device + " cannot be opened: " + why,
              {.remedy = remedy});
}

std::unique_ptr<Transport> make(const TransportSettings& settings) {
  throw Error(ErrorCode::configuration, why, {.rank = settings.rank, .remedy = remedy});
}

}  // namespace rondo::verbs
