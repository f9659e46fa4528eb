// Hardware queues that streams share.
#pragma once

#include "tests/fake_driver/fake_driver.h"

namespace rondo::test {

/// Streams that are made while it lives share so many queues of their context; 0: none do. On a real
/// GPU it does nothing.
class SharedQueues {
 public:
  explicit SharedQueues(std::size_t queues) { fake_share_queues(queues); }
  ~SharedQueues() { fake_share_queues(0); }
  SharedQueues(const SharedQueues&) = delete;
  SharedQueues& operator=(const SharedQueues&) = delete;
};

}  // namespace rondo::test
