// A rank's connection to the coordinator: a Unix socket. Waiting on it uses no processor time.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>

namespace rondo::compare {

class Connection {
 public:
  /// Throws std::system_error when no process listens at `path`.
  explicit Connection(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof(address.sun_path)) {
      throw std::invalid_argument("path of the socket is too long: " + path);
    }
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
      const int error = errno;
      ::close(socket_);
      throw std::system_error(error, std::generic_category(), "connecting to " + path);
    }
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { ::close(socket_); }

  /// Blocks. Returns no value when the coordinator has ended.
  std::optional<std::string> read_line() {
    for (;;) {
      if (const auto end = received_.find('\n'); end != std::string::npos) {
        std::string line = received_.substr(0, end);
        received_.erase(0, end + 1);
        return line;
      }
      char bytes[256];
      const ssize_t count = ::recv(socket_, bytes, sizeof(bytes), 0);
      if (count > 0) {
        received_.append(bytes, static_cast<std::size_t>(count));
      } else if (count == 0 || errno != EINTR) {
        return std::nullopt;
      }
    }
  }

  /// A coordinator that has gone is noticed by the next read_line().
  void write_line(const std::string& text) {
    const std::string line = text + "\n";
    for (std::size_t sent = 0; sent < line.size();) {
      const ssize_t count = ::send(socket_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
      if (count > 0) {
        sent += static_cast<std::size_t>(count);
      } else if (errno != EINTR) {
        return;
      }
    }
  }

 private:
  int socket_;
  std::string received_{};
};

}  // namespace rondo::compare
