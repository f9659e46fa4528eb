#include "tools/rondo/step/state.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "tools/rondo/explain/names.h"

namespace rondo::tool::step {
namespace {

using Kind = Key::Kind;

State go(const Explanation& explanation, State state, std::ptrdiff_t round) {
  const auto last = static_cast<std::ptrdiff_t>(explanation.rounds.size());
  state.round = static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(round, 0, last));
  return state;
}

/// The next or previous one of `count`, round and round. Without one, the first or the last.
std::optional<int> turn(std::optional<int> at, int by, int count) {
  if (!at) return by > 0 ? 0 : count - 1;
  return (*at + by + count) % count;
}

State ask(State state, Prompt prompt) {
  state.prompt = prompt;
  state.typed.clear();
  state.playing = false;
  return state;
}

std::optional<int> number_in(const std::string& text, std::size_t least, std::size_t most) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most)
    return std::nullopt;
  return static_cast<int>(value);
}

/// Does what was typed, or says in the notice why not.
State answer(const Explanation& explanation, State state) {
  const Schedule& header = explanation.header;
  const Prompt prompt = std::exchange(state.prompt, Prompt::none);
  const std::string typed = std::exchange(state.typed, {});
  if (typed.empty()) return state;
  if (prompt == Prompt::round) {
    if (const auto round = number_in(typed, 0, explanation.rounds.size()))
      return go(explanation, state, *round);
    state.notice = "no round " + typed + ": 0 to " + std::to_string(explanation.rounds.size());
  } else if (prompt == Prompt::rank) {
    const auto last = static_cast<std::size_t>(header.ranks) - 1;
    if (const auto rank = number_in(typed, 0, last))
      state.rank = rank;
    else
      state.notice = "no rank " + typed + ": 0 to " + std::to_string(last);
  } else {
    const ChunkNames names(header);
    if (const auto chunk = names.parse(typed))
      state.chunk = chunk;
    else
      state.notice = "no chunk " + typed + ": " + names.chunk(0) + " to " +
                     names.chunk(header.layout.chunks() - 1);
  }
  return state;
}

State press_in_prompt(const Explanation& explanation, State state, Key key) {
  constexpr std::size_t longest = 8;
  if (key.kind == Kind::enter) return answer(explanation, std::move(state));
  if (key.kind == Kind::escape) {
    state.prompt = Prompt::none;
  } else if (key.kind == Kind::backspace) {
    if (!state.typed.empty()) state.typed.pop_back();
  } else if (key.kind == Kind::character && state.typed.size() < longest) {
    state.typed += key.character;
  }
  return state;
}

State press_character(const Explanation& explanation, State state, char character) {
  const auto round = static_cast<std::ptrdiff_t>(state.round);
  switch (character) {
    case 'n':
      return go(explanation, state, round + 1);
    case 'b':
      return go(explanation, state, round - 1);
    case 'g':
      return ask(state, Prompt::round);
    case 'r':
      return ask(state, Prompt::rank);
    case 'c':
      return ask(state, Prompt::chunk);
    case ' ':
      state.playing = !state.playing;
      // Playing from the end starts over.
      if (state.playing && state.round == explanation.rounds.size()) state.round = 0;
      return state;
    case '+':
      state.speed = std::min(state.speed + 1, fastest);
      return state;
    case '-':
      state.speed = std::max(state.speed - 1, slowest);
      return state;
    case 'v':
      if (explanation.inputs.empty())
        state.notice = "no numbers here: start with --values";
      else
        state.numbers = !state.numbers;
      return state;
    case '?':
      state.help = true;
      return state;
    case 'q':
      state.quit = true;
      return state;
    default:
      state.notice = "? shows the keys";
      return state;
  }
}

}  // namespace

State begin(const Explanation& explanation) { return {.numbers = !explanation.inputs.empty()}; }

State press(const Explanation& explanation, State state, Key key) {
  state.notice.clear();
  if (std::exchange(state.help, false)) return state;  // any key closes the help
  if (state.prompt != Prompt::none) return press_in_prompt(explanation, std::move(state), key);
  const auto round = static_cast<std::ptrdiff_t>(state.round);
  const int ranks = explanation.header.ranks;
  const int chunks = explanation.header.layout.chunks();
  switch (key.kind) {
    case Kind::right:
    case Kind::enter:
      return go(explanation, state, round + 1);
    case Kind::left:
    case Kind::backspace:
      return go(explanation, state, round - 1);
    case Kind::home:
      return go(explanation, state, 0);
    case Kind::end:
      return go(explanation, state, static_cast<std::ptrdiff_t>(explanation.rounds.size()));
    case Kind::up:
    case Kind::down:
      state.chunk = turn(state.chunk, key.kind == Kind::down ? 1 : -1, chunks);
      return state;
    case Kind::tab:
    case Kind::back_tab:
      state.rank = turn(state.rank, key.kind == Kind::tab ? 1 : -1, ranks);
      return state;
    case Kind::escape:
      state.rank.reset();
      state.chunk.reset();
      return state;
    case Kind::character:
      break;
  }
  return press_character(explanation, std::move(state), key.character);
}

State tick(const Explanation& explanation, State state) {
  if (!state.playing) return state;
  if (state.round < explanation.rounds.size()) ++state.round;
  state.playing = state.round < explanation.rounds.size();
  return state;
}

std::chrono::milliseconds period(const State& state) {
  return std::chrono::milliseconds(std::lround(1000.0 / std::exp2(state.speed)));
}

}  // namespace rondo::tool::step
