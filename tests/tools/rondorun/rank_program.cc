// A rank for the launcher's tests: behaves in the way that its first argument names.
#include <dirent.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace {

using Arguments = std::vector<std::string>;

std::string variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value != nullptr ? value : "(unset)";
}

int rank() { return std::atoi(variable("RANK").c_str()); }

void put(int fd, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(fd, text.data() + done, text.size() - done);
    if (count < 0 && errno != EINTR) std::exit(90);
    if (count > 0) done += static_cast<std::size_t>(count);
  }
}

/// Tells the test that this rank has come so far.
void announce() {
  put(1, "up " + std::to_string(rank()) + " " + std::to_string(::getpid()) + "\n");
}

[[noreturn]] void wait_forever() {
  while (true) ::pause();
}

/// NAME...: prints one line with the values of these variables.
int environment(const Arguments& names) {
  std::string line;
  for (const std::string& name : names)
    line += (line.empty() ? "" : " ") + name + "=" + variable(name);
  put(1, line + "\n");
  return 0;
}

/// Prints its arguments, one a line, in brackets, and then its working directory.
int arguments(const Arguments& words) {
  std::string text;
  for (const std::string& word : words) text += "[" + word + "]\n";
  std::array<char, 4096> directory{};
  if (::getcwd(directory.data(), directory.size()) == nullptr) return 1;
  put(1, text + directory.data() + "\n");
  return 0;
}

int input(const Arguments&) {
  std::string text;
  std::array<char, 256> buffer;
  for (ssize_t count; (count = ::read(0, buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(count));
  put(1, "rank " + std::to_string(rank()) + " read '" + text + "'\n");
  return 0;
}

int up(const Arguments&) {
  announce();
  wait_forever();
}

/// STATUS RANK: that rank exits with this status, the others wait.
int leave(const Arguments& words) {
  return rank() == std::stoi(words.at(1)) ? std::stoi(words.at(0)) : up({});
}

int stubborn(const Arguments&) {
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) ::signal(number, SIG_IGN);
  return up({});
}

/// Names each signal; exits with success after one that asks to end.
int polite(const Arguments&) {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2}) sigaddset(&set, number);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  announce();
  while (true) {
    const int number = ::sigwaitinfo(&set, nullptr);
    if (number < 0) continue;
    put(1, "rank " + std::to_string(rank()) + " got " + std::to_string(number) + "\n");
    if (number != SIGUSR1 && number != SIGUSR2) return 0;
  }
}

/// LINES: writes so many lines to both streams, in pieces that end anywhere.
int flood(const Arguments& words) {
  const int lines = std::stoi(words.at(0));
  std::string text;
  for (int line = 0; line < lines; ++line)
    text += std::to_string(rank()) + " " + std::to_string(line) + " " +
            std::string(static_cast<std::size_t>(line % 97), 'x') + ".\n";
  for (std::size_t begin = 0; begin < text.size(); begin += 1009) {
    put(1, text.substr(begin, 1009));
    put(2, text.substr(begin, 1009));
  }
  return 0;
}

/// TEXT [wait]: prints the text without a newline.
int print(const Arguments& words) {
  put(1, words.at(0));
  if (words.size() > 1) wait_forever();
  return 0;
}

int descriptors(const Arguments&) {
  std::vector<int> open;
  DIR* directory = ::opendir("/proc/self/fd");
  for (const dirent* entry; (entry = ::readdir(directory)) != nullptr;)
    if (entry->d_name[0] != '.' && std::atoi(entry->d_name) != ::dirfd(directory))
      open.push_back(std::atoi(entry->d_name));
  ::closedir(directory);
  std::sort(open.begin(), open.end());
  std::string line;
  for (const int fd : open) line += std::to_string(fd) + " ";
  put(1, line + "\n");
  return 0;
}

int terminal(const Arguments&) {
  put(1, ::isatty(1) == 1 ? "a terminal\n" : "no terminal\n");
  return up({});
}

int cores(const Arguments&) {
  cpu_set_t set;
  ::sched_getaffinity(0, sizeof set, &set);
  put(1, std::to_string(CPU_COUNT(&set)) + "\n");
  return 0;
}

/// leave|stay: starts a process that leaves group and terminal and ignores what can be ignored, and
/// then exits or waits.
int daemon(const Arguments& words) {
  int ends[2];
  if (::pipe(ends) != 0) return 1;
  const pid_t between = ::fork();
  if (between == 0) {
    ::setsid();
    if (::fork() != 0) ::_exit(0);
    for (const int number : {SIGTERM, SIGHUP, SIGINT}) ::signal(number, SIG_IGN);
    put(ends[1], "x");
    wait_forever();
  }
  char byte = 0;
  if (::read(ends[0], &byte, 1) != 1) return 1;
  ::waitpid(between, nullptr, 0);  // the test counts processes
  announce();
  if (words.at(0) == "stay") wait_forever();
  return 0;
}

sockaddr_in meeting_point() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(variable("MASTER_PORT"))));
  return address;
}

/// The server half of peers(): accepts all others, then waits with its connections open.
int serve_peers() {
  const sockaddr_in address = meeting_point();
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  const int on = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener, 64) != 0) {
    put(2, std::string("cannot listen: ") + std::strerror(errno) + "\n");
    return 91;
  }
  const int others = std::stoi(variable("WORLD_SIZE")) - 1;
  for (int peer = 0; peer < others; ++peer)
    if (::accept(listener, nullptr, nullptr) < 0) return 92;
  announce();
  wait_forever();
}

/// SERVER: all ranks meet at MASTER_PORT; those that see the server vanish exit with status 3.
int peers(const Arguments& words) {
  if (rank() == std::stoi(words.at(0))) return serve_peers();
  const sockaddr_in address = meeting_point();
  while (true) {
    const int connection = ::socket(AF_INET, SOCK_STREAM, 0);
    char byte = 0;
    if (::connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      ::close(connection);
      ::sched_yield();
      continue;
    }
    ::signal(SIGTERM, SIG_IGN);  // it says what it sees, however late
    if (::read(connection, &byte, 1) <= 0) {
      put(2, "rank " + std::to_string(rank()) + " lost rank " + words.at(0) + "\n");
      return 3;
    }
    ::close(connection);
  }
}

int crash(const Arguments&) { std::abort(); }

const std::map<std::string, int (*)(const Arguments&)> behaviours{
    {"environment", environment},
    {"arguments", arguments},
    {"input", input},
    {"leave", leave},
    {"up", up},
    {"stubborn", stubborn},
    {"polite", polite},
    {"flood", flood},
    {"print", print},
    {"descriptors", descriptors},
    {"terminal", terminal},
    {"cores", cores},
    {"daemon", daemon},
    {"peers", peers},
    {"crash", crash},
};

}  // namespace

int main(int argc, char** argv) {
  const Arguments words(argv + 1, argv + argc);
  return behaviours.at(words.at(0))({words.begin() + 1, words.end()});
}
