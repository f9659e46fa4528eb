#include "core/control/stream.h"

#include <pthread.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "core/base/log.h"
#include "core/base/threads.h"

namespace rondo::control {

using boost::system::error_code;
namespace {

/// A kernel that ends a connection does so by its end or a reset. All else is said by the network.
Ending ending_of(const error_code& error) {
  namespace network = boost::asio::error;
  if (error == network::eof) return {};
  return {error.message(), error == network::timed_out || error == network::host_unreachable ||
                               error == network::network_unreachable ||
                               error == network::network_down};
}

}  // namespace

Stream::Stream(Socket socket, FrameReader reader, bool greeted)
    : socket_(std::move(socket)), reader_(std::move(reader)), greeted_(greeted) {
  if (socket_.is_open()) unforked_.emplace(socket_.native_handle());
}

void Stream::start(Events events) {
  events_ = std::move(events);
  boost::asio::post(socket_.get_executor(), [self = shared_from_this()] {
    self->take(0);  // what the reader holds
    if (self->socket_.is_open()) self->read();
  });
}

void Stream::read() {
  socket_.async_read_some(boost::asio::buffer(received_),
                          [self = shared_from_this()](const error_code& error, std::size_t count) {
                            if (!self->socket_.is_open()) return;
                            if (error) {
                              self->end(ending_of(error));
                              return;
                            }
                            self->take(count);
                            if (self->socket_.is_open()) self->read();
                          });
}

/// What cannot be taken, for want of memory say, must not leave the other end waiting.
void Stream::take(std::size_t count) {
  try {
    reader_.feed({received_.data(), count});
    consume();
  } catch (const std::exception& error) {
    end({.why = std::string("what it sent could not be taken: ") + error.what(), .is_final = true});
  }
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
      if (session_.take(*message)) send(Received{session_.received()});
      const auto received = events_.received;
      received(*message);
    }
  } catch (const NotRondo& stranger) {
    end({.why = std::string("it sent ") + stranger.what()});
  }
}

void Stream::say(Bytes bytes) {
  session_.keep(bytes);
  send(std::move(bytes));
}

void Stream::carry(Session session, std::uint64_t count) {
  session_ = std::move(session);
  for (const Bytes& bytes : session_.left_after(count)) send(bytes);
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

void Stream::reset() {
  error_code ignored;
  socket_.set_option(boost::asio::socket_base::linger(true, 0), ignored);
  close();
}

void Stream::end(const Ending& ending) {
  const auto closed = std::move(events_.closed);
  ending.why.empty() ? close() : reset();
  if (closed) closed(ending);
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

std::thread named_thread(const char* name, std::function<void()> body) {
  std::thread thread = start_thread(std::move(body));
  pthread_setname_np(thread.native_handle(), name);
  return thread;
}

}  // namespace rondo::control
