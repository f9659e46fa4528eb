#include "tools/rondorun/message.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "tools/rondorun/launch_error.h"

namespace rondo::launch {
namespace {

constexpr std::array<std::string_view, 18> words{
    "prepare",  "world",    "node",   "ranks",  "master",    "directory",
    "variable", "argument", "start",  "signal", "terminate", "kill",
    "ready",    "started",  "output", "ended",  "refused",   "finished"};
static_assert(words.size() == static_cast<std::size_t>(MessageKind::finished) + 1);

constexpr std::size_t longest_header = 80;
constexpr std::size_t longest_body = std::size_t{1} << 26;
/// What a login shell may print before the greeting.
constexpr std::size_t longest_noise = std::size_t{1} << 20;

[[noreturn]] void throw_garbled(std::string_view header) {
  throw LaunchError(status_failure, "garbled message '" + std::string(header) + "'");
}

/// Takes the next word of the header, all of which is the number.
template <class Number>
Number take_number(std::string_view& rest, std::string_view header) {
  const std::string_view word = rest.substr(0, rest.find(' '));
  rest.remove_prefix(std::min(word.size() + 1, rest.size()));
  Number number = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, problem] = std::from_chars(word.data(), end, number);
  if (problem != std::errc{} || stop != end) throw_garbled(header);
  return number;
}

Message parse_header(std::string_view header, std::size_t& length) {
  const auto space = std::min(header.find(' '), header.size());
  const auto kind = std::ranges::find(words, header.substr(0, space));
  if (kind == words.end() || space == header.size()) throw_garbled(header);
  std::string_view rest = header.substr(space + 1);
  Message message{.kind = static_cast<MessageKind>(kind - words.begin())};
  message.first = take_number<int>(rest, header);
  message.second = take_number<int>(rest, header);
  length = take_number<std::size_t>(rest, header);
  if (length > longest_body || !rest.empty()) throw_garbled(header);
  return message;
}

}  // namespace

std::string encode(const Message& message) {
  return std::string(words[static_cast<std::size_t>(message.kind)]) + ' ' +
         std::to_string(message.first) + ' ' + std::to_string(message.second) + ' ' +
         std::to_string(message.body.size()) + '\n' + message.body;
}

std::string encode(const NodePlan& plan) {
  using enum MessageKind;
  std::string text = encode(Message{world, plan.world, plan.nodes}) +
                     encode(Message{node, plan.node, plan.first_rank}) +
                     encode(Message{ranks, plan.ranks, plan.bind_to_core ? 1 : 0}) +
                     encode(Message{master, plan.master_port, 0, plan.master_address}) +
                     encode(Message{directory, 0, 0, plan.directory});
  for (const std::string& one : plan.variables) text += encode(Message{variable, 0, 0, one});
  for (const std::string& word : plan.command) text += encode(Message{argument, 0, 0, word});
  return text;
}

bool apply(const Message& message, NodePlan& plan) {
  switch (message.kind) {
    case MessageKind::world:
      plan.world = message.first;
      plan.nodes = message.second;
      return true;
    case MessageKind::node:
      plan.node = message.first;
      plan.first_rank = message.second;
      return true;
    case MessageKind::ranks:
      plan.ranks = message.first;
      plan.bind_to_core = message.second != 0;
      return true;
    case MessageKind::master:
      plan.master_port = static_cast<std::uint16_t>(message.first);
      plan.master_address = message.body;
      return true;
    case MessageKind::directory:
      plan.directory = message.body;
      return true;
    case MessageKind::variable:
      plan.variables.push_back(message.body);
      return true;
    case MessageKind::argument:
      plan.command.push_back(message.body);
      return true;
    default:
      return false;
  }
}

std::optional<Message> MessageReader::next() {
  if (!skip_greeting()) return std::nullopt;
  const auto end = bytes_.find('\n', done_);
  const std::string_view header =
      std::string_view(bytes_).substr(done_, std::min(end - done_, longest_header));
  if (end == std::string::npos && header.size() < longest_header) return std::nullopt;
  if (header.size() == longest_header) throw_garbled(header);
  std::size_t length = 0;
  Message message = parse_header(header, length);
  if (bytes_.size() - end - 1 < length) return std::nullopt;
  message.body = bytes_.substr(end + 1, length);
  done_ = end + 1 + length;
  if (done_ == bytes_.size() || done_ > (std::size_t{1} << 16)) {
    bytes_.erase(0, done_);
    done_ = 0;
  }
  return message;
}

bool MessageReader::skip_greeting() {
  if (greeted_) return true;
  // What was searched before holds no beginning of it.
  const auto found = bytes_.find(greeting, searched_);
  if (found == std::string::npos) {
    const auto other = bytes_.find(any_greeting, searched_);
    if (other != std::string::npos && bytes_.find('\n', other) != std::string::npos)
      throw LaunchError(status_failure, "another version of rondorun answered");
    if (bytes_.size() > longest_noise)
      throw LaunchError(status_failure, "1 MiB of text, and no greeting of rondorun");
    const auto rest = std::min(bytes_.size(), greeting.size() - 1);
    searched_ = other != std::string::npos ? other : bytes_.size() - rest;
    return false;
  }
  done_ = found + greeting.size();
  greeted_ = true;
  return true;
}

}  // namespace rondo::launch
