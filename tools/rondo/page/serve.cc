#include "tools/rondo/page/serve.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>
#include <string_view>

#include "rondo/error.h"

namespace rondo::tool {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t most_request_bytes = 16 * 1024;
constexpr std::chrono::seconds most_waiting{10};
constexpr std::chrono::milliseconds between_failures{100};

std::string reply(std::string_view status, std::string_view body, bool with_body) {
  std::string text = "HTTP/1.1 " + std::string(status) +
                     "\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: " +
                     std::to_string(body.size()) +
                     "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
                     "Connection: close\r\n\r\n";
  if (with_body) text += body;
  return text;
}

/// The answer to a request. "/tree.html?x" is the file tree.html, and "/" is the index.
std::string answer(const std::vector<SiteFile>& files, std::string_view request) {
  const std::size_t space = std::min(request.find(' '), request.size());
  const std::string_view method = request.substr(0, space);
  std::string_view target = request.substr(std::min(space + 1, request.size()));
  target = target.substr(0, target.find_first_of(" ?#\r\n"));
  const bool head = method == "HEAD";
  if (!head && method != "GET") return reply("405 Method Not Allowed", "GET or HEAD\n", true);
  for (const SiteFile& file : files)
    if (target == "/" + file.name || (target == "/" && file.name == "index.html"))
      return reply("200 OK", file.html, !head);
  return reply("404 Not Found", "<p>No such page. <a href=\"/\">All lessons</a></p>\n", !head);
}

/// One request, one answer. Keeps itself alive through the handlers that are under way.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, const std::vector<SiteFile>& files)
      : socket_(std::move(socket)), deadline_(socket_.get_executor()), files_(files) {}

  void start() {
    deadline_.expires_after(most_waiting);
    deadline_.async_wait([self = shared_from_this()](error_code error) {
      if (!error) self->close();
    });
    asio::async_read_until(socket_, asio::dynamic_buffer(request_, most_request_bytes), "\r\n\r\n",
                           [self = shared_from_this()](error_code error, std::size_t) {
                             error ? self->close() : self->respond();
                           });
  }

 private:
  void respond() {
    reply_ = answer(files_, request_);
    asio::async_write(socket_, asio::buffer(reply_),
                      [self = shared_from_this()](error_code, std::size_t) { self->close(); });
  }
  void close() {
    error_code ignored;
    deadline_.cancel();
    socket_.shutdown(tcp::socket::shutdown_both, ignored);
    socket_.close(ignored);
  }

  tcp::socket socket_;
  asio::steady_timer deadline_;
  const std::vector<SiteFile>& files_;
  std::string request_{};
  std::string reply_{};
};

/// Accepts connections. Without a free descriptor that fails at once, so it rests for a while.
class Acceptor {
 public:
  Acceptor(tcp::acceptor& acceptor, const std::vector<SiteFile>& files)
      : acceptor_(acceptor), rest_(acceptor.get_executor()), files_(files) {}

  void accept_all() {
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (error) return accept_later();
      std::make_shared<Connection>(std::move(socket), files_)->start();
      accept_all();
    });
  }

 private:
  void accept_later() {
    rest_.expires_after(between_failures);
    rest_.async_wait([this](error_code error) {
      if (!error) accept_all();
    });
  }

  tcp::acceptor& acceptor_;
  asio::steady_timer rest_;
  const std::vector<SiteFile>& files_;
};

tcp::acceptor listen(asio::io_context& context, int port) {
  const tcp::endpoint here(asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(port));
  try {
    return {context, here};
  } catch (const boost::system::system_error& error) {
    throw Error(ErrorCode::system,
                "cannot listen on port " + std::to_string(port) + ": " + error.code().message(),
                {.remedy = "--port 0, which takes any free port"});
  }
}

}  // namespace

void serve(const std::vector<SiteFile>& files, int port,
           const std::function<void(const std::string& address)>& ready) {
  asio::io_context context;
  tcp::acceptor acceptor = listen(context, port);
  asio::signal_set signals(context, SIGINT, SIGTERM);
  signals.async_wait([&](error_code, int) { context.stop(); });
  Acceptor accepting(acceptor, files);
  accepting.accept_all();
  ready("http://127.0.0.1:" + std::to_string(acceptor.local_endpoint().port()) + "/");
  context.run();
}

}  // namespace rondo::tool
