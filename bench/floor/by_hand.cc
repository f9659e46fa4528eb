// The shortest all-reduce of one machine: every rank adds its share of all inputs into all outputs.
//
// It uses nothing of the library but its reduction kernels. It shows the best that rondo's direct
// path could reach. Copies from a peer's memory by the kernel are measured here, too.
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "bench/floor/all_reduce.h"
#include "bench/floor/sources.h"
#include "kernels/cpu/reduce.h"

namespace rondo::bench {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t line_floats = 16;

/// A page between windows, so that equal offsets do not fall on the same cache sets.
std::size_t stride(std::size_t largest) { return (largest + page - 1) / page * page + page; }

/// Inputs and outputs of all members in memory that all map.
class ByHand {
 public:
  ByHand(Member& member, std::shared_ptr<Flags> flags, SharedMemory& windows, std::size_t largest)
      : member_(member),
        flags_(std::move(flags)),
        windows_(windows.data()),
        stride_(stride(largest)) {
    // Yama's scope 1 lets only ancestors read a process unless it says otherwise. Where there is no
    // Yama the call fails, and nothing is needed.
    ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    for (int rank = 0; rank < member.size(); ++rank) {
      // One member at a time says its pid, the others say 0.
      const double pid = member.largest(rank == member.rank() ? ::getpid() : 0);
      if (rank == next()) neighbour_ = static_cast<pid_t>(pid);
    }
  }

  Vectors vectors(std::size_t bytes) const {
    return {input(member_.rank()), output(member_.rank()), bytes};
  }

  void all_reduce(std::size_t count, bool streaming) {
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
    flags_->meet();  // all inputs are there, all outputs are free
    if (end > begin) reduce({.streaming = streaming}, outputs, operands, end - begin);
    flags_->meet();  // all shares are written, all inputs are read
  }

  void read_peer(std::size_t bytes) const {
    for (std::size_t done = 0; done < bytes;) {
      auto* const into = reinterpret_cast<std::byte*>(output(member_.rank()));
      auto* const its = reinterpret_cast<std::byte*>(input(next()));
      const iovec to{into + done, bytes - done};
      const iovec from{its + done, bytes - done};
      const ssize_t got = ::process_vm_readv(neighbour_, &to, 1, &from, 1, 0);
      if (got <= 0) throw std::system_error(errno, std::system_category(), "process_vm_readv");
      done += static_cast<std::size_t>(got);
    }
  }

 private:
  int next() const { return (member_.rank() + 1) % member_.size(); }
  float* input(int rank) const { return at(rank * 2); }
  float* output(int rank) const { return at(rank * 2 + 1); }
  float* at(int window) const {
    return reinterpret_cast<float*>(windows_ + static_cast<std::size_t>(window) * stride_);
  }

  Member& member_;
  std::shared_ptr<Flags> flags_;
  std::byte* windows_;
  std::size_t stride_;
  pid_t neighbour_ = 0;
};

}  // namespace

std::size_t window_bytes(int members, std::size_t largest) {
  return static_cast<std::size_t>(members) * 2 * stride(largest);
}

Source by_hand_probes(Member& member, std::shared_ptr<Flags> flags, SharedMemory& windows,
                      std::size_t largest) {
  const auto hand = std::make_shared<ByHand>(member, std::move(flags), windows, largest);
  return {[hand, &member](std::size_t bytes, std::vector<Probe>& probes) {
    const Vectors vectors = hand->vectors(bytes);
    const auto traffic = [=](int members) { return 2.0 * static_cast<double>(bytes) * members; };
    for (const bool streaming : {false, true}) {
      probes.push_back(all_reduce_probe(
          member, streaming ? probe::by_hand_streaming : probe::by_hand, traffic(member.size()),
          vectors, [=] { hand->all_reduce(vectors.count(), streaming); }));
    }
    for (const bool all : {false, true}) {
      const std::string name = std::string("process_vm_readv, ") + (all ? "all cores" : "one core");
      const auto read = [=] { hand->read_peer(bytes); };
      Probe probe =
          all_reduce_probe(member, name, traffic(all ? member.size() : 1), vectors, read, true);
      probe.trial.run = repeated(read, all || member.rank() == 0);
      probe.trial.check = {};  // nothing is added up
      probes.push_back(std::move(probe));
    }
  }};
}

}  // namespace rondo::bench
