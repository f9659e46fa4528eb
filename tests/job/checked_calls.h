// Calls on data that all ranks know, every byte of the result compared.
#pragma once

#include <stdexcept>
#include <string_view>

#include "rondo/rondo.h"
#include "tests/support/oracle.h"

namespace rondo::test {

/// "all_reduce,1000,float32,sum,0"; from the type on, parts may be left out.
Call parse_call(std::string_view text);

struct WrongElement : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Makes the call and throws WrongElement where memory is not what it should be, also in buffers
/// that the call must leave alone. send_recv: each rank sends to the next and receives from the
/// previous, in one group. `salt` tells the data of different calls apart.
void checked_call(Communicator& communicator, const Call& call, unsigned salt = 0);

/// An all_to_all_v of int32, checked likewise. Blocks have `count` elements and some more, which
/// differ for each pair of ranks.
void checked_exchange(Communicator& communicator, std::size_t count, unsigned salt = 0);

/// Makes several calls at once, waits for them in the opposite order, and checks each.
void checked_overlap(Communicator& communicator, std::size_t count);

}  // namespace rondo::test
