#include "core/control/admission.h"

#include "core/control/analyzer.h"

namespace rondo::control {
namespace {

constexpr int most_ranks = 1'000'000;

}  // namespace

std::string describe(const Hello& hello) {
  return describe(hello.rank, {.host = hello.host, .world_rank = hello.rank});
}

std::optional<Refused> objection_to(const Hello& hello, int ranks, const HostInfo* holder) {
  if (hello.ranks < 1 || hello.ranks > most_ranks || hello.rank < 0 || hello.rank >= hello.ranks)
    return Refused{.peer = hello.rank,
                   .message = "a process joined as " + describe(hello) + " of a world of " +
                              std::to_string(hello.ranks) + " ranks",
                   .remedy = "number the ranks from 0 to one less than WORLD_SIZE"};
  if (ranks != 0 && hello.ranks != ranks)
    return Refused{.peer = hello.rank,
                   .message = describe(hello) + " counts " + std::to_string(hello.ranks) +
                              " ranks in the world, but those that joined count " +
                              std::to_string(ranks),
                   .remedy = "set the same WORLD_SIZE on every rank"};
  if (holder == nullptr) return std::nullopt;
  return Refused{.peer = hello.rank,
                 .message = "two processes joined as rank " + std::to_string(hello.rank) +
                            ": host " + holder->hostname + ", pid " + std::to_string(holder->pid) +
                            " and host " + hello.host.hostname + ", pid " +
                            std::to_string(hello.host.pid),
                 .remedy = "give every process a RANK of its own"};
}

}  // namespace rondo::control
