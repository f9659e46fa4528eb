// RaggedCalls: recent calls with counts, as their callers gave them. A repeated one is neither
// checked nor shaped again. CallCache knows calls by what shape() makes of them. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "core/plan/prepared.h"
#include "core/plan/ragged.h"

namespace rondo {

class RaggedCalls {
 public:
  using Entry = std::shared_ptr<const PreparedCall>;

  /// The call that keep() was last given for this call and these counts; null if forgotten.
  const Entry* find(const Call& asked, Counts counts) const {
    const Place& place = places_[place_of(asked, counts)];
    const bool found = place.prepared && place.asked == asked && equal(place.counts, counts);
    return found ? &place.prepared : nullptr;
  }
  /// Takes the place of another call.
  const Entry& keep(const Call& asked, Counts counts, const Entry& prepared) {
    Place& place = places_[place_of(asked, counts)];
    place = {asked, {counts.begin(), counts.end()}, prepared};
    return place.prepared;
  }

 private:
  struct Place {
    Call asked{};
    std::vector<std::size_t> counts{};
    Entry prepared{};
  };

  /// std::ranges::equal() would call memcmp(), which for a few counts takes longer than they do.
  static bool equal(Counts a, Counts b) {
    if (a.size() != b.size()) return false;
    std::size_t at = 0;
    while (at < a.size() && a[at] == b[at]) ++at;
    return at == a.size();
  }
  /// Collectives, the roots that a loop goes through, and some lists of counts have places of their
  /// own.
  static std::size_t place_of(const Call& asked, Counts counts) {
    const std::size_t ends = counts.empty() ? 0 : counts.front() + 3 * counts.back();
    const std::size_t kinds =
        static_cast<std::size_t>(asked.collective) * 11 + static_cast<std::uint32_t>(asked.root);
    return (kinds + ends) % number_of_places;
  }

  static constexpr std::size_t number_of_places = 64;
  std::array<Place, number_of_places> places_{};
};

}  // namespace rondo
