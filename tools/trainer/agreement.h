// An error that one rank finds becomes an error of all ranks. So no rank goes on alone, and none
// waits forever.
#pragma once

#include <cstdint>
#include <exception>
#include <utility>

#include "rondo/rondo.h"

namespace rondo::train {

/// An Error that every rank throws at the same place. No rank needs to tell the others, and one may
/// print it.
class AgreedError : public Error {
 public:
  using Error::Error;
};

/// Throws it: what is wrong, and what to do.
[[noreturn]] inline void reject_together(const std::string& what, const std::string& remedy,
                                         ErrorCode code = ErrorCode::invalid_argument) {
  throw AgreedError(code, what, {.remedy = remedy});
}

/// Collective. `failure` is this rank's error, or null. If any rank has one, every rank throws an
/// AgreedError with the message of the lowest such rank.
void agree(Communicator& world, const std::exception_ptr& failure);

/// Collective. Runs `local` on every rank and agrees on its errors. `local` must not communicate.
template <class Local>
void together(Communicator& world, Local local) {
  std::exception_ptr failure;
  try {
    local();
  } catch (...) {
    failure = std::current_exception();
  }
  agree(world, failure);
}

/// Collective: the vector or text of `root`, on every rank.
template <class Values>
void broadcast_whole(Communicator& world, Values& values, int root) {
  std::uint64_t count = values.size();
  world.broadcast(count, root);
  values.resize(count);
  world.broadcast(values.data(), values.data(), count * sizeof(values[0]), DataType::uint8, root);
}

/// Collective. Throws AgreedError unless `value` is the same on all ranks. `what` names it in the
/// error.
void require_equal(Communicator& world, std::uint64_t value, const std::string& what);

}  // namespace rondo::train
