#include "tools/rondorun/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "tools/rondorun/launch_error.h"

namespace rondo::launch {
namespace {

/// A line that stays unfinished this long is shown as it stands, on a terminal.
constexpr std::chrono::milliseconds partial_delay{150};

std::string path_of(const std::string& directory, int rank, Stream stream) {
  return directory + "/rank." + std::to_string(rank) + (stream == Stream::output ? ".out" : ".err");
}

UniqueFd open_file(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file) throw system_error("cannot write '" + path + "'");
  return file;
}

}  // namespace

Output::Output(EventLoop& loop, OutputStyle style, std::function<void(int error)> broken)
    : loop_(loop),
      style_(std::move(style)),
      output_(loop, STDOUT_FILENO, broken),
      error_(loop, STDERR_FILENO, broken) {
  if (style_.directory.empty()) return;
  std::error_code problem;
  std::filesystem::create_directories(style_.directory, problem);
  if (problem)
    throw LaunchError(status_failure, "cannot make directory '" + style_.directory +
                                          "' (--output-dir): " + problem.message());
}

bool Output::handed_over(Stream stream) const {
  const bool terminal = stream == Stream::output ? output_.terminal() : error_.terminal();
  return terminal && !style_.prefix && style_.directory.empty();
}

void Output::add(int rank, Stream stream, std::string_view bytes) {
  const Source source{rank, stream};
  LineCutter& lines = cutter(source);
  show(source, lines.add(bytes));
  if (lines.has_partial() && standard(stream).terminal()) show_partial_later();
}

void Output::end(int rank) {
  for (const Stream stream : {Stream::output, Stream::error})
    if (const auto found = cutters_.find({rank, stream}); found != cutters_.end())
      show({rank, stream}, found->second.take_partial());
}

void Output::say(const std::string& text) {
  if (unfinished_.erase(Stream::error) > 0) error_.write("\n");
  error_.write("rondorun: " + text + "\n");
}

bool Output::congested() const { return output_.congested() || error_.congested(); }

bool Output::idle() const {
  return output_.over() && error_.over() &&
         std::all_of(files_.begin(), files_.end(),
                     [](const auto& file) { return file.second->over(); });
}

LineCutter& Output::cutter(Source source) {
  const std::string prefix =
      style_.prefix ? "[rank " + std::to_string(source.first) + "] " : std::string();
  return cutters_.try_emplace(source, prefix).first->second;
}

Writer& Output::writer(Source source) {
  if (style_.directory.empty()) return standard(source.second);
  auto& file = files_[source];
  if (!file) {
    const std::string path = path_of(style_.directory, source.first, source.second);
    const UniqueFd opened = open_file(path);
    file = std::make_unique<Writer>(loop_, opened.get(), [this, path](int error) {
      say("cannot write '" + path + "': " + std::strerror(error) + "; the rest of it is lost");
    });
  }
  return *file;
}

void Output::show(Source source, const std::string& text) {
  if (text.empty()) return;
  Writer& target = writer(source);
  if (!style_.directory.empty()) return target.write(text);
  const auto last = unfinished_.find(source.second);
  if (last != unfinished_.end() && last->second != source) {
    target.write("\n");
    cutter(last->second).restart_line();
  }
  target.write(text);
  if (cutter(source).inside_line()) {
    unfinished_[source.second] = source;
  } else {
    unfinished_.erase(source.second);
  }
}

void Output::show_partial_later() {
  if (std::exchange(partial_timer_set_, true)) return;
  loop_.after(partial_delay, [this] { show_partials(); });
}

void Output::show_partials() {
  partial_timer_set_ = false;
  for (auto& [source, lines] : cutters_)
    if (standard(source.second).terminal()) show(source, lines.take_partial());
}

}  // namespace rondo::launch
