#include "bench/floor/by_hand.h"

#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>

#include "bench/floor/vector_data.h"
#include "kernels/cpu/reduce.h"

namespace rondo::bench {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t line_floats = 16;

/// A page between windows, so that equal offsets do not fall on the same cache sets.
std::size_t stride(std::size_t largest) { return (largest + page - 1) / page * page + page; }

}  // namespace

std::size_t ByHand::bytes_for(int members, std::size_t largest) {
  return static_cast<std::size_t>(members) * 2 * stride(largest);
}

ByHand::ByHand(Member& member, Flags& flags, SharedMemory& windows, std::size_t largest)
    : member_(member), flags_(flags), windows_(windows.data()), largest_(largest) {
  // Yama's scope 1 lets only ancestors read a process unless it says otherwise. Where there is no
  // Yama the call fails, and nothing is needed.
  ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  const int next = (member.rank() + 1) % member.size();
  for (int rank = 0; rank < member.size(); ++rank) {
    // One member at a time says its pid, the others say 0.
    const double pid = member.largest(rank == member.rank() ? ::getpid() : 0);
    if (rank == next) neighbour_ = static_cast<pid_t>(pid);
  }
}

float* ByHand::at(int window) const {
  return reinterpret_cast<float*>(windows_ + static_cast<std::size_t>(window) * stride(largest_));
}

void ByHand::all_reduce(std::size_t count, bool streaming) {
  const auto ranks = static_cast<std::size_t>(member_.size());
  const auto rank = static_cast<std::size_t>(member_.rank());
  const std::size_t share = (count / ranks + line_floats - 1) / line_floats * line_floats;
  const std::size_t begin = std::min(count, rank * share);
  const std::size_t end = rank + 1 == ranks ? count : std::min(count, begin + share);
  std::vector<const void*> operands;
  std::vector<void*> outputs;
  for (int peer = 0; peer < member_.size(); ++peer) {
    operands.push_back(input(peer) + begin);
    outputs.push_back(output(peer) + begin);
  }
  flags_.meet();  // all inputs are there, all outputs are free
  if (end > begin) reduce({.streaming = streaming}, outputs, operands, end - begin);
  flags_.meet();  // all shares are written, all inputs are read
}

void ByHand::read_peer(std::size_t bytes) {
  const int next = (member_.rank() + 1) % member_.size();
  std::size_t done = 0;
  while (done < bytes) {
    const iovec to{reinterpret_cast<std::byte*>(output(member_.rank())) + done, bytes - done};
    const iovec from{reinterpret_cast<std::byte*>(input(next)) + done, bytes - done};
    const ssize_t got = ::process_vm_readv(neighbour_, &to, 1, &from, 1, 0);
    if (got <= 0) throw std::system_error(errno, std::system_category(), "process_vm_readv");
    done += static_cast<std::size_t>(got);
  }
}

void ByHand::add(std::size_t bytes, std::vector<Probe>& probes) {
  const std::size_t count = bytes / sizeof(float);
  const auto refill = [=, this] {
    fill_vector(input(member_.rank()), count, ++salt_, member_.rank());
  };
  const auto rewrite = [=, this] {
    fill_vector(input(member_.rank()), count, salt_, member_.rank());
  };
  for (const bool streaming : {false, true}) {
    const char* name = streaming ? probe::by_hand_streaming : probe::by_hand;
    Trial trial{
        .run =
            [=, this](int calls) {
              for (int call = 0; call < calls; ++call) all_reduce(count, streaming);
            },
        .prepare = refill,
        .check = [=,
                  this] { check_sum(output(member_.rank()), count, salt_, member_.size(), name); }};
    const double traffic = 2.0 * static_cast<double>(bytes) * member_.size();
    probes.push_back({name, bytes, traffic, std::move(trial)});
  }
  for (const bool all : {false, true}) {
    const bool reads = all || member_.rank() == 0;
    const double traffic = 2.0 * static_cast<double>(bytes) * (all ? member_.size() : 1);
    Trial trial{.run =
                    [=, this](int calls) {
                      for (int call = 0; reads && call < calls; ++call) read_peer(bytes);
                    },
                .prepare = refill,
                .refresh = bytes < least_refreshed ? std::function<void()>() : rewrite};
    probes.push_back({std::string("process_vm_readv, ") + (all ? "all cores" : "one core"), bytes,
                      traffic, std::move(trial)});
  }
}

}  // namespace rondo::bench
