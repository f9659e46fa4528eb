// Passing of file descriptors from one process to another. Here both are threads.
#include "core/direct_device/descriptors.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <span>

#include "core/base/log.h"
#include "core/transport/unix_socket.h"
#include "rondo/error.h"
#include "tests/catch.h"

namespace rondo::direct_device {
namespace {

constexpr std::chrono::seconds patience{30};

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

ino_t file_of(const UniqueFd& descriptor) {
  struct stat status {};
  REQUIRE(::fstat(descriptor.get(), &status) == 0);
  return status.st_ino;
}

/// Descriptors of different files.
std::vector<UniqueFd> make_files(std::size_t count) {
  std::vector<UniqueFd> files;
  for (std::size_t i = 0; i < count; ++i)
    files.emplace_back(::memfd_create("handed over", MFD_CLOEXEC));
  return files;
}

std::vector<ino_t> files_of(const std::vector<UniqueFd>& descriptors) {
  std::vector<ino_t> files;
  for (const UniqueFd& each : descriptors) files.push_back(file_of(each));
  return files;
}

std::string failure(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

void send_bytes(const UniqueFd& socket, std::size_t count) {
  const std::vector<std::byte> bytes(count, std::byte{255});
  CHECK(unix_socket::send(socket, bytes, {}));
}

TEST_CASE("every asker gets every descriptor, in order") {
  const std::size_t count = GENERATE(std::size_t{1}, std::size_t{3}, std::size_t{300});
  const std::size_t before = open_descriptors();
  {
    std::vector<UniqueFd> files = make_files(count);
    const std::vector<ino_t> wanted = files_of(files);
    const DescriptorServer server(std::move(files));
    std::array<std::vector<UniqueFd>, 3> got;
    std::vector<std::thread> askers;
    for (std::vector<UniqueFd>& mine : got) {
      askers.emplace_back([&] {
        DescriptorClient client(server.name(), patience);
        for (std::size_t i = 0; i < count; ++i) mine.push_back(client.next());
      });
    }
    for (std::thread& asker : askers) asker.join();
    for (const std::vector<UniqueFd>& each : got) CHECK(files_of(each) == wanted);
  }
  CHECK(open_descriptors() == before);
}

TEST_CASE("peers that say nonsense or ask for too much disturb nobody") {
  const std::size_t before = open_descriptors();
  {
    std::vector<UniqueFd> files = make_files(2);
    const std::vector<ino_t> wanted = files_of(files);
    const DescriptorServer server(std::move(files));
    const auto silent = unix_socket::connect_to(server.name());
    const auto brief = unix_socket::connect_to(server.name());
    const auto beyond = unix_socket::connect_to(server.name());
    const auto wordy = unix_socket::connect_to(server.name());
    REQUIRE((silent && brief && beyond && wordy));
    send_bytes(*brief, 3);
    send_bytes(*beyond, sizeof(std::uint64_t));
    send_bytes(*wordy, 5000);
    DescriptorClient client(server.name(), patience);
    CHECK(file_of(client.next()) == wanted[0]);
    CHECK(file_of(client.next()) == wanted[1]);
    CHECK_THAT(failure([&] { client.next(); }),
               Catch::Contains("has ended, or has no file descriptor"));
  }
  CHECK(open_descriptors() == before);
}

TEST_CASE("an asker is told when the giver goes in the middle, and when it asks after that") {
  auto server = std::make_unique<DescriptorServer>(make_files(2));
  const std::string name = server->name();
  DescriptorClient client(name, patience);
  CHECK(file_of(client.next()) != 0);
  server.reset();
  CHECK_THAT(failure([&] { client.next(); }),
             Catch::Contains("has ended, or has no file descriptor"));
  CHECK_THAT(failure([&] { DescriptorClient(name, patience); }),
             Catch::Contains("cannot reach the peer to share its memory"));
}

TEST_CASE("an asker waits for a silent giver until its timeout") {
  const std::string name = unix_socket::new_name();
  const UniqueFd silent = unix_socket::listen_on(name);
  DescriptorClient client(name, std::chrono::milliseconds(20));
  CHECK_THAT(failure([&] { client.next(); }), Catch::Contains("in time"));
}

/// While it lives, this process has room for so many more descriptors.
class Room {
 public:
  explicit Room(rlim_t descriptors) {
    ::getrlimit(RLIMIT_NOFILE, &old_);
    const UniqueFd next(::memfd_create("the next number", MFD_CLOEXEC));
    const rlimit few{static_cast<rlim_t>(next.get()) + descriptors, old_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &few);
  }
  ~Room() { ::setrlimit(RLIMIT_NOFILE, &old_); }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

 private:
  rlimit old_{};
};

TEST_CASE("a process without room for descriptors says so") {
  const DescriptorServer server(make_files(2));
  DescriptorClient client(server.name(), patience);
  CHECK(file_of(client.next()) != 0);  // the giver has accepted it
  const std::string words = [&] {
    const Room none(0);
    return failure([&] { client.next(); });
  }();
  CHECK_THAT(words, Catch::Contains("no file descriptor is left"));
  const std::string nowhere_to_ask_from = [&] {
    const Room none(0);
    return failure([&] { DescriptorClient(server.name(), patience); });
  }();
  CHECK_THAT(nowhere_to_ask_from, Catch::Contains("no Unix socket to ask for a peer's memory"));
}

TEST_CASE("a giver without room for descriptors says so, and the asker is told") {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("rondo-descriptors-" + std::to_string(::getpid()));
  configure_log({.file = path.string()});
  const DescriptorServer server(make_files(2));
  const std::string words = [&] {
    const Room one(1);  // the asker's own
    return failure([&] { DescriptorClient(server.name(), patience).next(); });
  }();
  configure_log({});
  std::ifstream log(path);
  const std::string said{std::istreambuf_iterator<char>(log), std::istreambuf_iterator<char>()};
  std::filesystem::remove(path);
  CHECK_THAT(words, Catch::Contains("has no file descriptor left"));
  CHECK_THAT(said, Catch::Contains("other processes cannot get this one's memory any more") &&
                       Catch::Contains("raise the limit of open files"));
}

}  // namespace
}  // namespace rondo::direct_device
