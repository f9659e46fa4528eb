// The command line: nccl-tests' options, their defaults, and clear refusals.
#include "bench/common/options.h"

#include "core/base/text.h"
#include "tests/catch.h"

using namespace rondo;
using namespace rondo::bench;

namespace {

Command<bench::Options> parse(std::vector<const char*> arguments,
                              Collective collective = Collective::all_reduce) {
  arguments.insert(arguments.begin(), "all_reduce_perf");
  return parse_options("all_reduce_perf", collective, static_cast<int>(arguments.size()),
                       arguments.data());
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("defaults are nccl-tests'") {
  const Command<bench::Options> parsed = parse({});
  REQUIRE_FALSE(parsed.status);
  const bench::Options& options = parsed.options;
  CHECK(options.sizes() == std::vector<std::size_t>{std::size_t{32} << 20});
  CHECK(options.iterations == 20);
  CHECK(options.warmup == 1);
  CHECK(options.checks == 1);
  CHECK(options.average == Average::mean);
  CHECK(options.types == std::vector<DataType>{DataType::float32});
  CHECK(options.operators == std::vector<ReduceOperator>{ReduceOperator::sum});
  CHECK(options.root == 0);
  CHECK(options.fresh);
  CHECK_FALSE(options.reproducible);
  CHECK_FALSE(options.accumulate_wide);
  CHECK_FALSE(options.checksum);
  CHECK_FALSE(options.count_pattern);
}

TEST_CASE("every option is read, short and long") {
  const std::vector<std::string> words = split(
      "-t 4 -b 8 -e 64K -f 8 -n 5 -m 2 -w 3 -N 0 -c 2 -o max -d half -r 3 -z 3 -T 9 "
      "-C 1 -S 1 -J out -a 3 -u 1 -I 1 -K 4 --algorithm ring --transport ^shm --fresh 0 "
      "--reproducible 1 --accumulate wide --checksum 1 --counts random:5",
      ' ');
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  const Command<bench::Options> parsed = parse(arguments);
  CAPTURE(parsed.text);
  REQUIRE_FALSE(parsed.status);
  const bench::Options& options = parsed.options;
  CHECK(options.threads == 4);
  CHECK(options.sizes() == std::vector<std::size_t>{8, 64, 512, 4096, 32768});
  CHECK(options.iterations == 5);
  CHECK(options.aggregated == 2);
  CHECK(options.warmup == 3);
  CHECK(options.cycles == 0);
  CHECK(options.checks == 2);
  CHECK(options.operators == std::vector<ReduceOperator>{ReduceOperator::max});
  CHECK(options.types == std::vector<DataType>{DataType::float16});
  CHECK(options.root == 3);
  CHECK(options.blocking == 3);
  CHECK(options.timeout_seconds == 9);
  CHECK(options.cpu_time);
  CHECK(options.timestamps);
  CHECK(options.output_file == "out");
  CHECK(options.average == Average::max);
  CHECK(options.misalign == 1);
  CHECK(options.per_iteration);
  CHECK(options.per_iteration_skip == 4);
  CHECK(options.algorithm == "ring");
  CHECK(options.transport == "^shm");
  CHECK(options.reproducible == true);
  CHECK(options.accumulate_wide == true);
  CHECK(options.checksum == true);
  REQUIRE(options.count_pattern);
  CHECK(to_string(*options.count_pattern) == "random:5");
  CHECK_FALSE(options.fresh);
}

TEST_CASE("all selects every type, operator and root") {
  const Command<bench::Options> parsed = parse({"-d", "all", "-o", "all", "-r", "all"});
  REQUIRE_FALSE(parsed.status);
  CHECK(parsed.options.types.size() == data_types.size());
  CHECK(parsed.options.operators.size() == reduce_operators.size());
  CHECK(parsed.options.root == -1);
  CHECK(parse({"--root=-1"}).options.root == -1);
}

TEST_CASE("a sweep combines types and operators that go together") {
  const auto all = parse({"-d", "all", "-o", "all"}).options.kinds(Collective::all_reduce);
  CHECK(all.size() == 8 * reduce_operators.size() + 6 * (reduce_operators.size() - 3));
  for (const Kinds& kinds : all) CHECK(applies_to(kinds.op, kinds.type));
  CHECK(parse({"-o", "all"}).options.kinds(Collective::all_reduce).size() ==
        reduce_operators.size() - 3);
  CHECK(parse({"-d", "all", "-o", "bit_or"}).options.kinds(Collective::all_reduce).size() == 8);
  CHECK(parse({"-d", "all", "-o", "all"}, Collective::all_gather)
            .options.kinds(Collective::all_gather)
            .size() == data_types.size());
  CHECK_FALSE(parse({"-o", "bit_xor"}, Collective::all_gather).status);  // it means nothing there
}

TEST_CASE("rondo's own type names are aliases") {
  CHECK(parse({"-d", "float8_e4m3"}).options.types == parse({"-d", "f8e4m3"}).options.types);
  CHECK(parse({"-d", "float16"}).options.types == parse({"-d", "half"}).options.types);
}

TEST_CASE("sizes step linearly without a factor") {
  CHECK(parse({"-b", "1K", "-e", "4K", "-i", "1K"}).options.sizes() ==
        std::vector<std::size_t>{1024, 2048, 3072, 4096});
  CHECK(parse({"-b", "0", "-e", "8", "-f", "2"}).options.sizes() == std::vector<std::size_t>{0});
  CHECK(parse({"-b", "8", "-e", "16", "-i", "0"}).options.sizes() == std::vector<std::size_t>{8});
}

TEST_CASE("options of GPUs are accepted with one line each") {
  const Command<bench::Options> parsed = parse({"-g", "1", "-G", "2", "-y", "0", "-R", "1", "-x",
                                                "0", "-D", "0", "-V", "4", "-p", "1", "-M", "1"});
  REQUIRE_FALSE(parsed.status);
  CHECK(parsed.options.notes.size() == 9);
  CHECK(contains(parsed.options.notes.front(), "-g,--ngpus is ignored: ranks run on CPUs"));
}

TEST_CASE("a bad option is refused with what is wrong and what to write") {
  struct Bad {
    std::vector<const char*> arguments;
    const char* says;
  };
  const std::vector<Bad> bad{
      {{"-b", "8Q"}, "-b,--minbytes: '8Q' is not a size; write e.g. 8, 64K, 16M or 1G"},
      {{"-d", "float7"}, "'float7' is no data type; known: int8, uint8"},
      {{"-o", "mulsum"}, "'mulsum' is no operator; known: sum, prod"},
      {{"-o", "bit_xor"},
       "-o,--op: 'bit_xor' combines the bits of integers, not of float; add e.g. -d int32"},
      {{"-o", "bit_and", "-d", "half"}, "combines the bits of integers, not of half"},
      {{"-r", "x"}, "'x' is no rank; write a number or all"},
      {{"-b", "2M", "-e", "1M"}, "'2 MB' is more than -e,--maxbytes 1 MB"},
      {{"-I", "1", "-K", "20"}, "leaves no iteration of -n 20"},
      {{"-n", "0"}, "-n,--iters: '0' is not a whole number, 1 or more"},
      {{"-a", "4"}, "-a,--average: '4' is not a whole number, 0 to 3"},
      {{"-z", "many"}, "-z,--blocking: 'many'"},
      {{"--counts", "odd"}, "'odd' is no pattern of counts; known: even, linear, one, random"},
      {{"--nonsense"}, "--nonsense"},
      {{"-t"}, "--nthreads"}};
  for (const Bad& row : bad) {
    const Command<bench::Options> parsed = parse(row.arguments);
    CAPTURE(parsed.text, row.says);
    CHECK(parsed.status == 2);
    CHECK(contains(parsed.text, row.says));
    CHECK(contains(parsed.text, "all_reduce_perf: "));
  }
}

TEST_CASE("help lists the options and ends with status 0") {
  const Command<bench::Options> parsed = parse({"-h"});
  CHECK(parsed.status == 0);
  for (const char* option : {"--minbytes", "--stepfactor", "--transport", "--algorithm", "--fresh",
                             "--ngpus", "--per_iter_skip"}) {
    CHECK(contains(parsed.text, option));
  }
}
