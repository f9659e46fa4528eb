// Reading a schedule's text form; text.cc writes it.
#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>
#include <vector>

#include "core/base/fork.h"
#include "core/schedule/parse_header.h"
#include "core/schedule/parsed_script.h"
#include "core/schedule/script.h"
#include "core/schedule/text_line.h"
#include "rondo/error.h"

namespace rondo {
namespace {

constexpr std::size_t most_blocks = 64;     ///< inside each other
constexpr std::size_t most_names = 1000;    ///< of a section
constexpr std::size_t most_general = 1000;  ///< sections that are for several ranks

class Reader {
 public:
  explicit Reader(std::string_view source) : script_(std::make_shared<ParsedScript>()) {
    script_->source = source;
    names_ = known_names();
  }

  std::shared_ptr<ParsedScript> read(std::string_view text) {
    int number = 0;
    while (!text.empty()) {
      const std::size_t length = std::min(text.find('\n'), text.size());
      TextLine line(text.substr(0, length), ++number, script_->source);
      if (!line.at_end()) statement(line);
      text.remove_prefix(std::min(length + 1, text.size()));
    }
    TextLine after("", number + 1, script_->source);
    if (!in_section()) check_header(after, 0);
    end_section(after, 0);
    return std::move(script_);
  }

 private:
  enum class Opened : std::uint8_t { loop, branch, otherwise };
  struct Block {
    Opened kind;
    std::uint32_t statement;  ///< that waits for its target
    std::size_t names;        ///< that were there before
    int line;
  };

  bool in_section() const { return !script_->sections.empty(); }
  std::uint32_t here() const { return static_cast<std::uint32_t>(script_->statements.size()); }

  void statement(TextLine& line) {
    const std::size_t begin = line.mark();
    const std::string_view word = line.word("a word such as 'collective', 'rank' or 'send'");
    if (word == "rank")
      section(line, begin);
    else if (is_step(word) || word == "phase" || word == "round" || word == "for" || word == "if" ||
             word == "else" || word == "end" || word == "let")
      in_rank(line, begin, word);
    else if (in_section() && is_header_word(word))
      line.fail_at(begin, "expected '" + std::string(word) + "' before the first 'rank'");
    else if (in_section() || !read_header(line, begin, word, *script_))
      line.fail_at(begin,
                   in_section()
                       ? "expected send, receive, receive_reduce, reduce, copy, phase, round, "
                         "for, if, else, end, let or rank"
                       : "expected collective, algorithm, ranks, root, when, sizes, lanes, "
                         "depth, parts, phases or rank");
    line.end();
  }

  WrittenNumber number(TextLine& line, const std::string& expected) {
    return read_number(line, expected, names_, *script_);
  }

  /// The header is complete: sections begin.
  void check_header(TextLine& line, std::size_t begin) {
    if (!script_->header.contains("collective"))
      line.fail_at(begin, "expected 'collective' in the lines before");
    if (script_->most_ranks == 0) line.fail_at(begin, "expected 'ranks' in the lines before");
    for (std::size_t i = script_->phases.size(); i > 0; --i)
      phases_[script_->phases[i - 1]] = static_cast<std::uint16_t>(i - 1);
  }

  /// "rank 0", "rank P-1", "rank r" (every rank, whose number is r), each with "lane ..." or not.
  void section(TextLine& line, std::size_t begin) {
    if (!in_section()) check_header(line, begin);
    end_section(line, begin);
    names_ = known_names();
    lets_.clear();
    if (general_ > most_general)
      line.fail_at(begin, "expected at most " + std::to_string(most_general) +
                              " sections that are for several ranks or lanes");
    Section made{.begin = here()};
    const std::size_t column = line.mark();
    made.every_rank = take_new_name(line, made.rank_place);
    if (!made.every_rank) made.rank = number(line, "a rank");
    if (line.take_word("lane")) {
      made.every_lane = take_new_name(line, made.lane_place);
      if (!made.every_lane) made.lane = number(line, "a lane");
    }
    const bool in_numbers =
        !made.every_rank && !made.every_lane && made.rank.formula < 0 && made.lane.formula < 0;
    if (in_numbers && !seen_.insert({made.rank.constant, made.lane.constant}).second)
      line.fail_at(column, "this rank and lane have a section already");
    if (made.every_rank || made.every_lane) ++general_;
    made.names = names_;
    script_->sections.push_back(std::move(made));
  }

  /// True, and `place` set, where the next word is a name that stands for nothing yet.
  bool take_new_name(TextLine& line, std::uint32_t& place) {
    const std::size_t before = line.mark();
    const std::string name(line.take_name());
    if (!is_new(name)) {
      line.back_to(before);
      return false;
    }
    place = static_cast<std::uint32_t>(names_.size());
    names_.push_back(name);
    return true;
  }

  static bool is_reserved(const std::string& name) {
    return Formula::is_function(name) || name == "and" || name == "or" || name == "not";
  }
  static std::string reserved_text(const std::string& name) {
    return is_reserved(name) ? " ('" + name + "' is a word of formulas)" : std::string();
  }
  /// Whether it may be given a value for the first time.
  bool is_new(const std::string& name) const {
    return !name.empty() && !is_reserved(name) && std::ranges::find(names_, name) == names_.end();
  }

  /// The place of a new name of the section.
  std::uint32_t named(TextLine& line, const std::string& name) {
    if (names_.size() >= most_names)
      line.fail("expected at most " + std::to_string(most_names) + " names in a section");
    names_.push_back(name);
    script_->sections.back().names.push_back(name);
    return static_cast<std::uint32_t>(names_.size() - 1);
  }

  void end_section(TextLine& line, std::size_t begin) {
    if (!blocks_.empty())
      line.fail_at(begin, "expected 'end' of the block that begins in line " +
                              std::to_string(blocks_.back().line));
    if (in_section()) script_->sections.back().end = here();
  }

  void in_rank(TextLine& line, std::size_t begin, std::string_view word) {
    if (!in_section()) line.fail_at(begin, "expected 'rank' before the first step");
    if (word == "phase" || word == "round") return label(line, word == "phase");
    if (word == "for") return loop(line);
    if (word == "if") return branch(line);
    if (word == "else") return otherwise(line, begin);
    if (word == "end") return end_block(line, begin);
    if (word == "let") return let(line);
    Statement made{.kind = Statement::Kind::step,
                   .step = static_cast<std::uint32_t>(script_->steps.size())};
    made.value.line = line.line();
    script_->steps.push_back(step(line, word));
    script_->statements.push_back(std::move(made));
  }

  void label(TextLine& line, bool names_phase) {
    Statement made{.kind = Statement::Kind::label, .names_phase = names_phase};
    if (names_phase) {
      const std::size_t begin = line.mark();
      const auto found = phases_.find(line.name("a phase's name"));
      if (found == phases_.end())
        line.fail_at(begin, "expected a phase that the 'phases' line names");
      made.phase = found->second;
      line.keyword("round");
    }
    made.value = number(line, "a round");
    script_->statements.push_back(std::move(made));
  }

  void open(TextLine& line, Opened kind, Statement made) {
    if (blocks_.size() >= most_blocks) line.fail("expected fewer blocks inside each other");
    blocks_.push_back({kind, here(), names_.size(), line.line()});
    script_->statements.push_back(std::move(made));
  }

  void loop(TextLine& line) {
    const std::size_t begin = line.mark();
    const std::string name(line.take_name());
    if (!is_new(name)) line.fail_at(begin, "expected a new name" + reserved_text(name));
    line.keyword("in");
    Statement made{.kind = Statement::Kind::loop, .value = number(line, "the first number")};
    line.sign("..");
    made.last = number(line, "the last number");
    open(line, Opened::loop, std::move(made));
    script_->statements.back().place = named(line, name);
    named(line, "");  // where the loop's end is kept
  }

  void branch(TextLine& line) {
    open(line, Opened::branch,
         {.kind = Statement::Kind::branch, .value = number(line, "a condition")});
  }

  void otherwise(TextLine& line, std::size_t begin) {
    if (blocks_.empty() || blocks_.back().kind != Opened::branch)
      line.fail_at(begin, "expected 'if' before");
    Block& block = blocks_.back();
    forget_names(block.names);
    script_->statements[block.statement].target = here() + 1;
    block.kind = Opened::otherwise;
    block.statement = here();
    script_->statements.push_back({.kind = Statement::Kind::jump, .value = {.line = line.line()}});
  }

  void end_block(TextLine& line, std::size_t begin) {
    if (blocks_.empty()) line.fail_at(begin, "expected 'for' or 'if' before");
    const Block block = blocks_.back();
    blocks_.pop_back();
    forget_names(block.names);
    if (block.kind == Opened::loop)
      script_->statements.push_back({.kind = Statement::Kind::again,
                                     .place = script_->statements[block.statement].place,
                                     .target = block.statement + 1,
                                     .value = {.line = block.line}});
    script_->statements[block.statement].target = here();
  }

  /// Their places are not given again, so that an error can name every value.
  void forget_names(std::size_t from) {
    for (std::size_t i = from; i < names_.size(); ++i) names_[i].clear();
  }

  /// A name may be given a value again.
  void let(TextLine& line) {
    const std::size_t begin = line.mark();
    const std::string name(line.take_name());
    const auto known = std::ranges::find(names_, name);
    const auto at = static_cast<std::uint32_t>(known - names_.begin());
    const bool again = !name.empty() && known != names_.end() && lets_.contains(at);
    if (!again && !is_new(name))
      line.fail_at(begin, "expected a new name, or one that 'let' has given" + reserved_text(name));
    line.sign("=");
    Statement made{.kind = Statement::Kind::let, .value = number(line, "a value")};
    made.place = again ? at : named(line, name);
    lets_.insert(made.place);
    script_->statements.push_back(std::move(made));
  }

  static bool is_step(std::string_view word) {
    return word == "send" || word == "receive" || word == "receive_reduce" || word == "reduce" ||
           word == "copy";
  }

  WrittenStep step(TextLine& line, std::string_view word) {
    WrittenStep made;
    if (word == "send") {
      made.kind = StepKind::send;
      made.from = chunk(line);
      line.keyword("to");
      made.peer = number(line, "a rank");
      return made;
    }
    if (word == "receive") {
      made.kind = StepKind::receive;
      line.keyword("from");
      made.peer = number(line, "a rank");
    } else if (word == "receive_reduce") {
      receive_reduce(line, made);
    } else {
      made.kind = word == "copy" ? StepKind::copy : StepKind::reduce;
      made.from = chunk(line, word == "reduce");
    }
    line.keyword("into");
    made.into = chunk(line);
    return made;
  }

  void receive_reduce(TextLine& line, WrittenStep& made) {
    made.kind = StepKind::receive_reduce;
    made.order = line.take_word("from") ? Order::received_first : Order::local_first;
    if (made.order == Order::local_first) {
      made.from = chunk(line);
      line.keyword("then");
      line.keyword("from");
      made.peer = number(line, "a rank");
    } else {
      made.peer = number(line, "a rank");
      line.keyword("then");
      made.from = chunk(line);
    }
  }

  /// `slots`: a range of scratch slots may stand here.
  WrittenChunk chunk(TextLine& line, bool slots = false) {
    const std::size_t begin = line.mark();
    const std::string_view name = line.word("input, output or scratch");
    WrittenChunk found;
    if (name == "output") found.buffer = Buffer::output;
    if (name == "scratch") {
      found.buffer = Buffer::scratch;
      found.slot = slot(line, "a scratch slot");
      found.slots = slots && line.take("..");
      if (found.slots) found.last_slot = slot(line, "the last scratch slot");
    } else if (name != "input" && name != "output") {
      const bool slot = name.starts_with("scratch");  // "scratchr[0]"
      line.fail_at(begin, slot ? "expected a slot in parentheses, as in scratch(r)"
                               : "expected input, output or scratch");
    }
    line.sign("[");
    found.first = number(line, "a chunk");
    found.run = line.take("..");
    if (found.run) found.last = number(line, "the last chunk");
    line.sign("]");
    return found;
  }

  /// "3", or a formula in parentheses.
  WrittenNumber slot(TextLine& line, const std::string& expected) {
    const auto column = static_cast<std::uint32_t>(line.mark() + 1);
    if (!line.take("("))
      return {static_cast<double>(line.number(expected, 0, 65535)), -1, line.line(), column};
    const WrittenNumber found = number(line, expected);
    line.sign(")");
    return found;
  }

  std::shared_ptr<ParsedScript> script_;
  std::vector<std::string> names_{};  ///< by place; "" where a name is not known any more
  std::set<std::uint32_t> lets_{};
  std::set<std::pair<double, double>> seen_{};  ///< sections of a rank and a lane in numbers
  std::vector<Block> blocks_{};
  std::unordered_map<std::string, std::uint16_t> phases_{};  ///< the number of each
  std::size_t general_ = 0;  ///< sections that are for several ranks or lanes
};

/// The scripts of this process that are in use, by source and text. Thread-safe. Never destroyed: threads
/// may read texts while the process ends. A child by fork() reads its own: the parent's threads may have
/// held locks.
class ScriptsInUse {
 public:
  using Entry = std::shared_ptr<const ParsedScript>;

  Entry get(std::string_view text, std::string_view source) {
    if (!maker_.is_this()) return Reader(source).read(text);
    const std::pair key{std::string(source), std::string(text)};
    if (Entry known = find(key)) return known;
    Entry made = Reader(source).read(text);
    const std::scoped_lock lock(mutex_);
    std::erase_if(scripts_, [](const auto& each) { return each.second.expired(); });
    std::weak_ptr<const ParsedScript>& place = scripts_[key];
    if (Entry known = place.lock()) return known;  // another thread was faster
    place = made;
    return made;
  }

 private:
  using Key = std::pair<std::string, std::string>;

  Entry find(const Key& key) {
    const std::scoped_lock lock(mutex_);
    const auto found = scripts_.find(key);
    return found != scripts_.end() ? found->second.lock() : nullptr;
  }

  const MakerProcess maker_{};
  std::mutex mutex_{};
  std::map<Key, std::weak_ptr<const ParsedScript>> scripts_{};  ///< under mutex_
};

}  // namespace

Script parse_script(std::string_view text, std::string_view source) {
  if (text.size() > most_schedule_bytes)
    throw Error(
        ErrorCode::invalid_argument,
        std::string(source) + " has " + std::to_string(text.size()) + " bytes",
        {.remedy = "at most " + std::to_string(most_schedule_bytes) + "; loops make it shorter"});
  static ScriptsInUse& scripts = *std::make_unique<ScriptsInUse>().release();
  return Script(scripts.get(text, source));
}

}  // namespace rondo
