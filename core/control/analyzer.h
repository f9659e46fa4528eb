// The analyzer of the hang diagnosis: finds out why nothing moves, from every rank's report of its
// calls. Pure: values in, words out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/control/message.h"
#include "rondo/error.h"

namespace rondo::control {

/// A send or receive with `peer` that stands still.
struct Waiting {
  int peer = -1;
  std::string what{};
};

/// One rank's report: its state as the diagnosis found it.
struct RankReport {
  HostInfo host{};
  int world_rank = 0;
  bool opened = true;    ///< has made the communicator at all
  bool left = false;     ///< will make no further call; `report` is its last word
  bool answered = true;  ///< else `report` tells nothing: stopped, its machine is away
  CallReport report{};
  std::optional<Waiting> waits{};  ///< as it said a moment ago
};

/// "rank 3 (host x, pid 77)"; with the world rank where it is another.
std::string describe(int rank, const RankReport& rank_report);

/// An error for each rank, equal but for `peer` and `call`.
struct Fault {
  ErrorCode code = ErrorCode::internal;
  std::string message{};
  std::string remedy{};
  std::vector<int> peer{};
  std::vector<std::string> call{};
};

/// The same error for all, about `peer`.
Fault fault_for_all(ErrorCode code, std::string message, std::string remedy, std::size_t ranks,
                    int peer = -1);

struct Verdict {
  std::optional<Fault> fault{};
  std::string note{};  ///< what the reporter waits for; empty: nothing to say
};

/// The first call that the reports must contain. It lies some calls before those of the stall: a
/// rank that had nothing to do in a disputed call is further on than the others. 0: none.
std::uint64_t first_asked(const Stall& stall);

/// The first call from `from` to `to` in which two ranks' reports differ, as the fault of all.
std::optional<Fault> find_disagreement(std::uint64_t from, std::uint64_t to,
                                       const std::vector<RankReport>& rank_reports);

/// Why `reporter`, which reported `stall`, waits. rank_reports[i] is rank i.
Verdict analyze(int reporter, const Stall& stall, const std::vector<RankReport>& rank_reports);

/// What is told of a process whose connection ended: its kernel ended it, or nobody knows.
inline constexpr const char* words_of_death = " ended, died or was killed";
inline constexpr const char* remedy_of_death =
    "look at the end of its output, or the kernel's log, for why; a rank that ends in order "
    "destroys its communicators first";
inline constexpr const char* words_of_unreached = " cannot be reached, but may live: ";
inline constexpr const char* remedy_of_unreached =
    "look at its machine, and at the network between";
inline std::string broken_path(const std::string& why) {
  return "the path of its control connection is broken: " + why;
}

/// Empty where the ranks `come` may go on without the rest: they are more than half of those that may
/// live, or half of them and with the lowest one. So of several parts one goes on at most. Else why
/// not, in words. `may_live`: the ranks whose death is not proven, in order.
std::string obstacle_to_going_on(const std::vector<int>& come, const std::vector<int>& may_live);

/// "300 s", "0.25 s".
std::string seconds(std::uint64_t milliseconds);

}  // namespace rondo::control
