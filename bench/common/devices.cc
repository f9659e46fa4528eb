#include "bench/common/devices.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "bench/common/gather.h"
#include "bench/floor/team.h"

extern char** environ;  // NOLINT: POSIX declares it nowhere else

namespace rondo::bench {
namespace {

constexpr std::array prefixes{"RONDO_",      "NCCL_", "MASTER_",     "RANK=",     "WORLD_SIZE=",
                              "LOCAL_RANK=", "SLURM", "LOCAL_WORLD", "OMPI_COMM", "PMI"};

/// Fixed length, to travel as bytes.
struct Record {
  int pid = 0;
  std::array<char, 64> host{};
  std::array<char, 128> model{};
};

template <std::size_t Size>
void copy_text(std::array<char, Size>& target, const std::string& text) {
  std::strncpy(target.data(), text.c_str(), Size - 1);
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

}  // namespace

std::vector<Device> gather_devices(Communicator& communicator, int threads) {
  Record own;
  own.pid = static_cast<int>(::getpid());
  copy_text(own.host, host_name());
  copy_text(own.model, cpu_model());
  std::vector<Device> devices;
  for (const Record& record : gather_all(communicator, own)) {
    const auto rank = static_cast<int>(devices.size());
    devices.push_back(
        {rank, 0, record.pid, record.host.data(), rank % threads, record.model.data()});
  }
  return devices;
}

std::vector<std::string> relevant_environment() {
  std::vector<std::string> found;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    for (const char* prefix : prefixes) {
      if (!text.starts_with(prefix)) continue;
      found.emplace_back(text);
      break;
    }
  }
  return found;
}

std::optional<double> required_bandwidth() {
  const char* text = std::getenv("NCCL_TESTS_MIN_BW");
  if (text == nullptr) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  if (end == text) return std::nullopt;
  return value;
}

}  // namespace rondo::bench
