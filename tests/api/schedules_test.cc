// Schedules that users wrote: every rank has rank 0's, they serve calls on every transport, and wrong
// ones end no rank's wait.
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "core/communicator/access.h"
#include "core/plan/written.h"
#include "core/schedule/collective.h"
#include "core/schedule/text.h"
#include "rondo/memory.h"
#include "tests/api/expected_error.h"
#include "tests/catch.h"
#include "tests/sanitizers.h"
#include "tests/support/call.h"
#include "tests/support/threads.h"

namespace rondo::test {
namespace {

const std::string examples = RONDO_EXAMPLES "/schedules";

/// A file that lives as long as this.
class File {
 public:
  File(const std::string& name, const std::string& text)
      : path_(std::filesystem::path(RONDO_TEST_FOLDER) / name) {
    std::ofstream(path_) << text;
  }
  ~File() { std::filesystem::remove(path_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

/// The algorithm that carries such a call.
std::string algorithm_of(const Communicator& comm, Collective collective, std::size_t bytes) {
  const auto& state = detail::CommunicatorAccess::state(comm);
  return choose(collective, bytes, state->topology(), state->algorithms()).algorithm.name();
}

void check(Communicator& comm, const Trial& trial) {
  trial.run(comm.rank(),
            [&](const std::byte* in, std::byte* out) { make_call(comm, trial.given(), in, out); });
}

/// All calls of a collective that the trials are of, with this schedule and no other.
void run_with(const std::string& file, std::string_view name, Collective collective, int ranks,
              const std::string& transport) {
  std::vector<Trial> trials;
  for (const std::size_t count : cells<std::size_t>({1, 13, 50'000}, {13})) {
    for (const Case& each : every_scan(count))
      if (each.call.collective == collective) trials.emplace_back(each, ranks);
    for (int root = 0; root < ranks; ++root)
      for (const Case& each : every_collective(count, root))
        if (each.call.collective == collective) trials.emplace_back(each, ranks);
  }
  expect_that(!trials.empty(), "no call of the collective was tried");
  with_world(ranks, {.transport = transport, .schedules = file}, [&](Communicator& comm) {
    const std::string used = algorithm_of(comm, collective, 8);
    expect_that(used == name, "the calls are carried by " + used);
    for (const Trial& trial : trials) check(comm, trial);
  });
}

TEST_CASE("the examples carry calls of every size, on every transport") {
  for (const std::string transport : {"local", "shm", "tcp"}) {
    for (const int ranks : cells<int>({2, 3, 5}, {3}))
      run_with(examples + "/ring.schedule", "my_ring", Collective::all_reduce, ranks, transport);
    for (const int ranks : cells<int>({2, 3, 4, 7}, {7}))
      run_with(examples + "/halving_doubling.schedule", "halving_doubling", Collective::all_reduce,
               ranks, transport);
    for (const int ranks : cells<int>({2, 5, 8}, {5, 8}))
      run_with(examples + "/swing.schedule", "swing", Collective::all_reduce, ranks, transport);
    for (const int ranks : cells<int>({2, 5, 6}, {6})) {
      run_with(examples + "/pat.schedule", "pat", Collective::all_gather, ranks, transport);
      run_with(examples + "/pat_reduce_scatter.schedule", "pat", Collective::reduce_scatter, ranks,
               transport);
      run_with(examples + "/scatter_all_gather.schedule", "scatter_all_gather",
               Collective::broadcast, ranks, transport);
    }
  }
}

const std::string shares = R"(
collective all_reduce
algorithm shares
ranks any
parts P
rank r
  for i in 1..P-1
    send input[(r+i) % P] to (r+i) % P
  end
  for k in 0..P-1
    if k != r
      receive from k into scratch(k)[r]
    else
      copy input[r] into scratch(k)[r]
    end
  end
  reduce scratch0..(P-1)[r] into output[r]
  for i in 1..P-1
    send output[r] to (r+i) % P
  end
  for k in 0..P-1
    if k != r
      receive from k into output[k]
    end
  end
)";

TEST_CASE("a schedule of one or two stages is merged where ranks share memory") {
  const File file("shares.schedule", shares);
  for (const std::string transport : {"local", "shm"})
    for (const int ranks : cells<int>({2, 3, 5}, {3}))
      run_with(file.path(), "shares", Collective::all_reduce, ranks, transport);
  // Long calls only in windows, where they are read and stored in place.
  with_world(3, {.transport = "shm", .schedules = file.path()}, [](Communicator& comm) {
    constexpr std::size_t count = 100'003;
    const Memory memory = allocate(count * sizeof(float));
    for (const std::size_t each : {std::size_t{100}, count}) {
      const std::span values(static_cast<float*>(memory.data()), each);
      std::ranges::fill(values, static_cast<float>(comm.rank() + 1));
      const std::uint64_t before = comm.traffic().direct_bytes;
      comm.all_reduce(values);
      expect_that(comm.traffic().direct_bytes > before, "the call was not direct");
      expect_that(std::ranges::all_of(values, [](float sum) { return sum == 6; }),
                  "a sum is wrong");
    }
  });
  with_world(3, {.transport = "shm", .algorithm = "^direct", .schedules = file.path()},
             [](Communicator& comm) {
               std::vector<float> values(100, 1);
               comm.all_reduce(values);
               expect_that(comm.traffic().direct_bytes == 0, "the call was direct");
             });
}

/// Ops of one stage that go on with what the op before has made in the output.
const std::string chain_to_root = R"(
collective reduce
algorithm link_by_link
ranks any
root any
rank r
  if r == root
    copy input[0] into output[0]
    for i in 1..P-1
      receive_reduce output[0] then from (r+i) % P into output[0]
    end
  else
    send input[0] to root
  end
)";
const std::string chain_of_blocks = R"(
collective reduce_scatter
algorithm link_by_link
ranks any
rank r
  for i in 1..P-1
    send input[(r+i) % P] to (r+i) % P
  end
  receive_reduce input[r] then from (r-1) % P into output[r]
  for i in 2..P-1
    receive_reduce output[r] then from (r-i) % P into output[r]
  end
)";
const std::string chain_of_prefixes = R"(
collective scan
algorithm link_by_link
ranks any
rank r
  for i in r+1..P-1
    send input[0] to i
  end
  if r == 0
    copy input[0] into output[0]
  else
    receive_reduce from r-1 then input[0] into output[0]
    for i in 2..r
      receive_reduce from r-i then output[0] into output[0]
    end
  end
)";

TEST_CASE("a schedule of one stage may go on with its own output where ranks share memory") {
  const std::pair<Collective, const std::string&> chains[] = {
      {Collective::reduce, chain_to_root},
      {Collective::reduce_scatter, chain_of_blocks},
      {Collective::scan, chain_of_prefixes}};
  for (const auto& [collective, text] : chains) {
    const File file("chain.schedule", text);
    for (const std::string transport : {"local", "shm"})
      for (const int ranks : cells<int>({2, 3, 4}, {3}))
        run_with(file.path(), "link_by_link", collective, ranks, transport);
  }
}

/// It keeps partial sums in scratch, which calls in shared memory have none of.
const std::string in_scratch = R"(
collective reduce_scatter
algorithm in_scratch
ranks 3..
rank r
  for i in 1..P-1
    send input[(r+i) % P] to (r+i) % P
  end
  receive_reduce from (r-1) % P then input[r] into scratch0[r]
  for i in 2..P-2
    receive_reduce from (r-i) % P then scratch0[r] into scratch0[r]
  end
  receive_reduce from (r+1) % P then scratch0[r] into output[r]
)";

TEST_CASE("a schedule that keeps sums in scratch goes by messages") {
  const File file("in_scratch.schedule", in_scratch);
  for (const std::string transport : {"local", "shm"})
    for (const int ranks : cells<int>({3, 5}, {3}))
      run_with(file.path(), "in_scratch", Collective::reduce_scatter, ranks, transport);
}

/// In lane r rank r first waits, in the other it first works: an executor that looked at one lane before
/// the other would wait for ever.
const std::string apart = R"(
collective all_gather
algorithm apart
ranks 2
parts 2
lanes 2
rank r lane l
  let me = 2*r + l
  let other = 2*(1-r) + l
  if r == l
    for i in 1..40
      receive from 1-r into scratch0[other]
    end
    receive from 1-r into output[other]
    send input[me] to 1-r
  else
    for i in 1..60
      copy input[me] into scratch0[me]
    end
    for i in 1..41
      send input[me] to 1-r
    end
    receive from 1-r into output[other]
  end
  copy input[me] into output[me]
)";

TEST_CASE("lanes that wait at different times wait for nobody else") {
  const File file("apart.schedule", apart);
  for (const std::string transport : {"local", "shm", "tcp"})
    run_with(file.path(), "apart", Collective::all_gather, 2, transport);
}

/// A fused op holds a message while it waits to send, which its schedule does not.
TEST_CASE("a schedule whose fused program would wait for ever runs step by step") {
  std::ifstream file(examples + "/swing.schedule");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const Schedule schedule = parse_script(text).build({.ranks = 16}, 0);
  REQUIRE(verify(schedule).ok());
  std::vector<Program> fused;
  for (int rank = 0; rank < 16; ++rank) fused.push_back(lower(schedule, rank));
  Schedule header = schedule;
  header.depth = fused[0].depth;
  CHECK_FALSE(verify(header, fused).ok());
  CHECK(lower_verified(schedule).report.ok());
  run_with(examples + "/swing.schedule", "swing", Collective::all_reduce, 16, "local");
}

TEST_CASE("the example's ring has the steps of the built-in one, and so its program") {
  for (int ranks = 2; ranks <= 9; ++ranks) {
    std::ifstream file(examples + "/ring.schedule");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    Schedule own = parse_script(text).build({.ranks = ranks}, 0);
    own.algorithm = "ring";
    CHECK(to_text(own) == to_text(find_algorithm(Collective::all_reduce, "ring")->build(ranks, 0)));
  }
}

TEST_CASE("what rondo writes of its own algorithms runs again as the user's") {
  constexpr int ranks = 4;
  for (const Algorithm& row : algorithms()) {
    if (info(row.collective).has_root || is_token(row.collective)) continue;
    std::string text = to_text(row.build(ranks, 0));
    text.replace(text.find("algorithm "), std::string(row.name).size() + 10, "algorithm again");
    const File file("again.schedule", text);
    INFO(text);
    CHECK_NOTHROW(run_with(file.path(), "again", row.collective, ranks, "shm"));
  }
}

TEST_CASE("a folder's schedules serve the calls that they are for, in every communicator") {
  with_world(4, {.schedules = examples}, [](Communicator& comm) {
    const auto all_reduce = [](const Communicator& of, std::size_t bytes) {
      return algorithm_of(of, Collective::all_reduce, bytes);
    };
    expect_that(all_reduce(comm, 1024) == "halving_doubling", "the first by name that fits");
    expect_that(all_reduce(comm, 1 << 20) == "my_ring", "sizes count");
    expect_that(algorithm_of(comm, Collective::broadcast, 8) != "by_hosts", "hosts count");
    Communicator part = comm.split(comm.rank() == 3 ? -1 : 0, comm.rank());
    if (part) expect_that(all_reduce(part, 1024) == "halving_doubling", "of split() too");
    Communicator again = comm.dup();
    expect_that(all_reduce(again, 1024) == "halving_doubling", "of dup() too");
  });
}

TEST_CASE("a schedule that cannot be had is an error on every rank") {
  const auto refused = [](const std::string& path, const std::string& words) {
    const Error error = error_of([&] { Communicator::from_threads(3, {.schedules = path}); });
    INFO(error.what());
    CHECK(std::string(error.what()).find(words) != std::string::npos);
  };
  refused(examples + "/none", "schedules/none cannot be read");
  refused(RONDO_EXAMPLES, "hold no file *.schedule");
  const std::string pipe = RONDO_TEST_FOLDER "/pipe.schedule";
  std::filesystem::remove(pipe);
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  refused(pipe, "pipe.schedule cannot be read");
  std::filesystem::remove(pipe);
  const File broken("broken.schedule", "collective all_reduce\nranks any\nrank r\n send input[0]");
  refused(broken.path(), "broken.schedule:4:15: expected 'to'");
  const File large("large.schedule", "#" + std::string(1 << 20, '-'));
  refused(large.path(), "large.schedule have more than 1048576 bytes");
  const File unnamed("unnamed.schedule", "collective all_reduce\nranks any\nrank r\n");
  refused(unnamed.path(), "does not name its algorithm");
}

TEST_CASE("a schedule that channels cannot carry is an error of each call") {
  const std::string head = "collective all_gather\nalgorithm wide\nranks 2\n";
  const std::string body =
      "rank r lane l\n  for i in 1..9\n    send input[r*20+l] to 1-r\n  end\n"
      "  for i in 1..9\n    receive from 1-r into output[(1-r)*20+l]\n  end\n"
      "  copy input[r*20+l] into output[r*20+l]\n";
  const auto refused = [&](const std::string& lines, const std::string& words) {
    const File file("wide.schedule", head + lines + body);
    with_world(2, {.schedules = file.path()}, [&](Communicator& comm) {
      std::vector<float> in(20);
      std::vector<float> out(40);
      expect(error_of([&] { comm.all_gather(std::span<const float>(in), std::span(out)); }),
             ErrorCode::invalid_argument, words);
    });
  };
  refused("parts 20\nlanes 20\ndepth 9\n", "wide cannot run with 2 ranks: it has 20 lanes");
  refused("parts 20\nlanes 1\ndepth 9\n", "is wrong for 2 ranks: ");
  const std::string many =
      "collective all_gather\nalgorithm deep\nranks 2\nparts 9\ndepth 9\nrank r\n"
      "for i in 0..8\n send input[9r+i] to 1-r\n end\n"
      "for i in 0..8\n receive from 1-r into output[9(1-r)+i]\n end\n"
      "copy input[9r..9r+8] into output[9r..9r+8]\n";
  const File file("deep.schedule", many);
  with_world(2, {.schedules = file.path()}, [&](Communicator& comm) {
    std::vector<float> in(9);
    std::vector<float> out(18);
    expect(error_of([&] { comm.all_gather(std::span<const float>(in), std::span(out)); }),
           ErrorCode::invalid_argument, "its channels must hold 9 messages");
  });
}

TEST_CASE("a wrong schedule is an error of each call, and others go on") {
  const File wrong("wrong.schedule",
                   "collective all_reduce\nalgorithm wrong\nranks any\nrank r\n"
                   "  send input[0] to (r+1) % P\n"
                   "  receive from (r-1) % P into output[0]\n");
  with_world(3, {.schedules = wrong.path()}, [](Communicator& comm) {
    std::vector<float> sum(100, 1.0F);
    for (int time = 0; time < 2; ++time)
      expect(error_of([&] { comm.all_reduce(std::span(sum)); }), ErrorCode::invalid_argument,
             "wrong.schedule is wrong for 3 ranks: ");
    std::vector<float> gathered(300);
    comm.all_gather(std::span<const float>(sum), std::span(gathered));
    expect_that(gathered[299] == 1.0F, "all_gather has its own algorithms");
  });
}

}  // namespace
}  // namespace rondo::test
