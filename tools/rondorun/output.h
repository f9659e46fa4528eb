// Passes the output of the ranks, and the messages of rondorun itself, to the user.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "tools/rondorun/event_loop.h"
#include "tools/rondorun/lines.h"
#include "tools/rondorun/writer.h"

namespace rondo::launch {

enum class Stream : int { output = 0, error = 1 };

struct OutputStyle {
  bool prefix = false;
  std::string directory{};  ///< for rank.N.out and rank.N.err; empty: standard output and error
};

class Output {
 public:
  /// `broken` is called with errno's value when standard output or error can take no more. Throws
  /// LaunchError when the directory cannot be made.
  Output(EventLoop& loop, OutputStyle style, std::function<void(int error)> broken);

  /// True when a rank on this machine may have the descriptor itself: a terminal, without a prefix.
  bool handed_over(Stream stream) const;

  void add(int rank, Stream stream, std::string_view bytes);
  /// The rank has ended, so its last line is shown even without a line end.
  void end(int rank);
  /// A line of rondorun's own, on standard error.
  void say(const std::string& text);

  /// True when the sources of add() should pause.
  bool congested() const;
  bool idle() const;

 private:
  using Source = std::pair<int, Stream>;

  LineCutter& cutter(Source source);
  Writer& writer(Source source);
  Writer& standard(Stream stream) { return stream == Stream::output ? output_ : error_; }
  void show(Source source, const std::string& text);
  void show_partial_later();
  void show_partials();

  EventLoop& loop_;
  OutputStyle style_;
  Writer output_;
  Writer error_;
  std::map<Source, LineCutter> cutters_;
  std::map<Source, std::unique_ptr<Writer>> files_;
  /// The rank whose unfinished line is the last one on standard output and error, if any.
  std::map<Stream, Source> unfinished_;
  bool partial_timer_set_ = false;
};

}  // namespace rondo::launch
