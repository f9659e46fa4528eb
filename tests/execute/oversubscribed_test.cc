// Whether a machine is oversubscribed: all its ranks say the same.
#include "core/communicator/oversubscribed.h"

#include "tests/catch.h"

using namespace rondo;
using detail::is_oversubscribed;

TEST_CASE("a machine is oversubscribed where it has more ranks than cores") {
  const HostInfo one{.host = "a"};
  const HostInfo other{.host = "b"};
  CHECK_FALSE(is_oversubscribed({one}, {1}, 0));
  CHECK_FALSE(is_oversubscribed({one, one}, {2, 2}, 1));
  CHECK(is_oversubscribed({one, one, one}, {2, 2, 2}, 1));
  CHECK_FALSE(is_oversubscribed({one, other, one}, {2, 1, 2}, 0));
  CHECK_FALSE(is_oversubscribed({one, other, one}, {2, 1, 2}, 1));
}

TEST_CASE("ranks of a machine that count its cores differently answer alike") {
  const HostInfo one{.host = "a"};
  const HostInfo other{.host = "b"};
  const std::vector<HostInfo> hosts{one, one, other, one};
  const std::vector<int> cores{4, 2, 1, 4};
  for (const int rank : {0, 1, 3}) CHECK(is_oversubscribed(hosts, cores, rank));
  CHECK_FALSE(is_oversubscribed(hosts, cores, 2));
}
