#include "core/schedule/script.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/schedule/parsed_script.h"
#include "core/schedule/provable.h"
#include "core/schedule/text.h"
#include "core/schedule/text_line.h"
#include "core/schedule/verify.h"
#include "rondo/error.h"

namespace rondo {
namespace {

constexpr int most_parts = 1 << 20;
constexpr int most_chunks = 1 << 30;  ///< sums of two chunks' numbers fit into an int
constexpr std::uint64_t most_statements = std::uint64_t{1} << 20;  ///< of one rank and lane

/// What a script's formulas can see: values by their places.
class Values {
 public:
  /// `hosts`: null where the script needs none.
  Values(const ParsedScript& script, int ranks, const Hosts* hosts, int root)
      : script_(script), hosts_(hosts) {
    const double count = hosts != nullptr ? hosts->count() : std::nan("");
    values_ = {static_cast<double>(ranks), static_cast<double>(root), count,
               static_cast<double>(std::bit_width(static_cast<unsigned>(ranks) - 1))};
  }

  /// Those of a section are unknown (not a number) until they are set.
  void add_section(const Section& section) {
    names_ = &section.names;
    values_.resize(static_cast<std::size_t>(Known::end));
    values_.resize(section.names.size(), std::nan(""));
  }
  double& operator[](std::uint32_t place) { return values_[place]; }

  double of(const WrittenNumber& number) const {
    if (number.formula < 0) return number.constant;
    try {
      return script_.formulas[static_cast<std::size_t>(number.formula)].value(values_, hosts_);
    } catch (const Formula::Wrong& wrong) {
      fail(number, wrong.what);
    }
  }
  /// A whole number in these limits. Throws Error{invalid_argument} with its place.
  int whole(const WrittenNumber& number, const char* what, double least, double most) const {
    const double value = of(number);
    const double nearest = std::round(value);  // 49*(1/49) is 1
    const bool whole = std::abs(value - nearest) <= 1e-9;
    if (whole && nearest >= least && nearest <= most) return static_cast<int>(nearest);
    fail(number, "expected " + std::string(what) + ", a number from " + number_text(least) +
                     " to " + number_text(most) + ", found " + number_text(value));
  }
  [[noreturn]] void fail(const WrittenNumber& number, const std::string& what) const {
    throw Error(ErrorCode::invalid_argument,
                place_text(script_.source, number.line, number.column) + what + where(number));
  }

 private:
  /// " where P = 4, r = 3": what its formula takes.
  std::string where(const WrittenNumber& number) const {
    if (number.formula < 0) return {};
    const auto known = static_cast<std::uint32_t>(Known::end);
    std::string text;
    for (const std::uint32_t place :
         script_.formulas[static_cast<std::size_t>(number.formula)].named()) {
      const std::string name = place < known ? known_name_list[place] : (*names_)[place];
      text += (text.empty() ? " where " : ", ") + name + " = " + number_text(values_[place]);
    }
    return text;
  }

  const ParsedScript& script_;
  const Hosts* hosts_;
  const std::vector<std::string>* names_ = nullptr;
  std::vector<double> values_;
};

/// A script for known ranks and a known root.
struct Built {
  std::shared_ptr<const ParsedScript> script;
  std::shared_ptr<const Hosts> hosts;  ///< null where the script needs none
  int ranks = 1;
  int root = 0;
  std::uint64_t* statements =
      nullptr;  ///< that may run yet, of all ranks and lanes; null: any number
  int lanes = 1;
  int chunks = 1;
  /// Sections of one rank and lane, by rank * lanes + lane.
  std::multimap<std::size_t, std::uint32_t> own{};
  std::vector<std::uint32_t> general{};  ///< sections of many

  std::size_t key(int rank, int lane) const {
    return static_cast<std::size_t>(rank) * static_cast<std::size_t>(lanes) +
           static_cast<std::size_t>(lane);
  }
  Values values() const { return Values(*script, ranks, hosts.get(), root); }
  /// In the order of the text.
  std::vector<std::uint32_t> sections_of(int rank, int lane) const;
};

std::vector<std::uint32_t> Built::sections_of(int rank, int lane) const {
  const auto [begin, end] = own.equal_range(key(rank, lane));
  std::vector<std::uint32_t> found;
  for (auto at = begin; at != end; ++at) found.push_back(at->second);
  const Values known = values();
  for (const std::uint32_t each : general) {
    const Section& section = script->sections[each];
    const bool here = (section.every_rank || known.of(section.rank) == rank) &&
                      (section.every_lane || known.of(section.lane) == lane);
    if (here) found.push_back(each);
  }
  std::ranges::sort(found);
  return found;
}

Chunk chunk_of(const WrittenChunk& written, const Values& values, int chunks,
               int* slots = nullptr) {
  Chunk made{.buffer = written.buffer};
  if (written.buffer == Buffer::scratch) {
    const int slot = values.whole(written.slot, "a scratch slot", 0, 65535);
    made.slot = static_cast<std::uint16_t>(slot);
    if (written.slots && slots != nullptr)
      *slots = values.whole(written.last_slot, "the last scratch slot", slot, 65535) - slot + 1;
  }
  const int first = values.whole(written.first, "a chunk", 0, chunks - 1);
  const int last =
      written.run ? values.whole(written.last, "the last chunk", 0, chunks - 1) : first;
  made.first = static_cast<std::uint32_t>(first);
  made.count = static_cast<std::uint32_t>((last - first + chunks) % chunks + 1);
  return made;
}

Step step_of(const WrittenStep& written, const Values& values, const Built& built) {
  Step made{.kind = written.kind, .order = written.order};
  const bool has_peer = written.kind == StepKind::send || written.kind == StepKind::receive ||
                        written.kind == StepKind::receive_reduce;
  int slots = 1;
  if (written.kind != StepKind::receive)
    made.from = chunk_of(written.from, values, built.chunks, &slots);
  made.operands = static_cast<std::uint32_t>(slots);
  if (has_peer) made.peer = values.whole(written.peer, "a rank", 0, built.ranks - 1);
  if (written.kind != StepKind::send) made.into = chunk_of(written.into, values, built.chunks);
  return made;
}

/// Sets what a statement that is no step sets, and returns the number of the next one.
std::uint32_t after(const Statement& statement, std::uint32_t at, Values& values) {
  constexpr double most = 1 << 30;
  switch (statement.kind) {
    case Statement::Kind::let:
      values[statement.place] = values.of(statement.value);
      return at + 1;
    case Statement::Kind::loop:
      values[statement.place + 1] = values.whole(statement.last, "the last number", -most, most);
      values[statement.place] = values.whole(statement.value, "the first number", -most, most);
      return values[statement.place] <= values[statement.place + 1] ? at + 1 : statement.target;
    case Statement::Kind::again:
      return ++values[statement.place] <= values[statement.place + 1] ? statement.target : at + 1;
    case Statement::Kind::branch:
      return values.of(statement.value) != 0 ? at + 1 : statement.target;
    case Statement::Kind::jump:
      return statement.target;
    case Statement::Kind::step:
    case Statement::Kind::label:
      break;
  }
  return at + 1;
}

/// `line`: set to that of each step, unless it is null.
Steps steps_of(std::shared_ptr<const Built> built, int rank, int lane,
               std::shared_ptr<int> line = nullptr) {
  Values values = built->values();
  std::uint64_t count = 0;
  for (const std::uint32_t each : built->sections_of(rank, lane)) {
    const Section& section = built->script->sections[each];
    values.add_section(section);
    if (section.every_rank) values[section.rank_place] = rank;
    if (section.every_lane) values[section.lane_place] = lane;
    int phase = 0;
    int round = 0;
    for (std::uint32_t at = section.begin; at < section.end;) {
      const Statement& statement = built->script->statements[at];
      if (built->statements != nullptr && (*built->statements == 0 || --*built->statements == 0))
        values.fail(statement.value, "expected fewer statements of all ranks together");
      if (++count > most_statements)
        values.fail(statement.value, "rank " + std::to_string(rank) + " does more than " +
                                         std::to_string(most_statements) + " statements");
      if (line != nullptr) *line = statement.value.line;
      if (statement.kind == Statement::Kind::step)
        co_yield step_of(built->script->steps[statement.step], values, *built).at(phase, round);
      if (statement.kind == Statement::Kind::label) {
        if (statement.names_phase) phase = statement.phase;
        round = values.whole(statement.value, "a round", 1, 1 << 30) - 1;
      }
      at = after(statement, at, values);
    }
  }
}

void index_sections(Built& built) {
  const Values values = built.values();
  for (std::uint32_t i = 0; i < built.script->sections.size(); ++i) {
    const Section& section = built.script->sections[i];
    const int rank =
        section.every_rank ? 0 : values.whole(section.rank, "a rank", 0, built.ranks - 1);
    const int lane =
        section.every_lane ? 0 : values.whole(section.lane, "a lane", 0, built.lanes - 1);
    if (section.every_rank || section.every_lane)
      built.general.push_back(i);
    else
      built.own.emplace(built.key(rank, lane), i);
  }
}

/// Null where the script needs none: of a million ranks they take much memory.
std::shared_ptr<const Hosts> hosts_of(const ParsedScript& script, const Topology& topology) {
  constexpr int most_ranks = 1 << 16;  // more are not proved
  if (script.hosts_line == 0) return nullptr;
  if (topology.ranks > most_ranks)
    throw Error(ErrorCode::invalid_argument,
                script.source + ":" + std::to_string(script.hosts_line) +
                    ": asks for the hosts of " + std::to_string(topology.ranks) +
                    " ranks, which takes too long",
                {.remedy = "at most " + std::to_string(most_ranks) + " ranks"});
  return std::make_shared<const Hosts>(topology);
}

/// The script as a schedule, and what its steps are made of.
std::pair<Schedule, std::shared_ptr<const Built>> make(
    const std::shared_ptr<const ParsedScript>& script, const Topology& topology, int root,
    std::uint64_t* statements = nullptr) {
  const int ranks = topology.ranks;
  const auto built =
      std::make_shared<Built>(Built{script, hosts_of(*script, topology), ranks, root, statements});
  const Values values = built->values();
  built->lanes = values.whole(script->lanes, "the number of lanes", 1, 65535);
  const int parts = values.whole(script->parts, "the parts of a block", 1, most_parts);
  const Layout layout = make_layout(script->collective, ranks, parts);
  if (layout.blocks > most_chunks / parts)
    values.fail(script->parts,
                "expected at most " + std::to_string(most_chunks) + " chunks (blocks times parts)");
  built->chunks = layout.chunks();
  index_sections(*built);
  Schedule made{.collective = script->collective,
                .algorithm = script->algorithm,
                .ranks = ranks,
                .root = root,
                .lanes = built->lanes,
                .depth = values.whole(script->depth, "the depth of channels", 1, 1 << 30),
                .layout = layout,
                .phases = script->phases};
  made.steps = [built](int rank, int lane) { return steps_of(built, rank, lane); };
  return {std::move(made), built};
}

/// Looks at so many steps as a text is read, so that most of its errors are found then.
constexpr int most_read_steps = 1 << 20;

void read_steps(const Schedule& schedule, const Built& built) {
  int left = most_read_steps;
  const auto read = [&](int rank, int lane) {
    Steps steps = schedule.steps(rank, lane);
    while (--left > 0 && steps.next() != nullptr) {
    }
  };
  for (auto at = built.own.begin(); at != built.own.end() && left > 0; ++at)
    read(static_cast<int>(at->first / static_cast<std::size_t>(built.lanes)),
         static_cast<int>(at->first % static_cast<std::size_t>(built.lanes)));
  constexpr int most_read = 4;  // ranks and lanes, of sections that are for many
  if (built.general.empty()) return;
  for (int rank = 0; rank < std::min(schedule.ranks, most_read); ++rank)
    for (int lane = 0; lane < std::min(schedule.lanes, most_read); ++lane) read(rank, lane);
}

}  // namespace

const std::string& Script::source() const { return parsed_->source; }
Collective Script::collective() const { return parsed_->collective; }
const std::string& Script::algorithm() const { return parsed_->algorithm; }

bool Script::for_any_root() const {
  return parsed_->any_root || !info(parsed_->collective).has_root;
}

int Script::only_ranks() const {
  return parsed_->least_ranks == parsed_->most_ranks ? parsed_->least_ranks : 0;
}

int Script::least_ranks() const { return parsed_->least_ranks; }

int Script::only_root(const Topology& topology) const {
  const auto hosts = hosts_of(*parsed_, topology);
  return Values(*parsed_, topology.ranks, hosts.get(), 0)
      .whole(parsed_->root, "the root", 0, topology.ranks - 1);
}

bool Script::for_bytes(std::size_t bytes) const {
  return bytes >= parsed_->least_bytes && bytes <= parsed_->most_bytes;
}

std::string Script::unfit(const Topology& topology) const {
  const int ranks = topology.ranks;
  if (ranks < parsed_->least_ranks || ranks > parsed_->most_ranks) {
    std::string range = std::to_string(parsed_->least_ranks);
    if (only_ranks() == 0 && parsed_->most_ranks == most_ranks_of_script)
      range += " or more";
    else if (only_ranks() == 0)
      range += " to " + std::to_string(parsed_->most_ranks);
    return parsed_->source + " is for " + range + " ranks, not " + std::to_string(ranks);
  }
  const auto hosts = hosts_of(*parsed_, topology);
  if (Values(*parsed_, ranks, hosts.get(), 0).of(parsed_->when) != 0) return {};
  std::string where = std::to_string(ranks) + " ranks";
  if (hosts != nullptr)
    where += " on " + std::to_string(hosts->count()) + (hosts->count() == 1 ? " host" : " hosts");
  return parsed_->source + ":" + std::to_string(parsed_->when.line) +
         " says that it is not for these " + where;
}

Schedule Script::build(const Topology& topology, int root) const {
  if (const std::string words = unfit(topology); !words.empty())
    throw Error(ErrorCode::invalid_argument, words, {.remedy = "see its lines 'ranks' and 'when'"});
  const int only = only_root(topology);
  if (!for_any_root() && root != only)
    throw Error(
        ErrorCode::invalid_argument,
        parsed_->source + " is for root " + std::to_string(only) + ", not " + std::to_string(root),
        {.remedy = "where it is for every root, write the line 'root any'"});
  const auto [schedule, built] = make(parsed_, topology, parsed_->any_root ? root : only);
  if (only_ranks() != 0) read_steps(schedule, *built);
  return schedule;
}

LineOf Script::line_of(const Topology& topology, int root) const {
  return [parsed = parsed_, topology, root](int rank, int lane, std::uint64_t step) {
    const auto line = std::make_shared<int>(0);
    Steps steps = steps_of(make(parsed, topology, root).second, rank, lane, line);
    for (std::uint64_t i = 0; i <= step; ++i) steps.next();
    return *line;
  };
}

Schedule Script::build_right(const Topology& topology, int root) const {
  const Schedule schedule = build(topology, root);
  std::vector<int> places{topology.ranks};
  if (const auto hosts = hosts_of(*parsed_, topology))
    for (int rank = 0; rank < topology.ranks; ++rank) places.push_back(hosts->host_of(rank));
  const std::lock_guard lock(parsed_->verdicts_lock);
  const std::pair key(root, std::move(places));
  auto verdict = parsed_->verdicts.find(key);
  if (verdict == parsed_->verdicts.end())
    verdict = parsed_->verdicts.emplace(key, verdict_of(schedule, topology, root)).first;
  if (verdict->second.empty()) return schedule;
  throw Error(ErrorCode::invalid_argument, source() + " " + verdict->second,
              {.remedy = "`rondo verify --file` says more"});
}

std::string Script::verdict_of(const Schedule& schedule, const Topology& topology, int root) const {
  if (const std::string words = unprovable(topology, root); !words.empty()) return words;
  const Report report = verify(schedule, line_of(topology, root));
  if (report.ok()) return {};
  const std::size_t more = report.findings.size() + report.suppressed - 1;
  return "is wrong for " + std::to_string(topology.ranks) + " ranks" +
         (info(parsed_->collective).has_root ? ", root " + std::to_string(root) : "") + ": " +
         report.findings.front() + (more > 0 ? " (and " + std::to_string(more) + " more)" : "");
}

std::string Script::unprovable(const Topology& topology, int root) const {
  std::uint64_t statements = most_statements_in_all;
  const Schedule schedule = make(parsed_, topology, root, &statements).first;
  return too_long_to_prove(schedule, statements, line_of(topology, root),
                           {.lanes = parsed_->lanes.line, .parts = parsed_->parts.line});
}

Schedule parse_schedule(std::string_view text, std::string_view source) {
  const Script script = parse_script(text, source);
  if (script.only_ranks() == 0)
    throw Error(ErrorCode::invalid_argument,
                std::string(source) + " is for several numbers of ranks: choose one");
  const Topology topology{.ranks = script.only_ranks()};
  return script.build(topology, script.only_root(topology));
}

}  // namespace rondo
