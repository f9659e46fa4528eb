// The system has no further thread: calls that have begun go on, and none is left under way.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <barrier>
#include <cerrno>

#include "rondo/rondo.h"
#include "tests/catch.h"
#include "tests/support/threads.h"

namespace {

std::atomic<bool> refuses{false};  // seq_cst

}  // namespace

/// Takes the place of the C library's, for this program and the libraries it has loaded.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*body)(void*), void* argument) noexcept {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  return refuses ? EAGAIN : create(thread, attributes, body, argument);
}

namespace rondo {
namespace {

using test::with_world;

constexpr auto int32 = DataType::int32;

void expect(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(std::string("not so: ") + what);
}

/// Runs body(comm, meeting) on two ranks. They join before threads are refused.
template <class Body>
void without_threads(Body&& body) {
  std::barrier meeting(2);
  with_world(2, {}, [&](Communicator& comm) {
    comm.barrier();
    meeting.arrive_and_wait();
    refuses = true;
    try {
      body(comm, meeting);
    } catch (...) {
      refuses = false;
      throw;
    }
    refuses = false;
  });
}

TEST_CASE("a call that needs a thread is refused in words, and has not begun") {
  without_threads([](Communicator& comm, std::barrier<>& meeting) {
    int value = 1;
    std::string words;
    try {
      comm.all_reduce_async(&value, &value, 1, int32);
    } catch (const Error& error) {
      words = error.what();
      expect(error.code() == ErrorCode::system, "its code");
    }
    expect(words.find("no thread could be started") != std::string::npos, "its words");
    meeting.arrive_and_wait();
    comm.all_reduce(&value, &value, 1, int32);
    expect(value == 2, "the next call, on this thread");
    meeting.arrive_and_wait();
    refuses = false;
    meeting.arrive_and_wait();
    comm.all_reduce_async(&value, &value, 1, int32).wait();
    expect(value == 4, "the call again, with a thread");
  });
}

TEST_CASE("a group's calls on several communicators end on the thread that waits") {
  std::vector<Communicator> others = Communicator::from_threads(2);
  without_threads([&](Communicator& comm, std::barrier<>& meeting) {
    Communicator& other = others[static_cast<std::size_t>(comm.rank())];
    std::vector<int> values(200'000, 1);
    std::vector<int> more(200'000, 1);
    Group group;
    comm.all_reduce(values.data(), values.data(), values.size(), int32);
    other.all_reduce(more.data(), more.data(), more.size(), int32);
    group.wait();
    expect(values.back() == 2 && more.back() == 2, "the sums");
    meeting.arrive_and_wait();
  });
}

TEST_CASE("two threads wait for calls of one communicator") {
  std::barrier begun(3);
  std::barrier waiter_is_there(2);
  std::thread waiter;
  std::vector<int> second(1000, 0);
  std::vector<Communicator> comms = Communicator::from_threads(2);
  waiter = std::thread([&] {
    waiter_is_there.arrive_and_wait();
    for (int round = 0; round < 200; ++round) {
      Group group;
      comms[0].recv(second.data(), second.size(), int32, 1);
      begun.arrive_and_wait();
      group.wait();
      begun.arrive_and_wait();
    }
  });
  std::thread peer([&] {
    const std::vector<int> data(1000, 7);
    for (int round = 0; round < 200; ++round) {
      begun.arrive_and_wait();
      comms[1].send(data.data(), data.size(), int32, 0);
      comms[1].all_reduce(data.data(), nullptr, 0, int32);
      begun.arrive_and_wait();
    }
  });
  refuses = true;
  waiter_is_there.arrive_and_wait();
  for (int round = 0; round < 200; ++round) {
    begun.arrive_and_wait();
    Group group;
    comms[0].all_reduce(second.data(), nullptr, 0, int32);
    group.wait();
    begun.arrive_and_wait();
  }
  refuses = false;
  waiter.join();
  peer.join();
  CHECK(second == std::vector<int>(1000, 7));
}

}  // namespace
}  // namespace rondo
