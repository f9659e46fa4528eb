#include "bench/common/options.h"

#include <CLI/CLI.hpp>
#include <array>
#include <charconv>

#include "bench/common/names.h"
#include "bench/common/size.h"

namespace rondo::bench {
namespace {

/// nccl-tests' options about GPUs. They are accepted, so that its command lines work here, and a
/// note says why they do nothing.
struct Foreign {
  const char* flags;
  const char* reason;
};
constexpr std::array foreign_options{
    Foreign{"-g,--ngpus", "ranks run on CPUs; -t starts ranks as threads"},
    Foreign{"-p,--parallel_init", "threads always join in parallel"},
    Foreign{"-y,--stream_null", "there are no streams on CPUs"},
    Foreign{"-G,--cudagraph", "there are no CUDA graphs on CPUs"},
    Foreign{"-R,--local_register", "host memory needs no registration"},
    Foreign{"-x,--cta_policy", "there are no CTAs on CPUs"},
    Foreign{"-D,--device_implementation", "there is no device API on CPUs"},
    Foreign{"-V,--device_cta_count", "there are no CTAs on CPUs"},
    Foreign{"-M,--memory", "there is no GPU memory to report"},
};

[[noreturn]] void refuse(const std::string& option, const std::string& text,
                         const std::string& remedy) {
  throw CLI::ValidationError(option, "'" + text + "' " + remedy);
}

void add_size(CLI::App& app, const std::string& flags, std::size_t& target,
              const std::string& help) {
  const auto read = [&target, flags](const std::string& text) {
    const auto bytes = parse_size(text);
    if (!bytes) refuse(flags, text, "is not a size; write e.g. 8, 64K, 16M or 1G");
    target = *bytes;
  };
  app.add_option_function<std::string>(flags, read, help + " [" + format_size(target) + "]")
      ->type_name("SIZE");
}

constexpr long no_limit = 1L << 30;

/// A whole number in [least, most], handed to `set`.
template <class Set>
CLI::Option* add_whole(CLI::App& app, const std::string& flags, long least, long most,
                       const std::string& help, Set set) {
  const std::string range = most == no_limit
                                ? std::to_string(least) + " or more"
                                : std::to_string(least) + " to " + std::to_string(most);
  const auto read = [flags, least, most, range, set](const std::string& text) {
    long value = 0;
    const char* end = text.data() + text.size();
    const auto result = std::from_chars(text.data(), end, value);
    if (result.ec != std::errc{} || result.ptr != end || value < least || value > most) {
      refuse(flags, text, "is not a whole number, " + range);
    }
    set(value);
  };
  return app.add_option_function<std::string>(flags, read, help)->type_name("N");
}

template <class Number>
void add_number(CLI::App& app, const std::string& flags, Number& target, long least,
                const std::string& help, long most = no_limit) {
  add_whole(app, flags, least, most, help + " [" + std::to_string(target) + "]",
            [&target](long value) { target = static_cast<Number>(value); });
}

void add_switch(CLI::App& app, const std::string& flags, bool& target, const std::string& help) {
  add_whole(app, flags, 0, 1, help + (target ? " [1]" : " [0]"), [&target](long value) {
    target = value != 0;
  })->type_name("0|1");
}

void add_sweep(CLI::App& app, Options& options) {
  add_size(app, "-b,--minbytes", options.minimum_bytes, "smallest size");
  add_size(app, "-e,--maxbytes", options.maximum_bytes, "largest size");
  add_size(app, "-i,--stepbytes", options.step_bytes, "step between sizes, where -f is 1");
  add_number(app, "-f,--stepfactor", options.step_factor, 1,
             "factor between sizes; 1: add -i instead");
  add_number(app, "-n,--iters", options.iterations, 1, "timed iterations");
  add_number(app, "-m,--agg_iters", options.aggregated, 1, "calls issued together per iteration");
  add_number(app, "-w,--warmup_iters", options.warmup, 0, "iterations before the timed ones");
  add_number(app, "-N,--run_cycles", options.cycles, 0, "repeats of the sweep; 0: until stopped");
  add_number(app, "-c,--check", options.checks, 0, "checked calls per size; 0: none");
}

void add_selection(CLI::App& app, Options& options) {
  const auto read_types = [&options](const std::string& text) {
    options.types = select_types(text);
    if (options.types.empty()) refuse("-d", text, "is no data type; known: " + known_types());
  };
  const auto read_operators = [&options](const std::string& text) {
    options.operators = select_operators(text);
    if (options.operators.empty())
      refuse("-o", text, "is no operator; known: " + known_operators());
  };
  const auto read_root = [&options](const std::string& text) {
    const auto root = parse_size(text);
    if (text == "all" || text == "-1") {
      options.root = -1;
    } else if (root && *root < (1U << 30)) {
      options.root = static_cast<int>(*root);
    } else {
      refuse("-r", text, "is no rank; write a number or all");
    }
  };
  app.add_option_function<std::string>(
         "-o,--op", read_operators,
         "operator: " + known_operators() + " [sum]; bit_* need an integer type")
      ->type_name("OP");
  app.add_option_function<std::string>("-d,--datatype", read_types,
                                       "data type: " + known_types() + " [float]")
      ->type_name("TYPE");
  app.add_option_function<std::string>("-r,--root", read_root, "root rank, or all [0]")
      ->type_name("RANK");
}

void add_reporting(CLI::App& app, Options& options) {
  add_number(app, "-z,--blocking", options.blocking, 0,
             "0, 2: no barriers; 1: a barrier after each call, timed; 3: a barrier after each "
             "iteration, not timed",
             3);
  add_number(app, "-T,--timeout", options.timeout_seconds, 0,
             "give up after this many seconds without progress; 0: RONDO_TIMEOUT");
  add_switch(app, "-C,--report_cputime", options.cpu_time,
             "CPU time of the calling thread instead of elapsed time");
  add_switch(app, "-S,--report_timestamps", options.timestamps, "a column with the time of day");
  app.add_option("-J,--output_file", options.output_file,
                 "also write the results as JSON; a file that exists is kept")
      ->type_name("FILE");
  add_whole(app, "-a,--average", 0, 3, "time over ranks: 0 rank 0, 1 mean, 2 min, 3 max [1]",
            [&options](long value) { options.average = static_cast<Average>(value); })
      ->type_name("0..3");
  add_number(app, "-u,--unalign", options.misalign, 0,
             "elements before the first one, to misalign buffers", 4096);
  add_switch(app, "-I,--per_iter_timing", options.per_iteration, "statistics of single iterations");
  add_number(app, "-K,--per_iter_skip", options.per_iteration_skip, 0,
             "leave the first N iterations out of these statistics");
}

void add_own(CLI::App& app, Options& options) {
  add_number(app, "-t,--nthreads", options.threads, 1, "ranks as threads of this process", 4096);
  app.add_option("--algorithm", options.algorithm,
                 "only these, e.g. ring, or all but these: ^ring; as RONDO_ALGORITHM")
      ->type_name("NAMES");
  app.add_option("--schedule", options.schedule,
                 "only the algorithm of this text, a schedule of your own; see `rondo schedule`")
      ->type_name("FILE");
  app.add_option("--transport", options.transport,
                 "only these, e.g. tcp, or all but these: ^shm; as RONDO_TRANSPORT")
      ->type_name("NAMES");
  add_whole(app, "--reproducible", 0, 1,
            "1: the same bits with every algorithm; as RONDO_REPRODUCIBLE",
            [&options](long value) { options.reproducible = value != 0; })
      ->type_name("0|1");
  const auto read_accumulation = [&options](const std::string& text) {
    if (text != "type" && text != "wide") refuse("--accumulate", text, "is neither type nor wide");
    options.accumulate_wide = text == "wide";
  };
  app.add_option_function<std::string>("--accumulate", read_accumulation,
                                       "wide: add floats in a wider type; as RONDO_ACCUMULATE")
      ->type_name("type|wide");
  add_whole(app, "--checksum", 0, 1,
            "1: data that changes between ranks is an error; as RONDO_CHECKSUM",
            [&options](long value) { options.checksum = value != 0; })
      ->type_name("0|1");
  const auto read_pattern = [&options](const std::string& text) {
    options.count_pattern = parse_count_pattern(text);
    if (!options.count_pattern)
      refuse("--counts", text,
             "is no pattern of counts; known: " + std::string(known_count_patterns));
  };
  app.add_option_function<std::string>(
         "--counts", read_pattern,
         "blocks of different sizes (all_gather_v, ...), by a pattern: " +
             std::string(known_count_patterns))
      ->type_name("PATTERN");
  add_switch(app, "--fresh", options.fresh,
             "use up to 4 buffers in turn, with different data; 0: one buffer");
}

void add_foreign(CLI::App& app, Options& options) {
  for (const Foreign& row : foreign_options) {
    const auto note = [&options, row](const std::string&) {
      options.notes.push_back(std::string(row.flags) + " is ignored: " + row.reason);
    };
    app.add_option_function<std::string>(row.flags, note,
                                         std::string("accepted, ignored: ") + row.reason)
        ->type_name("X");
  }
}

/// Checks limits that involve two options.
void check_together(Options& options, Collective collective) {
  if (options.kinds(collective).empty()) {
    const ReduceOperator op = options.operators.front();
    refuse(
        "-o,--op", std::string(name(op)),
        applies_to(op, collective)
            ? "combines the bits of integers, not of " +
                  std::string(column_name(options.types.front())) + "; add e.g. -d int32"
            : "divides by the number of all ranks, but a scan's sums have fewer; use e.g. -o sum");
  }
  if (options.minimum_bytes > options.maximum_bytes) {
    refuse("-b,--minbytes", format_size(options.minimum_bytes),
           "is more than -e,--maxbytes " + format_size(options.maximum_bytes));
  }
  if (options.per_iteration_skip >= options.iterations) {
    refuse("-K,--per_iter_skip", std::to_string(options.per_iteration_skip),
           "leaves no iteration of -n " + std::to_string(options.iterations));
  }
  if (options.per_iteration_skip > 0 && !options.per_iteration) {
    options.notes.push_back("-K,--per_iter_skip is ignored: it needs -I 1");
    options.per_iteration_skip = 0;
  }
}

}  // namespace

std::vector<std::size_t> Options::sizes() const {
  std::vector<std::size_t> list;
  for (std::size_t size = minimum_bytes; size <= maximum_bytes;
       size = next_size(size, step_factor, step_bytes)) {
    list.push_back(size);
  }
  return list;
}

std::vector<Kinds> Options::kinds(Collective collective) const {
  std::vector<Kinds> list;
  for (const DataType type : types) {
    if (!info(collective).reduces) {
      list.push_back({type, operators.front()});
      continue;
    }
    for (const ReduceOperator op : operators) {
      if (applies_to(op, type) && applies_to(op, collective)) list.push_back({type, op});
    }
  }
  return list;
}

Command<Options> parse_options(std::string_view program, Collective collective, int argc,
                               const char* const* argv) {
  Command<Options> command;
  Options& options = command.options;
  CLI::App app("Measures and checks a collective of rondo, as nccl-tests does for NCCL.",
               std::string(program));
  app.get_formatter()->column_width(36);
  add_own(app, options);
  add_sweep(app, options);
  add_selection(app, options);
  add_reporting(app, options);
  add_foreign(app, options);
  parse(app, argc, argv, command, [&] { check_together(options, collective); });
  return command;
}

}  // namespace rondo::bench
