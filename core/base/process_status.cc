#include "core/base/process_status.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <sstream>

#include "core/base/unique_fd.h"

namespace rondo {
namespace {

/// `process`: a pid or "self". Reads without a stream, which may throw if the process ends
/// meanwhile.
std::optional<ProcessStatus> read_status(const std::string& process) {
  const UniqueFd file(::open(("/proc/" + process + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 2048> bytes;  // 52 numbers and a name
  const ssize_t count = file ? ::read(file.get(), bytes.data(), bytes.size()) : -1;
  if (count <= 0) return std::nullopt;
  return ProcessStatus::parse(std::string(bytes.data(), static_cast<std::size_t>(count)));
}

}  // namespace

/// "pid (name) state ...": the name may hold anything, also blanks and brackets. The fields after
/// it hold neither.
std::optional<ProcessStatus> ProcessStatus::parse(const std::string& line) {
  constexpr int first_after_name = 3;  // fields are numbered from 1, as in proc(5)
  constexpr int threads_field = 20;
  constexpr int started_field = 22;
  const auto name_end = line.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  ProcessStatus status;
  std::istringstream(line) >> status.number;
  std::istringstream fields(line.substr(name_end + 1));
  fields >> status.state;
  std::string other;
  for (int field = first_after_name + 1; field < threads_field; ++field) fields >> other;
  fields >> status.threads;
  for (int field = threads_field + 1; field < started_field; ++field) fields >> other;
  if (!(fields >> status.started)) return std::nullopt;
  return status;
}

bool ProcessStatus::has_ended() const {
  if (state == 'X' || state == 'x') return true;
  return state == 'Z' && threads <= 1;
}

std::optional<ProcessStatus> own_status() { return read_status("self"); }

std::optional<ProcessStatus> status_of(int number) {
  const auto own = own_status();
  if (!own || own->number != ::getpid()) return std::nullopt;
  return read_status(std::to_string(number));
}

std::uint64_t pid_namespace() {
  struct stat found {};
  return ::stat("/proc/self/ns/pid", &found) == 0 ? found.st_ino : 0;
}

}  // namespace rondo
