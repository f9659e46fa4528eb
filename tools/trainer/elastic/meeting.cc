#include "tools/trainer/elastic/meeting.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <sstream>
#include <thread>
#include <vector>

#include "core/base/random_number.h"
#include "core/settings/settings.h"
#include "core/transport/host.h"
#include "tools/trainer/words.h"

namespace rondo::train {
namespace {

namespace fs = std::filesystem;

constexpr const char* request_ending = ".request";
constexpr const char* ticket_ending = ".ticket";
constexpr std::chrono::milliseconds between_looks{100};
constexpr std::chrono::milliseconds between_tries{20};

/// The text of a file that this user, and nobody else, could have written.
std::optional<std::string> read_privately(const fs::path& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  if (status.st_uid != ::geteuid() || (status.st_mode & 0077U) != 0) return std::nullopt;
  try {
    return read_whole(path);
  } catch (const Error&) {  // it has just been removed
    return std::nullopt;
  }
}

std::string host_name() { return this_host(read_config().host_id).host; }

/// Whether its process has died: it held a lock. Between hosts locks need not be seen.
bool is_forgotten(const fs::path& request, const std::string& host) {
  if (host != host_name()) return false;
  const UniqueFd file(::open(request.c_str(), O_RDONLY | O_CLOEXEC));
  return file && ::flock(file.get(), LOCK_SH | LOCK_NB) == 0;
}

void remove_quietly(const fs::path& path) {
  std::error_code ignored;
  fs::remove(path, ignored);
}

fs::path ticket_of(fs::path request) { return request.replace_extension(ticket_ending); }

void remove_both(const fs::path& request) {
  remove_quietly(request);
  remove_quietly(ticket_of(request));
}

/// Only this user may read it.
void answer(const fs::path& request, const std::string& text) {
  replace_file(ticket_of(request), text, 0600);
}

/// Nothing: the text is a refusal.
std::optional<Ticket> read_ticket(const std::string& text) {
  std::istringstream in(text);
  Ticket ticket;
  in >> ticket.rank >> ticket.ranks;
  in.get();
  in.read(ticket.id.bytes.data(), static_cast<std::streamsize>(ticket.id.bytes.size()));
  return in ? std::optional(ticket) : std::nullopt;
}

fs::path made_folder(const fs::path& folder) {
  std::error_code ignored;  // what is wrong shows when a file is written
  fs::create_directories(folder, ignored);
  return folder;
}

/// In the order of their names. None where the folder cannot be read.
std::vector<fs::path> files_in(const fs::path& folder, const char* ending) {
  std::vector<fs::path> files;
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(folder, problem))
    if (entry.path().extension() == ending) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

}  // namespace

Request::Request(const std::string& folder, std::uint64_t print)
    : request_(made_folder(folder) / ("join-" + std::to_string(random_number()) + request_ending)),
      file_(replace_file(request_, std::to_string(print) + " " + host_name(), 0600, true)) {}

Request::~Request() { remove_both(request_); }

Ticket Request::wait(std::chrono::milliseconds longest) {
  const auto end = std::chrono::steady_clock::now() + longest;
  while (std::chrono::steady_clock::now() < end) {
    if (const auto text = read_privately(ticket_of(request_))) {
      remove_both(request_);
      if (const auto ticket = read_ticket(*text)) return *ticket;
      throw Error(ErrorCode::invalid_argument, "the running training refuses this rank: " + *text);
    }
    std::this_thread::sleep_for(between_tries);
  }
  throw Error(ErrorCode::timeout,
              "no training answered in " + request_.parent_path().string() + " within " +
                  format("%.0f s", std::chrono::duration<double>(longest).count()),
              {.remedy = "the --checkpoint folder of a rondo-train --elastic that is running, or a "
                         "longer RONDO_BOOTSTRAP_TIMEOUT"});
}

Meeting::Meeting(const std::string& folder, std::uint64_t print)
    : folder_(made_folder(folder)), print_(print) {}

bool Meeting::somebody_waits() {
  const auto now = std::chrono::steady_clock::now();
  if (now - looked_ >= between_looks) {
    looked_ = now;
    look();
  }
  return !first_.empty();
}

void Meeting::look() {
  first_.clear();
  for (const fs::path& path : files_in(folder_, request_ending)) {
    const auto text = read_privately(path);
    std::istringstream in(text.value_or(""));
    std::uint64_t print = 0;
    std::string host;
    in >> print >> std::ws;
    if (!std::getline(in, host)) continue;
    if (is_forgotten(path, host)) {
      remove_both(path);
    } else if (print != print_) {
      answer(path, "it has other options or data. Try: those of the running training, and --join");
    } else if (first_.empty()) {
      first_ = path;
    }
  }
  for (fs::path path : files_in(folder_, ticket_ending)) {
    const fs::path ticket = path;
    std::error_code ignored;
    if (!fs::exists(path.replace_extension(request_ending), ignored)) remove_quietly(ticket);
  }
}

UniqueId Meeting::invite(int ranks) {
  const UniqueId id = make_unique_id();
  answer(first_, std::to_string(ranks - 1) + " " + std::to_string(ranks) + " " +
                     std::string(id.bytes.begin(), id.bytes.end()));
  return id;
}

void Meeting::close() {
  if (!first_.empty()) remove_both(first_);
  first_.clear();
  looked_ = {};  // others may wait
}

void Meeting::refuse(const std::string& words) {
  look();
  for (const fs::path& path : files_in(folder_, request_ending)) answer(path, words);
  first_.clear();
}

}  // namespace rondo::train
