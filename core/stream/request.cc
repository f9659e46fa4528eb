#include "core/stream/request.h"

#include <string>

namespace rondo::stream {

void check_context(const Request& request, cuda::Context context, int rank) {
  if (cuda::context_of(request.stream) == context) return;
  throw Error(ErrorCode::invalid_usage,
              "this stream is of another CUDA context than the communicator",
              {.rank = rank,
               .call = to_string(request.call),
               .remedy = "use a communicator for one device, and make that device current"});
}

OwnMessages::OwnMessages(const std::vector<Request>& requests, int rank) {
  for (const Request& request : requests) {
    if (is_message(request) && request.peer == rank)
      (request.sends ? sends : receives).push_back(&request);
  }
}

void OwnMessages::check_sides(int rank) const {
  if (sends.size() == receives.size()) return;
  throw Error(ErrorCode::invalid_usage,
              "a send or recv of this rank with itself waits for ever: its other side is missing",
              {.rank = rank, .peer = rank, .remedy = "put both into one group"});
}

}  // namespace rondo::stream
