// What RONDO_TRACE records of calls on GPU buffers: each call of each rank, with its path and
// times.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/catch.h"
#include "tests/nccl/between_devices.h"
#include "tests/nccl/together.h"

namespace rondo::test {
namespace {

/// A line of a trace, as core/trace/write.cc says it.
struct GpuCall {
  std::string way{};
  std::string captured{};
  std::string put{};
  std::string begun{};
  std::string completed{};
  std::string rest{};  ///< collective, count, type, operator, root, and a message's peer

  bool has_times() const {
    return begun != "-" && completed != "-" && std::stoll(put) <= std::stoll(begun) &&
           std::stoll(begun) <= std::stoll(completed);
  }
};

/// Traces of the communicators that are made while it lives.
class Traces {
 public:
  Traces() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  /// The calls by rank, once all communicators have ended.
  std::map<int, std::vector<GpuCall>> read() const {
    std::map<int, std::vector<GpuCall>> all;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      const std::string rank = entry.path().extension().string().substr(1);
      const bool finished = rank.find_first_not_of("0123456789") == std::string::npos;
      if (finished) all[std::stoi(rank)] = calls_in(entry.path());
    }
    return all;
  }

 private:
  static std::vector<GpuCall> calls_in(const std::filesystem::path& path) {
    std::vector<GpuCall> calls;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string kind;
      GpuCall call;
      words >> kind >> call.way >> call.captured >> call.put >> call.begun >> call.completed;
      std::getline(words >> std::ws, call.rest);
      if (kind == "gpu") calls.push_back(call);
    }
    return calls;
  }

  std::filesystem::path folder_ = std::filesystem::path(RONDO_TEST_FOLDER) / "gpu_traces";
  Setting setting_{"RONDO_TRACE", (folder_ / "run").string()};
};

/// Checks all the words of a rank's calls, and that each has its times.
void check_calls(const std::vector<GpuCall>& calls, const std::string& way,
                 const std::vector<std::string>& wanted) {
  std::vector<std::string> rests;
  for (const GpuCall& call : calls) {
    INFO(call.rest << ": " << call.put << " " << call.begun << " " << call.completed);
    CHECK(call.way == way);
    CHECK(call.captured == "0");
    CHECK(call.has_times());
    rests.push_back(call.rest);
  }
  CHECK(rests == wanted);
}

TEST_CASE("a thread's calls for all ranks are in the trace of each", "[fake]") {
  if (lacks_kernels()) return;
  const std::vector<int> device_of = GENERATE(std::vector<int>{0, 0}, std::vector<int>{0, 1});
  const Traces traces;
  const Together all(device_of, 300);
  in_group(2, [&](std::size_t r) {
    const int peer = 1 - static_cast<int>(r);
    const Rank<int>& mine = *all.ranks[r];
    expect(all.reduce(r, ncclMax));
    if (r == 0) expect(ncclSend(mine.in.data(), 7, ncclInt, peer, all.comms[r], mine.stream));
    if (r == 1) expect(ncclRecv(mine.in.data(), 7, ncclInt, peer, all.comms[r], mine.stream));
  });
  destroy(all.comms);
  const auto calls = traces.read();
  REQUIRE(calls.size() == 2);
  check_calls(calls.at(0), "together",
              {"all_reduce 300 int32 max 0", "send_recv 7 int32 sum 0 1 sends"});
  check_calls(calls.at(1), "together",
              {"all_reduce 300 int32 max 0", "send_recv 7 int32 sum 0 0 receives"});
}

TEST_CASE("calls between devices and calls through the host are in each rank's trace", "[fake]") {
  const bool through_host = GENERATE(false, true);
  const Traces traces;
  const auto body = [](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const DeviceBuffer<int> buffer(1'000'000, rank);
    expect(broadcast(buffer, 1'000'000, 1, comm, stream));
    expect(ncclGroupStart());
    expect(ncclSend(buffer.data(), 5, ncclInt, 1 - rank, comm, stream));
    expect(ncclRecv(buffer.data() + 5, 5, ncclInt, 1 - rank, comm, stream));
    expect(ncclGroupEnd());
  };
  run_on_device(through_host ? init_through_host(2) : init_on_device(2), body);
  const auto calls = traces.read();
  REQUIRE(calls.size() == 2);
  for (int rank = 0; rank < 2; ++rank) {
    const std::string peer = std::to_string(1 - rank);
    check_calls(calls.at(rank), through_host ? "through-host" : "between-devices",
                {"broadcast 1000000 int32 sum 1", "send_recv 5 int32 sum 0 " + peer + " sends",
                 "send_recv 5 int32 sum 0 " + peer + " receives"});
  }
}

TEST_CASE("a captured call is in the trace, without times", "[fake]") {
  const Traces traces;
  run_on_device(init_on_device(2), [](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const DeviceBuffer<int> buffer(10, rank);
    const CapturedGraph graph(stream, [&] { expect(broadcast(buffer, 10, 0, comm, stream)); });
    graph.launch(stream);
    graph.launch(stream);
    stream.finish();
  });
  const auto calls = traces.read();
  REQUIRE(calls.size() == 2);
  for (const auto& [rank, own] : calls) {
    REQUIRE(own.size() == 1);
    CHECK(own.front().captured == "1");
    CHECK(own.front().begun + own.front().completed == "--");
  }
}

TEST_CASE("a call that an abort cut off is in the trace", "[fake]") {
  const Traces traces;
  const std::vector<ncclComm_t> comms = init_on_device(2);
  const DeviceStream stream;
  const DeviceBuffer<int> buffer(10, 1);
  expect(broadcast(buffer, 10, 1, comms[0], stream));
  expect(ncclCommAbort(comms[0]));
  stream.finish();  // rank 1 never came
  expect(ncclCommAbort(comms[1]));
  // The file is written when what serves the communicator has ended, in its own time.
  for (;;) {
    const auto calls = traces.read();
    const auto found = calls.find(0);
    if (found != calls.end() && !found->second.empty()) {
      CHECK(found->second.front().rest == "broadcast 10 int32 sum 1");
      return;
    }
    std::this_thread::yield();
  }
}

}  // namespace
}  // namespace rondo::test
