// The protocol between the coordinator (bench/compare/run) and the ranks of a waiting job: lines.
//
//   rank:         hello RANK RANKS PID VERSION...
//   coordinator:  measure SUBJECT BYTES PAIRS CALLS SAMPLES SEED VARIANT warm|cold LIMIT
//   rank:         done WRONG SECONDS us,us,... us,us,...    (each sample: time a call, CPU a call)
//           or:   error WORDS...
//
// SUBJECT is a collective; one with unequal blocks has a pattern of counts: "all_gather_v:linear".
// PAIRS is the number of pairs of buffers that are used in turn. SECONDS is the time of the whole
// command. After LIMIT seconds the rank ends itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/compare/collective.h"

namespace rondo::compare {

struct Command {
  Subject subject{};
  std::size_t bytes = 0;
  std::size_t pairs = 1;
  int calls = 1;
  int samples = 1;
  std::size_t seed = 0;
  std::string variant{};
  bool cold = false;
  unsigned limit = 0;  ///< seconds
};

inline Command parse_command(const std::string& line) {
  std::istringstream words(line);
  std::string verb;
  std::string subject;
  std::string cache;
  Command command;
  words >> verb >> subject >> command.bytes >> command.pairs >> command.calls >> command.samples >>
      command.seed >> command.variant >> cache >> command.limit;
  const bool sane = command.bytes >= sizeof(float) && command.pairs > 0 && command.calls > 0 &&
                    command.samples > 0;
  if (!words || verb != "measure" || !sane || (cache != "warm" && cache != "cold")) {
    throw std::invalid_argument("not a command: '" + line + "'");
  }
  command.subject = parse_subject(subject);
  command.cold = cache == "cold";
  return command;
}

struct Reply {
  std::size_t wrong = 0;
  double seconds = 0;
  std::vector<double> call_us{};
  std::vector<double> processor_us{};
};

inline std::string to_line(const Reply& reply) {
  std::ostringstream line;
  line.precision(6);
  const auto list = [&line](const std::vector<double>& values) {
    const char* separator = " ";
    for (double value : values) {
      line << separator << value;
      separator = ",";
    }
  };
  line << "done " << reply.wrong << " " << reply.seconds;
  list(reply.call_us);
  list(reply.processor_us);
  return line.str();
}

}  // namespace rondo::compare
