// What a user of rondo.h relies on besides right results: groups, splitting, asynchronous work.

#include "tests/catch.h"
#include "tests/support/threads.h"

namespace rondo {
namespace {

using test::with_world;

constexpr auto f32 = DataType::float32;

std::vector<float> filled(std::size_t count, float value) {
  return std::vector<float>(count, value);
}

TEST_CASE("a world of one rank copies") {
  Communicator alone = Communicator::from_environment();
  CHECK(alone.rank() == 0);
  CHECK(alone.size() == 1);
  const std::vector<float> in{1, 2, 3};
  std::vector<float> out(3);
  alone.all_reduce(in.data(), out.data(), 3, f32);
  CHECK(out == in);
  alone.barrier();
}

TEST_CASE("many counts on one communicator, in place and not, reuse its plans") {
  with_world(3, {}, [](Communicator& comm) {
    for (int repeat = 0; repeat < 3; ++repeat) {
      for (std::size_t count = 0; count < 200; count += 7) {
        auto data = filled(count, static_cast<float>(comm.rank() + 1));
        comm.all_reduce(data.data(), data.data(), count, f32);
        if (data != filled(count, 6)) throw std::runtime_error("wrong sum");
      }
    }
  });
}

TEST_CASE("a group lets every rank send and receive at once, around a ring and with itself") {
  with_world(4, {}, [](Communicator& comm) {
    const std::size_t count = 100000;  // far more than channels hold
    const int next = (comm.rank() + 1) % comm.size();
    const int previous = (comm.rank() + comm.size() - 1) % comm.size();
    const auto out = filled(count, static_cast<float>(comm.rank()));
    std::vector<float> in(count);
    std::vector<float> own(count);
    Group group;
    comm.send(out.data(), count, f32, next);
    comm.recv(in.data(), count, f32, previous);
    comm.send(out.data(), count, f32, comm.rank());
    comm.recv(own.data(), count, f32, comm.rank());
    group.wait();
    if (in != filled(count, static_cast<float>(previous)))
      throw std::runtime_error("wrong neighbour's data");
    if (own != out) throw std::runtime_error("wrong data from myself");
  });
}

TEST_CASE("groups nest; the outermost waits") {
  with_world(2, {}, [](Communicator& comm) {
    std::vector<int> in(3);
    const std::vector<int> out(3, comm.rank() + 10);
    const int peer = 1 - comm.rank();
    Group outer;
    {
      Group inner;
      comm.recv(in.data(), 3, DataType::int32, peer);
      inner.wait();  // returns at once: the send has not been made yet
    }
    comm.send(out.data(), 3, DataType::int32, peer);
    outer.wait();
    if (in != std::vector<int>(3, peer + 10)) throw std::runtime_error("wrong data");
  });
}

TEST_CASE("messages between a pair arrive in the order they were sent") {
  with_world(2, {}, [](Communicator& comm) {
    for (std::int64_t i = 0; i < 500; ++i) {
      std::int64_t value = i;
      if (comm.rank() == 0) comm.send(&value, 1, DataType::int64, 1);
      if (comm.rank() == 1) comm.recv(&value, 1, DataType::int64, 0);
      if (value != i) throw std::runtime_error("out of order");
    }
  });
}

TEST_CASE("any number of asynchronous calls complete without anybody waiting") {
  with_world(3, {}, [](Communicator& comm) {
    std::vector<std::vector<float>> buffers;
    std::vector<Work> works;
    for (int i = 0; i < 50; ++i) buffers.push_back(filled(1000, static_cast<float>(i)));
    for (auto& buffer : buffers)
      works.push_back(comm.all_reduce_async(buffer.data(), buffer.data(), 1000, f32));
    // This only looks at the last one from time to time. The progress thread does the work.
    while (!works.back().test()) std::this_thread::yield();
    for (std::size_t i = 0; i < works.size(); ++i) {
      works[i].wait();
      if (buffers[i] != filled(1000, 3 * static_cast<float>(i)))
        throw std::runtime_error("wrong sum");
    }
  });
}

TEST_CASE("asynchronous and blocking calls mix, and any thread may wait") {
  with_world(2, {}, [](Communicator& comm) {
    for (int i = 0; i < 20; ++i) {
      auto first = filled(50000, 1);
      auto second = filled(10, 2);
      Work work = comm.all_reduce_async(first.data(), first.data(), first.size(), f32);
      std::thread waiter([&] { work.wait(); });
      comm.all_reduce(second.data(), second.data(), second.size(), f32);
      waiter.join();
      if (first != filled(50000, 2) || second != filled(10, 4))
        throw std::runtime_error("wrong sum");
    }
  });
}

TEST_CASE("a wait that finds the progress lock taken is always woken in the end") {
  with_world(3, {}, [](Communicator& comm) {
    auto small = filled(10, 1);
    auto large = filled(3000, 1);
    for (int i = 0; i < 10000; ++i) {
      Work first =
          comm.all_reduce_async(small.data(), small.data(), small.size(), f32, ReduceOperator::max);
      Work second =
          comm.all_reduce_async(large.data(), large.data(), large.size(), f32, ReduceOperator::max);
      first.wait();
      second.wait();
    }
  });
}

TEST_CASE("a wait gives way to another thread's call that it depends on") {
  with_world(2, {}, [](Communicator& comm) {
    for (int i = 0; i < 50; ++i) {
      int answer = 0;
      int question = i;
      if (comm.rank() == 1) {
        comm.recv(&question, 1, DataType::int32, 0);
        comm.send(&question, 1, DataType::int32, 0);
        continue;
      }
      Work receiving = comm.recv_async(&answer, 1, DataType::int32, 1);
      std::thread waiter([&] { receiving.wait(); });
      comm.send(&question, 1, DataType::int32, 1);
      waiter.join();
      if (answer != i) throw std::runtime_error("wrong answer");
    }
  });
}

TEST_CASE("groups of several threads wait for each other's calls, not for each other") {
  with_world(3, {}, [](Communicator& comm) {
    for (int i = 0; i < 200; ++i) {
      int value = i;
      if (comm.rank() == 1) {
        comm.send(&value, 1, DataType::int32, 0);
        comm.send(&value, 1, DataType::int32, 2);
        continue;
      }
      if (comm.rank() == 2) {  // mostly sends after one of rank 0's groups has ended
        comm.recv(&value, 1, DataType::int32, 1);
        comm.send(&value, 1, DataType::int32, 0);
        continue;
      }
      int from[] = {-1, -1};
      const auto receive = [&](int which) {
        Group group;
        comm.recv(&from[which], 1, DataType::int32, 1 + which);
      };
      std::thread other([&] { receive(1); });
      receive(0);
      other.join();
      if (from[0] != i || from[1] != i) throw std::runtime_error("wrong values");
    }
  });
}

TEST_CASE("describing a message leaves messages as they are") {
  with_world(2, {}, [](Communicator& comm) {
    if (comm.describe(Collective::send_recv, 1, DataType::int32).empty())
      throw std::runtime_error("no words");
    int value = 5;
    if (comm.rank() == 0) comm.send(&value, 1, DataType::int32, 1);
    if (comm.rank() == 1) comm.recv(&value, 1, DataType::int32, 0);
    if (value != 5) throw std::runtime_error("wrong data");
  });
}

TEST_CASE("unordered asynchronous sends and receives do not wait for each other") {
  with_world(3, {}, [](Communicator& comm) {
    const std::size_t count = 200000;
    std::vector<std::vector<float>> in(3, std::vector<float>(count));
    const auto out = filled(count, static_cast<float>(comm.rank()));
    std::vector<Work> works;
    for (int peer = 0; peer < 3; ++peer)
      works.push_back(comm.send_async(out.data(), count, f32, peer));
    for (int peer = 2; peer >= 0; --peer) {
      works.push_back(comm.recv_async(in[static_cast<std::size_t>(peer)].data(), count, f32, peer));
    }
    for (Work& work : works) work.wait();
    for (int peer = 0; peer < 3; ++peer) {
      if (in[static_cast<std::size_t>(peer)] != filled(count, static_cast<float>(peer))) {
        throw std::runtime_error("wrong data from " + std::to_string(peer));
      }
    }
  });
}

TEST_CASE("split orders by key, leaves out negative colors, and its parts work side by side") {
  with_world(6, {}, [](Communicator& comm) {
    const int color = comm.rank() == 5 ? -1 : comm.rank() % 2;
    Communicator part = comm.split(color, -comm.rank());
    if (color < 0) {
      if (part) throw std::runtime_error("a rank without color got a communicator");
      comm.barrier();
      return;
    }
    const int expected_size = color == 0 ? 3 : 2;
    if (part.size() != expected_size) throw std::runtime_error("wrong size");
    if (part.rank() != expected_size - 1 - comm.rank() / 2) throw std::runtime_error("wrong order");
    int sum = comm.rank();
    part.all_reduce(&sum, &sum, 1, DataType::int32);
    if (sum != (color == 0 ? 0 + 2 + 4 : 1 + 3)) throw std::runtime_error("wrong sum in part");
    comm.barrier();
  });
}

TEST_CASE("dup gives the same ranks, and a hundred communicators come and go") {
  with_world(2, {}, [](Communicator& comm) {
    for (int i = 0; i < 100; ++i) {
      Communicator copy = comm.dup();
      if (copy.rank() != comm.rank() || copy.size() != comm.size())
        throw std::runtime_error("not a copy");
      int one = 1;
      copy.all_reduce(&one, &one, 1, DataType::int32);
      if (one != 2) throw std::runtime_error("wrong sum");
    }
  });
}

TEST_CASE("a unique id brings together ranks that were started apart") {
  const UniqueId id = make_unique_id();
  test::on_all_ranks(3, [&](int rank) {
    Communicator comm = Communicator::from_unique_id(id, rank, 3);
    int sum = rank;
    comm.all_reduce(&sum, &sum, 1, DataType::int32);
    if (sum != 3) throw std::runtime_error("wrong sum");
    comm.finalize();
  });
}

TEST_CASE("describe names algorithm, transport and reason") {
  with_world(2, {.transport = "local", .algorithm = "all_reduce:ring"}, [](Communicator& comm) {
    const std::string text = comm.describe(Collective::all_reduce, 10, f32);
    if (text.find("ring over local") == std::string::npos) throw std::runtime_error(text);
  });
}

}  // namespace
}  // namespace rondo
