// Profiles: what follows from samples, files good and bad, and the command itself.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "rondo/error.h"
#include "tests/catch.h"
#include "tests/support/program.h"
#include "tools/rondo/calibrate/plot.h"
#include "tools/rondo/calibrate/report.h"

using namespace rondo;
using namespace rondo::tool;

namespace {

constexpr double alpha = 1e-6;

using test::Run;
using test::run_command;

Run run_program(const std::string& arguments) {
  return run_command("'" RONDO_PROGRAM "' " + arguments);
}

bench::Spread exactly(double seconds) { return {seconds, seconds, seconds}; }

/// alpha + n times `a_byte(n)`.
template <class Rate>
Curve curve(Rate a_byte, double offset = alpha) {
  Curve all;
  for (const double bytes : {1024.0, 65536.0, 4194304.0})
    all.push_back({bytes, exactly(offset + bytes * a_byte(bytes))});
  return all;
}

Profile made_up() {
  const auto constant = [](double value) { return [value](double) { return value; }; };
  LinkProfile link{.transport = "shm", .ranks = 2, .cores = 2, .alpha = exactly(alpha)};
  link.one_way = curve(constant(2e-10));
  link.exchange = curve(constant(4e-10), 2 * alpha);
  link.combining = curve(constant(5e-10), 2 * alpha);
  link.meeting = exactly(5e-7);
  link.fetch = curve(constant(1e-10), 5e-7);
  link.fetch_combining = curve(constant(1.2e-10), 5e-7);
  GammaProfile gamma{.type = DataType::float32, .op = ReduceOperator::sum};
  gamma.copies = curve(constant(1e-10), 0);
  gamma.reduces = curve(constant(1.5e-10), 0);
  LinkProfile oversubscribed = link;
  oversubscribed.ranks = 4;
  oversubscribed.exchange = curve(constant(10e-10), 6 * alpha);  // three rounds, twice
  oversubscribed.combining = curve(constant(13e-10), 6 * alpha);
  return {.machine = {"a processor", 2, "6.1"},
          .date = "2026-01-01T00:00:00Z",
          .version = "1",
          .links = {link, oversubscribed},
          .gammas = {gamma}};
}

/// Links of `seconds a byte` between four hosts.
Profile between_hosts(double a_byte) {
  Profile profile = made_up();
  LinkProfile link = profile.links[1];
  link.transport = "tcp";
  link.cores = link.hosts = 4;
  link.exchange = curve([&](double) { return 1.5 * a_byte; }, 6 * alpha);  // sends 3/4, twice
  link.combining = curve([&](double) { return 1.65 * a_byte; }, 6 * alpha);
  profile.links = {link};
  return profile;
}

/// A file with this content, gone at the end.
class File {
 public:
  explicit File(const std::string& text) : path_(RONDO_TEST_FOLDER "/profile.json") {
    std::ofstream(path_) << text;
  }
  ~File() { std::filesystem::remove(path_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string refusal(const std::string& text) {
  const File file(text);
  try {
    read_profile(file.path());
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::invalid_argument);
    return error.what();
  }
  return "accepted";
}

std::string with(const std::string& from, const std::string& to) {
  std::string text = to_json(made_up()).dump();
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("seconds a byte are those of the samples, interpolated between them, constant beyond") {
  const Curve rising = curve([](double bytes) { return bytes < 2048 ? 1e-10 : 3e-10; });
  CHECK(seconds_a_byte(rising, 1024, alpha) == Approx(1e-10));
  CHECK(seconds_a_byte(rising, 65536, alpha) == Approx(3e-10));
  CHECK(seconds_a_byte(rising, 8192, alpha) == Approx(2e-10));  // half way along the logarithm
  CHECK(seconds_a_byte(rising, 1, alpha) == Approx(1e-10));
  CHECK(seconds_a_byte(rising, 1e12, alpha) == Approx(3e-10));
  CHECK(seconds_a_byte({}, 1024, alpha) == 0);
}

TEST_CASE("constants: half an exchange at each end, a core's time where ranks share it") {
  const Profile profile = made_up();
  CHECK(profile.links[0].copy(1 << 20) == Approx(2e-10));
  CHECK(profile.links[0].forward(1 << 20) == Approx(1.5e-10));
  // Each core has two ranks. A rank sends one block, sends two on for three quarters of a copy
  // each, and receives three. It does all of that twice.
  CHECK(profile.links[1].copy(1 << 20) == Approx(10e-10 / 2 / (2 * 5.5 / 4.0)));
  CHECK(profile.links[0].combined(1 << 20) == Approx(1e-10));
  CHECK(profile.links[1].combined(1 << 20) == Approx(3e-10 / 2 / (2 * 3 / 4.0)));
  CHECK(profile.links[0].fetched(1 << 20) == Approx(2e-10));
  CHECK(profile.links[0].fetched_combined(1 << 20) == Approx(4e-11));
  CHECK(profile.gammas[0].gamma(1 << 20) == Approx(5e-11));
  const Costs costs =
      profile.costs(profile.links[0], 1 << 20, DataType::float32, ReduceOperator::sum);
  CHECK(costs.alpha == Approx(alpha));
  CHECK(costs.copy == Approx(2e-10));
  CHECK(costs.gamma == Approx(1e-10));
  CHECK(costs.forward == Approx(1.5e-10));
  CHECK(costs.overlap == Approx(1));  // one way takes a copy's time
  CHECK(profile.links[1].overlap(1 << 20) == Approx(2 - 2e-10 / profile.links[1].copy(1 << 20)));
  CHECK(costs.processors == 2);
}

TEST_CASE("constants between hosts are a link's: seconds a byte each way, and a switch") {
  const Profile profile = between_hosts(1e-8);
  CHECK(profile.apart());
  CHECK_FALSE(made_up().apart());
  const LinkProfile& link = profile.link("tcp", 4);
  CHECK(profile.costs_of_links().network_beta == Approx(1e-8));
  CHECK(profile.costs_of_links().network_alpha == link.alpha.median);
  CHECK(profile.costs_of_links().memory_beta == 0);
  const MeasuredCosts inside = made_up().costs_of_links();
  const LinkProfile memory = made_up().links[0];
  CHECK(inside.memory_alpha == memory.alpha.median);
  CHECK(inside.memory_beta == memory.beta(1 << 20));
  CHECK(inside.gamma == memory.combined(1 << 20));
  CHECK(inside.network_beta == 0);
  CHECK(link.where() == "4 ranks, a host for each");
  CHECK_FALSE(link.oversubscribed());
  const Costs costs = profile.costs(link, 1 << 20, DataType::float32, ReduceOperator::sum);
  CHECK(costs.ports == Ports::switched);
  CHECK(costs.alpha == Approx(alpha));
  CHECK(costs.beta == Approx(1e-8));
  CHECK(costs.gamma == Approx(1e-9));
  CHECK(costs.copy == 0);
  CHECK(costs.processors == 0);
  const File file("");
  write_profile(profile, file.path());
  CHECK(to_json(read_profile(file.path())) == to_json(profile));
}

TEST_CASE("a number of ranks that was not measured takes the nearest that shares cores alike") {
  const Profile profile = made_up();
  CHECK(profile.link("shm", 2).ranks == 2);
  CHECK(profile.link("", 3).ranks == 4);  // of the first entry's transport
  CHECK(profile.link("shm", 3).ranks == 4);
  CHECK(profile.link("shm", 64).ranks == 4);
  CHECK_THROWS_WITH(profile.link("tcp", 2), Catch::Contains("shm of 2 ranks, shm of 4 ranks") &&
                                                Catch::Contains("--transport tcp"));
  CHECK_THROWS_WITH(profile.reduction(DataType::int8, ReduceOperator::sum),
                    Catch::Contains("--types int8"));
  CHECK(profile.reduction(DataType::float32, ReduceOperator::max).op == ReduceOperator::sum);
}

TEST_CASE("a profile is read as it was written") {
  const Profile profile = made_up();
  const File file("");
  write_profile(profile, file.path());
  const Profile again = read_profile(file.path());
  CHECK(to_json(again) == to_json(profile));
  CHECK(again.machine == profile.machine);
  CHECK_THROWS_AS(write_profile(profile, "/no/such/folder/profile.json"), Error);
}

TEST_CASE("bad profiles are refused in words") {
  CHECK_THAT(refusal("{"), Catch::Contains("it is not JSON, or is cut off"));
  CHECK_THAT(refusal("[1]"), Catch::Contains("it is not a calibration profile"));
  CHECK_THAT(refusal(with("\"schema\":3", "\"schema\":1")),
             Catch::Contains("its schema is 1, this rondo reads 3"));
  CHECK_THAT(refusal(with("\"hosts\":1", "\"hosts\":3")),
             Catch::Contains("\"hosts\" are neither 1 nor \"ranks\""));
  CHECK_THAT(refusal(with("\"hosts\":1", "\"hosts\":2")),
             Catch::Contains("\"links\" mixes one host and several hosts"));
  CHECK_THAT(refusal(with("\"alpha\"", "\"alfa\"")), Catch::Contains("\"alpha\" is missing"));
  CHECK_THAT(refusal(with("\"ranks\":2", "\"ranks\":-2")),
             Catch::Contains("\"ranks\" is not a whole number from 1 to 1000000"));
  CHECK_THAT(refusal(with("\"ranks\":2", "\"ranks\":1")),
             Catch::Contains("\"ranks\" of a link are not 2 or more"));
  CHECK_THAT(refusal(with("\"bytes\":1024.0", "\"bytes\":1e9")),
             Catch::Contains("the sizes of \"one_way\" do not grow"));
  CHECK_THAT(refusal(with("\"float32\"", "\"float31\"")),
             Catch::Contains("unknown type 'float31'"));
  CHECK_THAT(refusal(with("\"low\":1e-06", "\"low\":\"x\"")),
             Catch::Contains("\"low\" is not a number from 0 on"));
  CHECK_THROWS_WITH(read_profile("/no/such/file"),
                    Catch::Contains("no such file") && Catch::Contains("rondo calibrate"));
  CHECK_THAT(foreign_words(made_up()), Catch::Contains("another machine (a processor with 2"));
}

TEST_CASE("one beta for all sizes has the least error; the picture shows every curve") {
  CHECK(straight_beta(made_up().links[0].exchange, 2 * alpha) == Approx(4e-10));
  const std::string svg = plot_svg(made_up());
  CHECK_THAT(svg, Catch::StartsWith("<svg") && Catch::EndsWith("</svg>\n"));
  CHECK_THAT(svg, Catch::Contains("shm, 4 ranks on 2 cores") && Catch::Contains("float32 sum"));
  CHECK(svg.find("nan") == std::string::npos);
}

TEST_CASE("verdicts are medians over the sizes from 64 KiB on") {
  const auto row = [](const char* algorithm, double bytes, double predicted) {
    return CheckRow{
        .transport = "tcp", .algorithm = algorithm, .bytes = bytes, .ratio = exactly(predicted)};
  };
  const std::vector<CheckRow> rows{row("ring", 1024, 9.0), row("ring", 65536, 1.1),
                                   row("ring", 1e6, 0.8), row("ring", 1e7, 1.3),
                                   row("tree", 65536, 1.5)};
  const auto verdicts = verdicts_of(rows);
  REQUIRE(verdicts.size() == 2);
  CHECK(verdicts[0].off == Approx(0.2));
  CHECK(verdicts[1].off == Approx(0.5));
  CHECK_THAT(verdicts_text(verdicts, 30), Catch::Contains("within") && Catch::Contains("OFF"));
}

TEST_CASE("a call is compared with the constants of its own round") {
  const LinkProfile which{.transport = "tcp", .ranks = 2, .cores = 2};
  const double bytes = 1 << 20;
  Samples samples{.bytes = bytes};
  for (const double speed : {1.0, 2.0, 4.0}) {  // the machine slows down between rounds
    const double once = speed * (alpha + bytes * 4e-10);
    samples.seconds[trial::smallest].push_back(2 * speed * alpha);
    samples.seconds[trial::to_and_fro].push_back(2 * (once + speed * bytes * 4e-10));
    samples.seconds[trial::gather].push_back(once);
    samples.seconds[trial::scatter].push_back(once + speed * bytes * 5e-11);
    samples.seconds["ring"].push_back(2 * once + speed * bytes * 5e-11);
    samples.direct["ring"].push_back(0);
  }
  const std::vector<Samples> all{samples_from_json(to_json(samples))};
  const auto rows = check_rows({constants_of(which, all), {"ring"}, all});
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].ratio.low == Approx(1));
  CHECK(rows[0].ratio.high == Approx(1));
  CHECK(rows[0].measured.high == Approx(rows[0].predicted.high));
  CHECK(constants_of(which, all).alpha.median == Approx(2 * alpha));
  CHECK(constants_of(which, all, 2).alpha.median == Approx(4 * alpha));
}

TEST_CASE("the command measures, writes a profile that simulate and why take, and a picture") {
  const File file("");
  const std::string svg = file.path() + ".svg";
  const auto made = run_program(
      "calibrate --transport shm --sizes 1K,64K --rounds 3 "
      "--types float32,int32 --ops sum,bit_and --check --algorithms ring,default "
      "--limit 1000000 --output " +
      file.path() + " --plot " + svg);
  INFO(made.output);
  CHECK(made.status == 0);
  CHECK_THAT(made.output, Catch::Contains("shm, 2 ranks on") && Catch::Contains("exchange us") &&
                              Catch::Contains("direct ("));
  const Profile profile = read_profile(file.path());
  CHECK(profile.machine == this_machine());
  CHECK(profile.gammas.size() == 3);  // no bits of float32
  REQUIRE(profile.links.size() == 1);
  CHECK(profile.links[0].alpha.median > 0);
  CHECK(profile.links[0].exchange.size() == 2);
  CHECK(std::filesystem::file_size(svg) > 1000);
  std::filesystem::remove(svg);
  const auto simulated =
      run_program("simulate all_reduce --ranks 2 --bytes 64K --slice 32K --profile " + file.path());
  CHECK(simulated.status == 0);
  CHECK_THAT(simulated.output, Catch::Contains("s/byte at either end"));
  const auto why =
      run_program("why all_reduce 64K --ranks 2 --transport shm --profile " + file.path());
  CHECK(why.status == 0);
  CHECK_THAT(why.output, Catch::Contains("s/byte at either end"));
}

TEST_CASE("ranks of a launcher must be on hosts of their own") {
  const auto result = run_command("'" RONDORUN_PROGRAM "' -n 2 '" RONDO_PROGRAM "' calibrate");
  INFO(result.output);
  CHECK(result.status != 0);
  CHECK_THAT(result.output, Catch::Contains("started 2 times by a launcher") &&
                                Catch::Contains("some of these ranks share a host") &&
                                Catch::Contains("--ranks 2` without the launcher"));
}

/// What `rondo` says with these variables set, and no other variables of launchers.
Run launched_program(const std::string& variables, const std::string& arguments) {
  return run_command("env -u RANK -u WORLD_SIZE " + variables + " '" RONDO_PROGRAM "' " +
                     arguments);
}

TEST_CASE("calibrate counts a launcher's processes as the library does") {
  const std::string torchrun = "RANK=0 WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 MASTER_PORT=1";
  const std::string slurm =
      "SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=4 SLURM_STEP_NODELIST=here";
  struct Row {
    std::string variables;
    std::string arguments;
    std::string words;
  };
  for (const Row& row :
       {Row{torchrun, "calibrate --ranks 3", "but a launcher has started 3"},
        Row{slurm, "calibrate --ranks 3", "but a launcher has started 4"},
        Row{slurm + " " + torchrun, "calibrate --ranks 3", "but a launcher has started 3"},
        Row{torchrun, "calibrate --transport shm", "hosts share no memory"},
        Row{"RANK=0 WORLD_SIZE=1 SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=4",
            "calibrate --ranks 1", "from 2 to"}}) {
    INFO(row.variables << " " << row.arguments);
    const auto result = launched_program(row.variables, row.arguments);
    INFO(result.output);
    CHECK(result.status == 2);
    CHECK_THAT(result.output, Catch::Contains(row.words));
  }
}

// These are processes of one machine. By their host ids they take it for several machines.
TEST_CASE("ranks on several hosts measure the link between them, and why takes the profile") {
  const File file("");
  const auto made =
      run_command("'" RONDORUN_PROGRAM
                  "' -n 2 sh -c 'RONDO_HOSTID=host-$RANK exec \"$0\" \"$@\"' '" RONDO_PROGRAM
                  "' calibrate --sizes 1K,64K --rounds 3 --types float32 --check --algorithms "
                  "ring,double_tree,default --limit 1000000 --output " +
                  file.path());
  INFO(made.output);
  CHECK(made.status == 0);
  CHECK_THAT(made.output,
             Catch::Contains("tcp, 2 ranks, a host for each") && Catch::Contains("ns/B: beta"));
  const Profile profile = read_profile(file.path());
  CHECK(profile.apart());
  REQUIRE(profile.links.size() == 1);
  CHECK(profile.links[0].ranks == 2);
  CHECK(profile.links[0].exchange.back().seconds.median > 0);
  const std::string size_and_ranks =
      " all_reduce 64K --ranks 2 --transport tcp --profile " + file.path();
  const auto why = run_program("why --apart" + size_and_ranks);
  INFO(why.output);
  CHECK(why.status == 0);
  CHECK_THAT(why.output, Catch::Contains("with a switch"));
  const auto simulated = run_program("simulate all_reduce --ranks 2 --profile " + file.path());
  INFO(simulated.output);
  CHECK(simulated.status == 0);
  CHECK_THAT(simulated.output, Catch::Contains("with a switch"));
  const auto wrong = run_program("why" + size_and_ranks);
  CHECK(wrong.status == 2);
  CHECK_THAT(wrong.output, Catch::Contains("is of ranks on several hosts"));
}

TEST_CASE("wrong use of the command is told in words") {
  struct Case {
    const char* words;
    const char* told;
  };
  const auto wrong = GENERATE(values<Case>({
      {"calibrate --ranks 1", "--ranks 1"},
      {"calibrate --sizes 4M,1K", "do not ascend at 1K"},
      {"calibrate --sizes 7", "not between 64 bytes and 1 GiB"},
      {"calibrate --check --algorithms sing", "no algorithm 'sing'"},
      {"calibrate --types float31", "unknown type 'float31'"},
      {"calibrate --types float16,float32 --ops sum,bit_or",
       "bit_or combines the bits of integers, not of float16"},
      {"calibrate --transport pigeon", "pigeon"},
      {"calibrate --output /no/such/folder/profile", "cannot write '/no/such/folder/profile'"},
      {"calibrate --plot /", "cannot write '/' (--plot)"},
      {"calibrate --output ''", "--output is empty"},
      {"simulate all_reduce --profile /no/such/file", "no such file"},
      {"simulate all_reduce --transport tcp", "--profile"},
      {"simulate all_reduce --switch --profile any", "--profile excludes --switch"},
      {"simulate all_reduce --ports-per-lane --profile any", "--profile excludes --ports-per-lane"},
      {"simulate all_reduce --alpha 1e-6 --profile any", "--profile excludes --alpha"},
      {"why all_reduce 1K --profile any --gamma 0", "--profile excludes --gamma"},
      {"simulate all_reduce --slice 1", "slices"},
  }));
  const auto result = run_program(wrong.words);
  INFO(result.output);
  CHECK(result.status == 2);
  CHECK_THAT(result.output, Catch::Contains(wrong.told));
}
