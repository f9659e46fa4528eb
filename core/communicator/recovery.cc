// Recovery: what the ranks that live can do with a communicator that has failed, and how one grows.
// All of it rests on one exchange among the living, whose members the coordinator decides for all.
#include <algorithm>

#include "core/communicator/access.h"
#include "core/communicator/remedies.h"
#include "core/communicator/state.h"
#include "core/control/exchange_values.h"

namespace rondo::detail {
namespace {

/// How a rank fared in making the smaller communicator.
struct Outcome {
  std::uint8_t code = 0;  ///< an ErrorCode; counts where there are words
  std::string words{};    ///< empty: it was made
  std::string remedy{};

  static void fields(auto& self, auto& archive) { archive(self.code, self.words, self.remedy); }
};

/// What a living rank says. By mistake the ranks may call different functions.
struct Statement {
  std::string function{};
  std::string bytes{};

  static void fields(auto& self, auto& archive) { archive(self.function, self.bytes); }
};

/// What a rank of the smaller communicator says before it grows.
struct Invitation {
  bool is_there = false;
  std::array<char, sizeof(UniqueId)> id{};
};
static_assert(sizeof(Invitation) == sizeof(UniqueId) + 1);

template <class Value>
std::vector<int> absent_of(const std::vector<std::optional<Value>>& said) {
  std::vector<int> absent;
  for (std::size_t rank = 0; rank < said.size(); ++rank)
    if (!said[rank]) absent.push_back(static_cast<int>(rank));
  return absent;
}

/// The same on all ranks.
void throw_first_failure(const std::vector<std::optional<Outcome>>& outcomes, int rank) {
  const auto failed = std::ranges::find_if(
      outcomes, [](const auto& outcome) { return outcome && !outcome->words.empty(); });
  if (failed == outcomes.end()) return;
  const Outcome& outcome = **failed;
  const auto peer = static_cast<int>(failed - outcomes.begin());
  const auto code = std::min(outcome.code, static_cast<std::uint8_t>(ErrorCode::internal));
  throw Error(
      static_cast<ErrorCode>(code),
      "rank " + std::to_string(peer) + " cannot be in the smaller communicator: " + outcome.words,
      {.rank = rank, .peer = peer == rank ? -1 : peer, .remedy = outcome.remedy});
}

void require_same_function(const std::vector<std::optional<Statement>>& all, int rank) {
  const auto first = std::ranges::find_if(all, [](const auto& said) { return said.has_value(); });
  const auto other = std::ranges::find_if(
      all, [&](const auto& said) { return said && said->function != (*first)->function; });
  if (other == all.end()) return;
  const auto peer = static_cast<int>(other - all.begin());
  throw Error(ErrorCode::mismatch,
              "rank " + std::to_string(first - all.begin()) + " calls " + (*first)->function +
                  ", but rank " + std::to_string(peer) + " calls " + (*other)->function,
              {.rank = rank,
               .peer = peer == rank ? static_cast<int>(first - all.begin()) : peer,
               .remedy = "make the same calls in the same order on every rank"});
}

}  // namespace

template <class Value>
std::vector<std::optional<Value>> CommunicatorState::hear_living(const char* function,
                                                                 const Value& mine) {
  {
    const Lock lock(progress_);
    lifetime_.require_not_finalized();
    if (control_->failed()) lifetime_.note_told();  // whoever comes here knows
  }
  const auto all =
      exchange_values_of_living(control_, Statement{function, pack(mine)}, watchdog_.timeout());
  require_same_function(all, rank());
  std::vector<std::optional<Value>> values(all.size());
  for (std::size_t peer = 0; peer < all.size(); ++peer)
    if (all[peer]) values[peer] = unpack_said<Value>(all[peer]->bytes, peer);
  return values;
}

Agreed CommunicatorState::agree(std::uint64_t flags) {
  const auto said = hear_living("agree", flags);
  Agreed agreed{.flags = ~std::uint64_t{0}, .lost = absent_of(said)};
  for (const auto& of_rank : said) agreed.flags &= of_rank.value_or(agreed.flags);
  return agreed;
}

std::shared_ptr<CommunicatorState> CommunicatorState::split_living(int color, int key) {
  std::vector<SplitWish> wishes;
  for (const auto& wish : hear_living("split", SplitWish{color, key}))
    wishes.push_back(wish.value_or(SplitWish{}));
  const auto members = derivation_.split(wishes);
  return members ? make_child(*members) : nullptr;
}

std::shared_ptr<CommunicatorState> CommunicatorState::shrink(const std::vector<int>& excluded) {
  progress_.require_own_process();
  return make_child(derivation_.shrink(excluded));
}

/// A rank may die while the new communicator is made. Some ranks have it then and others do not, so
/// all hear how each of them fared, and try again without those that have died.
std::shared_ptr<CommunicatorState> CommunicatorState::shrink() {
  std::vector<int> lost = absent_of(hear_living("shrink", Outcome{}));
  for (;;) {
    Outcome mine;
    std::shared_ptr<CommunicatorState> made;
    try {
      made = shrink(lost);
    } catch (const Error& error) {
      mine = {static_cast<std::uint8_t>(error.code()), error.message(), error.remedy()};
    } catch (const std::exception& error) {  // no memory, say
      mine = {static_cast<std::uint8_t>(ErrorCode::internal), error.what(), ""};
    }
    const auto outcomes = hear_living("shrink", mine);
    const std::vector<int> lost_now = absent_of(outcomes);
    if (lost_now == lost) {
      throw_first_failure(outcomes, rank());
      return made;
    }
    lost = lost_now;
  }
}

void CommunicatorState::check_growth(int ranks) const {
  if (ranks > size()) return;
  throw Error(ErrorCode::invalid_argument,
              "a communicator of " + std::to_string(size()) + " ranks cannot grow to " +
                  std::to_string(ranks),
              {.rank = rank(), .remedy = "pass the number of old and new ranks together"});
}

std::shared_ptr<CommunicatorState> CommunicatorState::grow(int ranks,
                                                           const std::optional<UniqueId>& id) {
  check_growth(ranks);
  Invitation mine{.is_there = id.has_value()};
  if (id) mine.id = id->bytes;
  std::vector<Invitation> all(static_cast<std::size_t>(size()));
  call({.count = sizeof mine, .collective = Collective::all_gather}, &mine, all.data());
  const auto found = std::ranges::find(all, true, &Invitation::is_there);
  if (found == all.end())
    throw Error(ErrorCode::invalid_usage, "no rank brought a unique id to grow by",
                {.rank = rank(), .remedy = std::string(remedies::id_to_grow_by.words)});
  const bool set_here = watchdog_.is_from_program();
  return CommunicatorAccess::state(Communicator::from_unique_id(
      UniqueId{found->id}, rank(), ranks,
      {.transport = config().transport,
       .algorithm = config().algorithm,
       .timeout = set_here ? watchdog_.timeout() : std::chrono::milliseconds{0},
       .reproducible = config().reproducible,
       .accumulate_wide = config().accumulate_wide,
       .checksum = config().checksum}));
}

}  // namespace rondo::detail
