#include "core/direct_device/descriptors.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <array>
#include <optional>
#include <span>
#include <system_error>

#include "core/base/log.h"
#include "core/base/threads.h"
#include "core/transport/unix_socket.h"
#include "rondo/error.h"

namespace rondo::direct_device {
namespace {

using Clock = std::chrono::steady_clock;

/// A request is the number of a descriptor; the answer is the same with the descriptor.
using Number = std::uint64_t;

[[noreturn]] void give_up(const std::string& what, const std::string& remedy) {
  throw Error(ErrorCode::system, what, {.remedy = remedy});
}

UniqueFd listen_on(const std::string& name) try {
  return unix_socket::listen_on(name);
} catch (const std::system_error& error) {
  give_up(std::string("no Unix socket to share memory: ") + error.what(),
          "raise the limit of open files");
}

std::optional<UniqueFd> try_to_connect(const std::string& name) try {
  return unix_socket::connect_to(name);
} catch (const std::system_error& error) {
  if (error.code() != std::errc::connection_refused) {
    give_up(std::string("no Unix socket to ask for a peer's memory: ") + error.what(),
            "raise the limit of open files");
  }
  give_up(std::string("cannot reach the peer to share its memory: ") + error.what(),
          "look at the output of that rank");
}

/// Whether something can be read before `end`.
bool wait_until_readable(const UniqueFd& socket, Clock::time_point end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
  if (left.count() <= 0) return false;
  pollfd wanted{socket.get(), POLLIN, 0};
  ::poll(&wanted, 1, static_cast<int>(left.count()));
  return true;  // or its time is over, which the next one finds
}

}  // namespace

DescriptorServer::DescriptorServer(std::vector<UniqueFd> files)
    : files_(std::move(files)),
      name_(unix_socket::new_name()),
      listener_(listen_on(name_)),
      end_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!end_) give_up("no file descriptor to share memory", "raise the limit of open files");
  thread_ = start_thread([this] { serve(); });
}

DescriptorServer::~DescriptorServer() {
  ::eventfd_write(end_.get(), 1);
  thread_.join();
}

/// An asker that is not answered finds its connection closed. If this process has no descriptor
/// left, the next asker finds the same, and later ones find no listener. Only this process can say
/// why.
void DescriptorServer::serve() {
  std::vector<UniqueFd> askers;
  for (;;) {
    std::vector<pollfd> wanted{{end_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    for (const UniqueFd& asker : askers) wanted.push_back({asker.get(), POLLIN, 0});
    ::poll(wanted.data(), wanted.size(), -1);
    if (wanted[0].revents != 0) return;
    std::erase_if(askers, [&](const UniqueFd& asker) { return !answer(asker); });
    if (wanted[1].revents == 0) continue;
    try {
      accept_askers(askers);
    } catch (const std::system_error& error) {
      log(LogLevel::warn, -1,
          std::string("other processes cannot get this one's memory any more: ") + error.what() +
              "; raise the limit of open files");
      listener_.reset();  // which poll() then leaves out
    }
  }
}

void DescriptorServer::accept_askers(std::vector<UniqueFd>& askers) const {
  while (std::optional<UniqueFd> asker = unix_socket::accept_from(listener_)) {
    if (unix_socket::same_user(*asker)) askers.push_back(std::move(*asker));
  }
}

/// False: the asker gets no more answers.
bool DescriptorServer::answer(const UniqueFd& asker) const {
  using State = unix_socket::Received::State;
  Number number = 0;
  const unix_socket::Received request =
      unix_socket::receive(asker, std::as_writable_bytes(std::span(&number, 1)));
  if (request.state == State::nothing) return true;
  if (request.state == State::closed || request.bytes != sizeof number || number >= files_.size())
    return false;
  // The one answer that is under way always finds room.
  return unix_socket::send(asker, std::as_bytes(std::span(&number, 1)),
                           std::array{files_[number].get()});
}

DescriptorClient::DescriptorClient(const std::string& name, std::chrono::milliseconds patience)
    : patience_(patience) {
  const Clock::time_point end = Clock::now() + patience;
  std::optional<UniqueFd> socket;
  while (!(socket = try_to_connect(name))) {  // too many are asking
    if (Clock::now() > end)
      give_up("the peer did not answer when asked for its memory", "find out what it does");
    std::this_thread::yield();
  }
  if (!unix_socket::same_user(*socket))
    give_up("the peer runs as another user", "start all ranks as one user");
  socket_ = std::move(*socket);
}

UniqueFd DescriptorClient::next() {
  using State = unix_socket::Received::State;
  const Clock::time_point end = Clock::now() + patience_;
  const Number asked = number_++;
  // If it is not taken, the peer is gone, which the connection shows.
  unix_socket::send(socket_, std::as_bytes(std::span(&asked, 1)), {});
  while (wait_until_readable(socket_, end)) {
    Number number = 0;
    unix_socket::Received answer =
        unix_socket::receive(socket_, std::as_writable_bytes(std::span(&number, 1)));
    if (answer.state == State::nothing) continue;
    if (answer.state == State::closed)
      give_up("the peer that shares its memory has ended, or has no file descriptor left",
              "look at the output of that rank");
    if (answer.descriptors_lost)
      give_up("no file descriptor is left for the peer's memory", "raise the limit of open files");
    if (number == asked && answer.descriptors.size() == 1)
      return std::move(answer.descriptors.front());
    give_up("the peer shared other memory than was asked for", "use the same rondo on every rank");
  }
  give_up("the peer did not share its memory in time",
          "find out what it does, or raise "
          "RONDO_BOOTSTRAP_TIMEOUT");
}

}  // namespace rondo::direct_device
