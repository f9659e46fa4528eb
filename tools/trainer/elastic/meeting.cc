#include "tools/trainer/elastic/meeting.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <thread>
#include <vector>

#include "core/base/process_status.h"
#include "core/base/random_number.h"
#include "core/base/unique_fd.h"
#include "tools/trainer/checkpoint/file.h"
#include "tools/trainer/report/evidence.h"
#include "tools/trainer/words.h"

namespace rondo::train {
namespace {

namespace fs = std::filesystem;

constexpr const char* request_ending = ".request";
constexpr const char* ticket_ending = ".ticket";
constexpr std::chrono::milliseconds between_looks{100};
constexpr std::chrono::milliseconds between_tries{20};

/// Only this user may read it.
void write_privately(const fs::path& path, const std::string& text) {
  replace_file(path, text, 0600);
}

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

void remove_quietly(const fs::path& path) {
  std::error_code ignored;
  fs::remove(path, ignored);
}

fs::path ticket_of(fs::path request) { return request.replace_extension(ticket_ending); }

void remove_both(const fs::path& request) {
  remove_quietly(request);
  remove_quietly(ticket_of(request));
}

/// Who asks, as its request says.
struct Applicant {
  Candidate candidate{};
  std::uint64_t name_space = 0;
  int process = 0;
  std::uint64_t started = 0;
  std::string host{};

  static Applicant own(const Candidate& candidate) {
    const auto status = own_status();
    return {candidate, pid_namespace(), static_cast<int>(::getpid()), status ? status->started : 0,
            host_name()};
  }
  static std::optional<Applicant> parse(const std::string& text) {
    Applicant one;
    std::istringstream in(text);
    in >> one.candidate.settings >> one.candidate.data >> one.name_space >> one.process >>
        one.started >> std::ws;
    if (!std::getline(in, one.host)) return std::nullopt;
    return one;
  }
  std::string text() const {
    std::ostringstream out;
    out << candidate.settings << " " << candidate.data << " " << name_space << " " << process << " "
        << started << " " << host << "\n";
    return out.str();
  }
  /// Known only of processes that this one can see.
  bool is_dead() const {
    if (host != host_name() || name_space != pid_namespace() || started == 0) return false;
    const auto status = status_of(process);
    return !status || status->started != started || status->has_ended();
  }
};

std::string hex(const UniqueId& id) {
  std::string text;
  for (const char byte : id.bytes) text += format("%02x", static_cast<unsigned char>(byte));
  return text;
}

std::optional<Ticket> read_ticket(const std::string& text) {
  std::istringstream in(text);
  Ticket ticket;
  std::string digits;
  in >> ticket.rank >> ticket.ranks >> digits;
  if (!in || digits.size() != 2 * ticket.id.bytes.size()) return std::nullopt;
  for (std::size_t i = 0; i < ticket.id.bytes.size(); ++i)
    ticket.id.bytes[i] = static_cast<char>(std::stoi(digits.substr(2 * i, 2), nullptr, 16));
  return ticket;
}

void make_folder(const fs::path& folder) {
  std::error_code ignored;  // what is wrong shows when a file is written
  fs::create_directories(folder, ignored);
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

Request::Request(const std::string& folder, const Candidate& candidate) {
  make_folder(folder);
  request_ =
      fs::path(folder) /
      (format("join-%016llx", static_cast<unsigned long long>(random_number())) + request_ending);
  ticket_ = ticket_of(request_);
  write_privately(request_, Applicant::own(candidate).text());
}

Request::~Request() { remove_both(request_); }

Ticket Request::wait(std::chrono::milliseconds longest) {
  const auto end = std::chrono::steady_clock::now() + longest;
  while (std::chrono::steady_clock::now() < end) {
    if (const auto text = read_privately(ticket_)) {
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

Meeting::Meeting(std::string folder, const Candidate& own) : folder_(std::move(folder)), own_(own) {
  make_folder(folder_);
}

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
    const auto applicant = text ? Applicant::parse(*text) : std::nullopt;
    if (!applicant) continue;
    if (applicant->is_dead()) {
      remove_both(path);
    } else if (applicant->candidate.settings != own_.settings) {
      answer(path, "it has other options. Try: those of the running training, and --join");
    } else if (applicant->candidate.data != own_.data) {
      answer(path, "it has other data. Try: the same --data file");
    } else if (first_.empty()) {
      first_ = path;
    }
  }
  for (const fs::path& path : files_in(folder_, ticket_ending)) {
    fs::path request = path;
    std::error_code ignored;
    if (!fs::exists(request.replace_extension(request_ending), ignored)) remove_quietly(path);
  }
}

void Meeting::answer(const fs::path& request, const std::string& text) const {
  write_privately(ticket_of(request), text);
}

UniqueId Meeting::invite(int ranks) {
  const UniqueId id = make_unique_id();
  answer(first_, std::to_string(ranks - 1) + " " + std::to_string(ranks) + " " + hex(id));
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
