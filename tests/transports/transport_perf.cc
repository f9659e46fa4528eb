// Measures a transport between two processes: one-way latency of small frames (half a ping-pong)
// and the rate of a stream of full slots, each copied in and out once. Not a test.
//
//   transport_perf [TRANSPORT [SLOT_BYTES [SOCKETS [PERCENT [HCA [HCA]]]]]]
//
// SLOT_BYTES 0 means the transport's own. PERCENT of the usual rounds, for slow (emulated)
// machines. HCA: RONDO_IB_HCA of both processes, the second one's own last; without, and for all
// other settings of InfiniBand, the environment decides.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "core/settings/settings.h"
#include "core/transport/doorbell.h"
#include "transports/table.h"

namespace rondo {
namespace {

using Clock = std::chrono::steady_clock;

struct Pair {
  Transport& transport;
  SendChannel& out;
  ReceiveChannel& in;

  /// Waits for the other process: spins, and yields when that one seems to have lost its core.
  void wait(int& spins) const {
    transport.progress();
    if (++spins % 256 == 0) ::sched_yield();
  }
};

void put(const Pair& pair, const std::byte* data, std::size_t bytes) {
  if (bytes > 1024 && pair.out.sends_from_place()) {
    for (std::size_t done = 0; done < bytes;) {
      done += pair.out.send_from({data + done, bytes - done}, {1});
    }
    return;
  }
  int spins = 0;
  std::span<std::byte> slot;
  while ((slot = pair.out.acquire()).empty()) pair.wait(spins);
  std::memcpy(slot.data(), data, bytes);
  pair.out.commit(bytes, {1});
}

void take(const Pair& pair, std::byte* data, std::size_t bytes, bool in_place) {
  int spins = 0;
  if (in_place && bytes > 1024 && pair.in.receives_into_place()) {
    while (!pair.in.frame_head()) pair.wait(spins);
    for (std::size_t done = 0; done < bytes;) {
      const std::size_t got = pair.in.receive_into({data + done, bytes - done});
      if (got == 0) pair.wait(spins);
      done += got;
    }
    return;
  }
  const Frame* frame;
  while ((frame = pair.in.peek()) == nullptr) pair.wait(spins);
  std::memcpy(data, frame->payload.data(), frame->payload.size());
  pair.in.release();
}

double seconds_of(auto&& body) {
  const auto start = Clock::now();
  body();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void ping_pong(const Pair& pair, int rank, std::size_t bytes, int rounds) {
  std::vector<std::byte> data(bytes + 64);
  auto run = [&](int count) {
    for (int i = 0; i < count; ++i) {
      if (rank == 0) put(pair, data.data(), bytes);
      take(pair, data.data(), bytes, true);
      if (rank == 1) put(pair, data.data(), bytes);
    }
  };
  // Best of many batches: what the transport can do when nobody else wants the cores.
  constexpr int batches = 50;
  double best = 1e9;
  for (int batch = 0; batch < batches; ++batch) {
    best = std::min(best, seconds_of([&] { run(rounds / batches); }));
  }
  if (rank == 0) {
    std::printf("%9zu B one way %10.3f us\n", bytes, best / (rounds / batches) / 2 * 1e6);
  }
}

void stream(const Pair& pair, int rank, std::size_t frame, std::size_t total, bool in_place) {
  std::vector<std::byte> source(std::size_t{4} << 20, std::byte{1});
  std::vector<std::byte> target(std::size_t{4} << 20, std::byte{2});
  const std::size_t frames = total / frame;
  const std::size_t window = source.size() / frame;
  auto run = [&] {
    for (std::size_t i = 0; i < frames; ++i) {
      const std::size_t at = i % window * frame;
      if (rank == 0) put(pair, source.data() + at, frame);
      if (rank == 1) take(pair, target.data() + at, frame, in_place);
    }
    if (rank == 1) put(pair, target.data(), 1);
    if (rank == 0) take(pair, target.data(), 1, true);
  };
  double best = 1e9;
  for (int batch = 0; batch < 10; ++batch) best = std::min(best, seconds_of(run));
  if (rank == 0) {
    std::printf("%9zu B frames  %10.3f GB/s %s\n", frame, double(total) / best / 1e9,
                in_place && pair.in.receives_into_place() ? "(into place)" : "(by slots)");
  }
}

std::string swap_addresses(const std::string& mine, int reading, int writing) {
  std::array<char, 4096> text{};
  if (::write(writing, mine.data(), mine.size()) < 0) std::exit(1);
  const ssize_t bytes = ::read(reading, text.data(), text.size());
  if (bytes <= 0) std::exit(1);
  return {text.data(), static_cast<std::size_t>(bytes)};
}

void measure(const TransportKind& kind, int rank, int reading, int writing,
             TransportSettings settings, int percent) {
  Doorbell doorbell;
  settings.rank = rank;
  settings.doorbell = &doorbell;
  const auto transport = kind.make(settings);
  std::vector<std::string> addresses(2, transport->address());
  addresses[1 - rank] = swap_addresses(transport->address(), reading, writing);
  transport->meet(addresses);
  const Pair pair{*transport, transport->sender(1 - rank, 0), transport->receiver(1 - rank, 0)};
  if (rank == 0) {
    std::printf("%s, slots of %zu B\n", std::string(kind.name).c_str(), transport->slot_bytes());
  }
  const bool memory = transport->link_class() == LinkClass::memory;
  for (const std::size_t bytes : {0, 8, 40, 64, 1024, 4096, 16384}) {
    ping_pong(pair, rank, bytes, (memory ? 500 : 50) * percent);
  }
  const std::size_t total = (std::size_t{memory ? 128U : 32U} << 20) / 100 * percent;
  for (std::size_t frame = 4096; frame < transport->slot_bytes(); frame *= 4) {
    stream(pair, rank, frame, total, true);
  }
  stream(pair, rank, transport->slot_bytes(), total, true);
  stream(pair, rank, transport->slot_bytes(), total, false);
  while (!pair.out.flushed()) transport->progress();
  std::fflush(stdout);
}

}  // namespace
}  // namespace rondo

int main(int count, char** arguments) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const rondo::TransportKind* kind = rondo::find_transport(count > 1 ? arguments[1] : "shm");
  if (kind == nullptr || kind->name == "local") return 2;
  rondo::TransportSettings settings{.ranks = 2, .communicator = 1};
  if (count > 2) settings.slot_bytes = std::strtoul(arguments[2], nullptr, 10);
  if (count > 3) settings.sockets = std::atoi(arguments[3]);
  const int percent = count > 4 ? std::atoi(arguments[4]) : 100;
  settings.infiniband = rondo::read_config().infiniband;
  std::array<int, 2> forth{};
  std::array<int, 2> back{};
  if (::pipe(forth.data()) != 0 || ::pipe(back.data()) != 0) return 1;
  const pid_t child = ::fork();
  if (count > 5) settings.infiniband.hca = arguments[child == 0 ? count - 1 : 5];
  if (child == 0) {
    rondo::measure(*kind, 1, forth[0], back[1], settings, percent);
    return 0;
  }
  rondo::measure(*kind, 0, back[0], forth[1], settings, percent);
  int status = 0;
  ::waitpid(child, &status, 0);
  return status == 0 ? 0 : 1;
}
