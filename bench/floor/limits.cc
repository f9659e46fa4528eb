#include "bench/floor/limits.h"

#include <poll.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "bench/common/buffer.h"
#include "bench/common/plain_socket.h"
#include "kernels/cpu/reduce.h"

namespace rondo::bench {
namespace {

/// How often to look at an empty socket before poll(): the answer is likely on its way.
constexpr int looks_before_poll = 50;

void wait_for(int out, bool sends, int in, bool receives) {
  std::array<pollfd, 2> waits{};
  nfds_t count = 0;
  if (sends) waits[count++] = {.fd = out, .events = POLLOUT, .revents = 0};
  if (receives) waits[count++] = {.fd = in, .events = POLLIN, .revents = 0};
  constexpr int second_ms = 1000;
  ::poll(waits.data(), count, second_ms);
}

/// Sends and receives at once.
void swap(int out, int in, std::vector<std::byte>& from, std::vector<std::byte>& into) {
  std::size_t to_send = from.size();
  std::size_t to_receive = into.size();
  for (int idle = 0; to_send > 0 || to_receive > 0;) {
    std::size_t sent = 0;
    std::size_t received = 0;
    if (to_send > 0) sent = move_some(out, &from[from.size() - to_send], to_send, true);
    if (to_receive > 0)
      received = move_some(in, &into[into.size() - to_receive], to_receive, false);
    to_send -= sent;
    to_receive -= received;
    idle = sent + received > 0 ? 0 : idle + 1;
    if (idle > looks_before_poll) wait_for(out, to_send > 0, in, to_receive > 0);
  }
}

}  // namespace

Trial copy_trial(std::string name, std::size_t bytes, bool streaming) {
  const auto from = std::make_shared<Buffer>(bytes);
  const auto to = std::make_shared<Buffer>(bytes);
  return repeated(std::move(name), [=] {
    if (streaming)
      rondo::copy(std::array<void*, 1>{to->data()}, from->data(), bytes, true);
    else
      std::memcpy(to->data(), from->data(), bytes);
  });
}

SocketRing::SocketRing(int members) {
  for (int member = 0; member < members; ++member) {
    const UniqueFd listener = listening_socket(loopback);
    auto& ends = connections_.emplace_back();
    ends = {connected_socket(loopback, loopback, port_of(listener)), accepted_socket(listener)};
    for (const UniqueFd& end : ends) prepare(end);
  }
}

Trial SocketRing::trial(std::string name, const Member& member, std::size_t bytes) const {
  const auto members = static_cast<std::size_t>(member.size());
  const auto rank = static_cast<std::size_t>(member.rank());
  const int out = connections_[rank][0].get();
  const int in = connections_[(rank + members - 1) % members][1].get();
  const std::size_t each = std::max<std::size_t>(1, bytes * 2 * (members - 1) / members);
  const auto from = std::make_shared<std::vector<std::byte>>(each);
  const auto into = std::make_shared<std::vector<std::byte>>(each);
  return repeated(std::move(name), [=] { swap(out, in, *from, *into); });
}

}  // namespace rondo::bench
