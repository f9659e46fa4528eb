#include "core/control/stream.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "core/base/log.h"
#include "core/base/threads.h"

namespace rondo::control {

using boost::system::error_code;

Stream::Stream(Socket socket, FrameReader reader, bool greeted)
    : socket_(std::move(socket)), reader_(std::move(reader)), greeted_(greeted) {
  if (socket_.is_open()) unforked_.emplace(socket_.native_handle());
}

void Stream::start(Events events) {
  events_ = std::move(events);
  consume();
  if (socket_.is_open()) read();
}

void Stream::read() {
  socket_.async_read_some(boost::asio::buffer(received_),
                          [self = shared_from_this()](const error_code& error, std::size_t count) {
                            if (!self->socket_.is_open()) return;
                            if (error) {
                              self->end(error == boost::asio::error::eof ? "" : error.message());
                              return;
                            }
                            self->reader_.feed({self->received_.data(), count});
                            self->consume();
                            if (self->socket_.is_open()) self->read();
                          });
}

/// Handlers may close the stream at any message.
void Stream::consume() {
  try {
    if (!greeted_) {
      const auto preamble = reader_.preamble();
      if (!preamble) return;
      greeted_ = true;
      const auto greeted = events_.greeted;  // outlives close() in the handler
      if (greeted) greeted(*preamble);
    }
    while (socket_.is_open()) {
      const auto message = reader_.next();
      if (!message) return;
      const auto received = events_.received;
      received(*message);
    }
  } catch (const NotRondo& stranger) {
    end(std::string("it sent ") + stranger.what());
  }
}

void Stream::send(Bytes bytes) {
  if (!socket_.is_open() || finishing_) return;
  waiting_.push_back(std::move(bytes));
  if (waiting_.size() == 1) write();
}

void Stream::write() {
  boost::asio::async_write(socket_, boost::asio::buffer(*waiting_.front()),
                           [self = shared_from_this()](const error_code& error, std::size_t) {
                             // The reader notices errors of the connection as well.
                             if (error || !self->socket_.is_open()) return;
                             self->waiting_.pop_front();
                             if (!self->waiting_.empty()) {
                               self->write();
                             } else if (self->finishing_) {
                               error_code ignored;
                               self->socket_.shutdown(Socket::shutdown_send, ignored);
                             }
                           });
}

void Stream::finish() {
  if (finishing_ || !socket_.is_open()) return;
  finishing_ = true;
  error_code ignored;
  if (waiting_.empty()) socket_.shutdown(Socket::shutdown_send, ignored);
}

void Stream::close() {
  error_code ignored;
  unforked_.reset();
  socket_.close(ignored);
  events_ = {};
}

void Stream::end(const std::string& why) {
  const auto closed = std::move(events_.closed);
  close();
  if (closed) closed(why);
}

void set_socket_options(int descriptor) {
  const auto set = [&](int level, int option, int value) {
    ::setsockopt(descriptor, level, option, &value, sizeof(value));
  };
  ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  // A machine that vanishes without a word is noticed after 10 + 3 * 5 seconds.
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 25000);
}

void run_handlers(boost::asio::io_context& io) {
  for (;;) {
    try {
      io.run();
      return;
    } catch (const std::exception& error) {
      log(LogLevel::warn, -1, std::string("in a control channel: ") + error.what());
    }
  }
}

std::thread quiet_thread(const char* name, std::function<void()> body) {
  struct Quiet {  // inherited by the new thread
    sigset_t before{};
    Quiet() {
      sigset_t all;
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, &before);
    }
    ~Quiet() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
    Quiet(const Quiet&) = delete;
    Quiet& operator=(const Quiet&) = delete;
  };
  std::thread thread = [&] {
    const Quiet quiet;
    return start_thread(std::move(body));
  }();
  pthread_setname_np(thread.native_handle(), name);
  return thread;
}

}  // namespace rondo::control
