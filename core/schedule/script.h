// Script: a schedule's text form (text.h), parsed. It is for one number of ranks or for many.
#pragma once

#include <compare>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/schedule/schedule.h"
#include "core/schedule/verify.h"
#include "core/topology/topology.h"

namespace rondo {

struct ParsedScript;

/// Value type: copies share the parsed text. Empty by default; then only `bool` and comparisons may
/// be asked. Threads: any.
class Script {
 public:
  Script() = default;
  explicit operator bool() const { return parsed_ != nullptr; }
  /// Where the text is from, e.g. a file's name.
  const std::string& source() const;
  Collective collective() const;
  /// "" where the text does not say.
  const std::string& algorithm() const;
  /// It serves every root, as `root any` says, or its collective has none.
  bool for_any_root() const;
  /// The only number of ranks that it is for; 0: there are several.
  int only_ranks() const;
  int least_ranks() const;
  /// The only root that it is for; 0 for any. Throws Error{invalid_argument} where it is none of these
  /// ranks.
  int only_root(const Topology& topology) const;
  /// Whether its `sizes` have a call of so many bytes.
  bool for_bytes(std::size_t bytes) const;
  /// Why it is not for these ranks, in words; empty: it is. Throws Error{invalid_argument} where
  /// its `when` has no value.
  std::string unfit(const Topology& topology) const;

  /// Throws Error{invalid_argument} with line and column for what cannot be with these ranks, e.g. a
  /// part of a chunk. So do the schedule's steps. Whether it is right is verify()'s business.
  Schedule build(const Topology& topology, int root) const;
  /// The lines that its steps are from.
  LineOf line_of(const Topology& topology, int root) const;
  /// "has more than 16384 steps ..."; empty: it can be proved in some seconds. See provable.h.
  std::string unprovable(const Topology& topology, int root) const;
  /// The same as build(), verified: throws Error{invalid_argument} with what verify() found. A verdict
  /// is kept.
  Schedule build_right(const Topology& topology, int root) const;

  /// Equal only to its copies, and to what was read from the same text and source meanwhile.
  friend bool operator==(const Script&, const Script&) = default;
  friend auto operator<=>(const Script&, const Script&) = default;

 private:
  std::string verdict_of(const Schedule& schedule, const Topology& topology, int root) const;
  friend Script parse_script(std::string_view text, std::string_view source);
  explicit Script(std::shared_ptr<const ParsedScript> parsed) : parsed_(std::move(parsed)) {}

  std::shared_ptr<const ParsedScript> parsed_{};
};

/// Longer texts are refused.
inline constexpr std::size_t most_schedule_bytes = std::size_t{4} << 20;

/// Throws Error{invalid_argument} with line, column and what was expected there. As long as a script of
/// the same text and source lives in this process, the result shares it, and its verdicts: each of many
/// communicators would prove it anew.
Script parse_script(std::string_view text, std::string_view source = "schedule");

}  // namespace rondo
