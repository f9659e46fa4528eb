// What two rondoruns on different hosts say to each other through ssh.
//
// The first line is a greeting. Text that a login shell prints before it is skipped. Then come
// messages, in plain text with bodies as they are:
//
//   kind SPACE first SPACE second SPACE length NEWLINE body
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tools/rondorun/plan.h"

namespace rondo::launch {

enum class MessageKind : std::uint8_t {
  // To the remote side: first, second, body.
  prepare,    ///< 1: choose a port
  world,      ///< ranks, nodes
  node,       ///< number of the node, first rank
  ranks,      ///< ranks on the node, 1: bind to cores
  master,     ///< port, -, address
  directory,  ///< -, -, path
  variable,   ///< -, -, NAME=VALUE
  argument,   ///< -, -, next word of the command
  start,      ///< the plan is complete
  signal,     ///< number: pass it on to the ranks
  terminate,  ///< SIGTERM to every process
  kill,       ///< SIGKILL to every process
  // From the remote side.
  ready,     ///< port or 0, -, name of the host
  started,   ///< rank, process
  output,    ///< rank, stream, bytes
  ended,     ///< rank, wait status
  refused,   ///< exit status, -, reason: nothing runs
  finished,  ///< no process is left
};

struct Message {
  MessageKind kind{};
  int first = 0;
  int second = 0;
  std::string body{};

  friend bool operator==(const Message&, const Message&) = default;
};

/// The line before the first message; changes when the messages do.
inline constexpr std::string_view greeting = "rondorun speaks 1\n";
/// What any version's greeting begins with.
inline constexpr std::string_view any_greeting = "rondorun speaks ";

std::string encode(const Message& message);
/// All messages from `world` to `argument`.
std::string encode(const NodePlan& plan);
/// Adds what the message says about a plan; false when it is about something else.
bool apply(const Message& message, NodePlan& plan);

/// Takes bytes and gives messages.
class MessageReader {
 public:
  void add(std::string_view bytes) { bytes_ += bytes; }
  /// The next whole message. Throws LaunchError on what cannot be one.
  std::optional<Message> next();
  /// What came before the greeting: useful in errors. Empty once the greeting has come.
  std::string noise() const { return greeted_ ? std::string() : bytes_; }

 private:
  bool skip_greeting();

  std::string bytes_;
  std::size_t searched_ = 0;  ///< no greeting begins before it
  std::size_t done_ = 0;      ///< bytes before it are used up
  bool greeted_ = false;
};

}  // namespace rondo::launch
