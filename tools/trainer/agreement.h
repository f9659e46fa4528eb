// Errors that one rank finds become errors of all: nobody goes on alone, nobody waits for ever.
#pragma once

#include <cstdint>
#include <exception>
#include <utility>

#include "rondo/rondo.h"

namespace rondo::train {

/// An Error that every rank throws at the same place: nobody needs to be told, one may print it.
class AgreedError : public Error {
 public:
  using Error::Error;
};

/// Collective. `failure` is what this rank has to say, or null. Where any rank has something, every
/// rank throws AgreedError with the words of the lowest such rank.
void agree(Communicator& world, const std::exception_ptr& failure);

/// Collective. Runs `local`, which must not communicate, on every rank, and agrees on its errors.
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

/// Collective. Throws AgreedError where `value` is not the same on all; `what` names it.
void require_equal(Communicator& world, std::uint64_t value, const std::string& what);

}  // namespace rondo::train
