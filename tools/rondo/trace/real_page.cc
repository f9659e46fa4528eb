#include "tools/rondo/trace/real_page.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "tools/rondo/page/page.h"
#include "tools/rondo/trace/real.h"
#include "tools/rondo/trace/summary.h"

namespace rondo::tool {
namespace {

using Json = nlohmann::ordered_json;

/// More messages leave no room for other algorithms in the page.
constexpr std::size_t most_messages_beside = 3000;

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) all.push_back(line);
  return all;
}

/// {"0>1/0": [begin, to its end, to its place, ...]}: nanoseconds by channel; null: not sent.
Json channels(const RealRun& real) {
  Json all = Json::object();
  for (std::size_t i = 0; i < real.messages.size(); ++i) {
    for (std::size_t k = 0; k < real.messages[i].size(); ++k) {
      const ExplainedMessage& message = real.explanation.rounds[i].messages[k];
      const RealMessage& moved = real.messages[i][k];
      Json& list = all[std::to_string(message.from) + ">" + std::to_string(message.to) + "/" +
                       std::to_string(message.lane)];
      if (moved.there) {
        list.push_back(moved.begin);
        list.push_back(moved.end - moved.begin);
        list.push_back(moved.settled - moved.end);
      } else {
        for (int part = 0; part < 3; ++part) list.push_back(nullptr);
      }
    }
  }
  return all;
}

std::string command_of(const TracedCall& call, const std::vector<std::string>& names) {
  std::string words = "rondo trace";
  for (const std::string& name : names) words += " " + name;
  return words + " --call " + std::to_string(call.number) + " --html FILE";
}

std::size_t count_messages(const RealRun& real) {
  std::size_t count = 0;
  for (const auto& round : real.messages) count += round.size();
  return count;
}

}  // namespace

std::string real_page(const Timeline& timeline, const TracedCall& call,
                      const std::vector<std::string>& names) {
  const RealRun real = real_run(call);
  PageContent content;
  if (count_messages(real) <= most_messages_beside) {
    content = explained_page(real.schedule, "");
    content.schedules.insert(content.schedules.begin() + 1, real.schedule);
  } else {
    content.schedules.push_back(real.schedule);
  }
  content.title = call_name(call) + " #" + std::to_string(call.sequence) + " as it ran, " +
                  way_name(call) + ", " + std::to_string(timeline.ranks) + " ranks";
  content.command = command_of(call, names);
  if (call.bytes() > 0) content.bytes = static_cast<double>(call.bytes());
  const Json told{
      {"took", call.took()}, {"channels", channels(real)}, {"words", lines(call_text(call))}};
  content.real = told.dump(-1, ' ', true, Json::error_handler_t::replace);
  return page_html(content);
}

}  // namespace rondo::tool
