// Steady state allocates nothing: every kind of call, once warm, runs without operator new.
#include <atomic>
#include <new>

#include "tests/catch.h"
#include "tests/support/threads.h"

namespace {

// relaxed: each thread counts its own calls between two barriers; joins order the reading.
thread_local bool counting = false;
std::atomic<long> allocations{0};

void* counted(std::size_t bytes) {
  if (counting) allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes); }
void* operator new[](std::size_t bytes) { return counted(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace rondo {
namespace {

constexpr auto f32 = DataType::float32;

/// One of every kind of call, small and of many passes.
void all_calls(Communicator& comm, std::vector<float>& in, std::vector<float>& out) {
  const int next = (comm.rank() + 1) % comm.size();
  const int previous = (comm.rank() + comm.size() - 1) % comm.size();
  for (const std::size_t count :
       {std::size_t{2}, in.size() / static_cast<std::size_t>(comm.size())}) {
    comm.all_reduce(in.data(), out.data(), count, f32);
    comm.all_reduce(in.data(), out.data(), count, f32, ReduceOperator::avg);
    comm.reduce_scatter(in.data(), out.data(), count, f32);
    comm.all_gather(in.data(), out.data(), count, f32);
    comm.broadcast(in.data(), out.data(), count, f32, 1);
    comm.reduce(in.data(), out.data(), count, f32, ReduceOperator::sum, 2);
    comm.all_to_all(in.data(), out.data(), count, f32);
    comm.scatter(in.data(), out.data(), count, f32, 0);
    comm.gather(in.data(), out.data(), count, f32, 0);
    comm.barrier();
    Group group;
    comm.send(in.data(), count, f32, next);
    comm.recv(out.data(), count, f32, previous);
    group.wait();
    Work work = comm.all_reduce_async(in.data(), out.data(), count, f32);
    work.wait();
  }
}

TEST_CASE("warm calls allocate nothing") {
  for (const char* transport : {"local", "shm", "tcp"}) {
    INFO(transport);
    allocations.store(0, std::memory_order_relaxed);
    test::with_world(3, {.transport = transport}, [](Communicator& comm) {
      std::vector<float> in(300000, 1.0f);
      std::vector<float> out(300000);
      for (int warm = 0; warm < 3; ++warm) all_calls(comm, in, out);
      comm.barrier();
      counting = true;
      for (int steady = 0; steady < 10; ++steady) all_calls(comm, in, out);
      counting = false;
      comm.barrier();
    });
    CHECK(allocations.load(std::memory_order_relaxed) == 0);
  }
}

}  // namespace
}  // namespace rondo
