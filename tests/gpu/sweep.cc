// libnccl's calls on buffers of one GPU that all ranks share, for one size after another as in
// nccl-tests. Every element is checked. Each call is timed by itself and replayed in a graph.
#include <sched.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

#include "bench/common/size.h"
#include "tests/gpu/report.h"
#include "tests/gpu/sweep_ranks.h"

namespace rondo::gpu_test {
namespace {

using bench::Member;
using test::expect_cuda;
using Clock = std::chrono::steady_clock;

const std::map<std::string, Form> forms{{"threads", Form::threads},
                                        {"one_thread", Form::one_thread},
                                        {"one_stream", Form::one_stream},
                                        {"processes", Form::processes}};

struct Options {
  std::string form = "threads";
  std::vector<int> ranks{2, 4, 8};
  std::vector<std::string> programs{"all_reduce", "all_gather", "reduce_scatter",
                                    "broadcast",  "reduce",     "alltoall",
                                    "scatter",    "gather",     "sendrecv"};
  std::size_t from = 8;
  std::size_t to = std::size_t{256} << 20;
  std::size_t factor = 2;
  std::size_t graph_to = 8;      ///< larger calls are not replayed
  double seconds = 60;           ///< then nothing new is begun
  double point_seconds = 0.015;  ///< about how long one call of one size is repeated
};

double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Bytes that the device's own copies read and write a second.
double copy_bandwidth(std::size_t bytes) {
  const test::DeviceStream stream;
  const DeviceFloats from(bytes / sizeof(float));
  const DeviceFloats to(bytes / sizeof(float));
  std::vector<double> times;
  for (int turn = 0; turn < 12; ++turn) {
    const auto begin = Clock::now();
    for (int i = 0; i < 10; ++i)
      expect_cuda(cuMemcpyAsync(to.address(), from.address(), bytes, stream));
    stream.finish();
    if (turn >= 2) times.push_back(since(begin) / 10);
  }
  std::ranges::sort(times);
  return 2 * static_cast<double>(bytes) / times[times.size() / 2];
}

/// The sweep of one number of ranks, as one member of the team runs it.
class Sweep {
 public:
  Sweep(Member& member, const Options& options, int ranks, Clock::time_point begin)
      : member_(member),
        options_(options),
        form_(forms.at(options.form)),
        all_(ranks),
        begin_(begin),
        ranks_(member, form_, ranks, options.to / sizeof(float)) {}

  /// How many calls were wrong.
  int run() {
    if (member_.rank() == 0) {
      Line("memory")
          .text("form", options_.form)
          .number("ranks", all_)
          .number("device_bytes_of_all", ranks_.device_bytes())
          .number("device_bytes_of_one", ranks_.device_bytes() / all_);
    }
    int wrong = 0;
    for (const std::string& name : options_.programs) {
      const bench::Program& program = *bench::find_program(name + "_perf");
      for (std::size_t bytes = options_.from; bytes <= options_.to;
           bytes = bench::next_size(bytes, options_.factor, 0)) {
        const Point point{&program,
                          bench::shape_of(program, bytes, DataType::float32, {.ranks = all_})};
        if (point.shape.count > 0) wrong += check_and_measure(name, point);
      }
    }
    if (left_out_ > 0 && member_.rank() == 0) {
      Line("left_out")
          .text("form", options_.form)
          .number("ranks", all_)
          .number("sizes", left_out_)
          .text("reason", "no time was left");
    }
    return wrong;
  }

 private:
  /// Seconds of one of `calls` calls, on the slowest member.
  template <class Call>
  double seconds_of(int calls, const Call& call) {
    member_.meet();
    const auto begin = Clock::now();
    for (int i = 0; i < calls; ++i) call();
    ranks_.finish();
    return member_.largest(since(begin)) / calls;
  }

  int repeats(double seconds) const {
    return static_cast<int>(
        std::clamp(options_.point_seconds / std::max(seconds, 1e-9), 2.0, 200.0));
  }

  int check_and_measure(const std::string& name, const Point& point) {
    if (member_.largest(since(begin_)) > options_.seconds) {
      ++left_out_;
      return 0;
    }
    const auto call = [&] { ranks_.call(point); };
    ranks_.poison_outputs(point);
    seconds_of(1, call);  // the first one makes what later ones find
    const int calls = repeats(seconds_of(2, call));
    const double eager = seconds_of(calls, call);
    const double replayed = in_graph(point, calls);
    const double wrong = member_.largest(static_cast<double>(ranks_.count_wrong(point)));
    if (member_.rank() == 0) report(name, point, eager, replayed, wrong);
    return wrong > 0 ? 1 : 0;
  }

  /// The same in a graph; 0 where it is not measured.
  double in_graph(const Point& point, int calls) {
    const bool one_stream_each = form_ != Form::one_thread;
    if (!one_stream_each || point.shape.bytes > options_.graph_to) return 0;
    const int captured = std::min(calls, 20);
    const test::CapturedGraph graph(ranks_.stream(), [&] {
      for (int i = 0; i < captured; ++i) ranks_.call(point);
    });
    const auto launch = [&] { graph.launch(ranks_.stream()); };
    seconds_of(1, launch);
    return seconds_of(5, launch) / captured;
  }

  void report(const std::string& name, const Point& point, double seconds, double replayed,
              double wrong) const {
    const bench::Bandwidth bandwidth =
        bench::bandwidth_of(*point.program, point.shape, all_, 0, seconds);
    Line line("sweep");
    line.text("form", options_.form)
        .number("ranks", all_)
        .text("collective", name)
        .number("bytes", static_cast<double>(point.shape.bytes))
        .number("count", static_cast<double>(point.shape.count))
        .text("type", "float")
        .text("redop", info(point.program->collective).reduces ? "sum" : "none")
        .number("microseconds", seconds * 1e6)
        .number("algbw", bandwidth.algbw)
        .number("busbw", bandwidth.busbw)
        .number("wrong", wrong);
    if (replayed > 0) line.number("microseconds_in_graph", replayed * 1e6);
  }

  Member& member_;
  const Options& options_;
  const Form form_;
  const int all_;
  const Clock::time_point begin_;
  int left_out_ = 0;
  Ranks ranks_;
};

void report_copy(Member& member, const Options& options) {
  cuCtxSetCurrent(test::device_context(0));
  if (member.rank() == 0) {
    Line("copy")
        .text("form", options.form)
        .number("bytes", static_cast<double>(options.to))
        .number("gigabytes_per_second", copy_bandwidth(options.to) * 1e-9);
  }
  member.meet();
}

/// The threads that the library makes run where they like.
void unbind() {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int core = 0; core < CPU_SETSIZE; ++core) CPU_SET(core, &all);
  sched_setaffinity(0, sizeof(all), &all);
}

int sweep(const Options& options) {
  const Form form = forms.at(options.form);
  const bool one = form == Form::one_thread || form == Form::one_stream;
  const auto begin = Clock::now();
  const bench::SharedMemory memory(sizeof(int));
  int& wrong = *new (memory.data()) int(0);  // written by member 0 alone, read when it has ended
  bool first = true;
  for (const int ranks : options.ranks) {
    const auto body = [&, copies = first](Member& member) {
      const std::string obstacle = form == Form::processes ? driver_obstacle() : std::string();
      if (!obstacle.empty()) throw std::runtime_error(obstacle);
      if (form == Form::processes) unbind();
      if (copies) report_copy(member, options);
      const int here = Sweep(member, options, ranks, begin).run();
      if (member.rank() == 0) wrong += here;
    };
    if (form == Form::processes) {
      bench::run_team(ranks, body);
    } else {
      bench::run_threads(one ? 1 : ranks, body);
    }
    first = false;
  }
  return wrong;
}

}  // namespace
}  // namespace rondo::gpu_test

int main(int count, char** arguments) {
  using namespace rondo::gpu_test;
  namespace bench = rondo::bench;
  Options options;
  CLI::App app(
      "libnccl's calls by ranks that share one GPU: each element checked, each call timed.");
  const auto add_size = [&](const char* name, std::size_t& target, const char* help) {
    app.add_option_function<std::string>(
        name,
        [&target, name](const std::string& text) {
          const auto bytes = bench::parse_size(text);
          if (!bytes || *bytes < sizeof(float)) throw CLI::ValidationError(name, "not a size");
          target = *bytes;
        },
        help);
  };
  std::vector<std::string> names;
  for (const auto& form : forms) names.push_back(form.first);
  app.add_option("--form", options.form, "how ranks run")->check(CLI::IsMember(names));
  app.add_option("--ranks", options.ranks, "numbers of ranks")
      ->delimiter(',')
      ->check(CLI::Range(1, 64));
  app.add_option("--collectives", options.programs, "nccl-tests' names without _perf")
      ->delimiter(',')
      ->check(CLI::IsMember(Options().programs));
  add_size("--from", options.from, "smallest size");
  add_size("--to", options.to, "largest size");
  app.add_option("--factor", options.factor, "from size to size")->check(CLI::Range(2, 1 << 20));
  add_size("--graph-to", options.graph_to, "largest size replayed in a graph");
  app.add_option("--seconds", options.seconds, "then nothing new is begun");
  app.add_option("--point-seconds", options.point_seconds, "of one call's repetition");
  CLI11_PARSE(app, count, arguments);
  // Processes come from one that has not met the driver, so each asks it by itself.
  const std::string obstacle =
      forms.at(options.form) == Form::processes ? std::string() : driver_obstacle();
  return program(obstacle, [&] { return sweep(options); });
}
