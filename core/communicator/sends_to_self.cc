#include "core/communicator/sends_to_self.h"

#include <cstring>
#include <utility>

#include "rondo/error.h"

namespace rondo::detail {

bool SendsToSelf::join(const std::shared_ptr<Operation>& operation, int rank) {
  const Call& call = operation->prepared->call;
  for (auto other = waiting_.begin(); other != waiting_.end(); ++other) {
    Operation& waiting = **other;
    if (waiting.sends == operation->sends) continue;
    if (waiting.prepared->call.count != call.count || waiting.prepared->call.type != call.type) {
      operation->finish();
      throw Error(ErrorCode::mismatch,
                  "a send to this rank itself and the matching recv differ in count or type",
                  {.rank = rank, .peer = rank, .call = to_string(call)});
    }
    const Operation& from = operation->sends ? *operation : waiting;
    const Operation& to = operation->sends ? waiting : *operation;
    if (call.count > 0) std::memcpy(to.output, from.input, call.count * size_of(call.type));
    waiting.finish();
    operation->finish();
    waiting_.erase(other);
    return true;
  }
  waiting_.push_back(operation);
  return false;
}

void SendsToSelf::withdraw() {
  waiting_.back()->finish();
  waiting_.pop_back();
}

}  // namespace rondo::detail
