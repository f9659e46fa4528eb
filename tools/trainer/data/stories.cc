// Small stories from a grammar. A model can learn the words, which animal speaks, sums of small
// numbers, and that the first and last sentence name the same animal.
#include <array>
#include <string_view>

#include "tools/trainer/data/random.h"
#include "tools/trainer/data/text.h"

namespace rondo::train {
namespace {

using Words = std::span<const std::string_view>;

constexpr std::array<std::string_view, 12> animals{"fox",   "owl",   "hare",  "bear",
                                                   "mouse", "goose", "otter", "badger",
                                                   "crow",  "deer",  "toad",  "cat"};
constexpr std::array<std::string_view, 8> qualities{"small", "old",   "clever", "sleepy",
                                                    "brave", "quiet", "hungry", "kind"};
constexpr std::array<std::string_view, 8> places{
    "by the river", "in the old barn", "under the oak", "on the hill",
    "at the mill",  "near the bridge", "in the meadow", "behind the wall"};
constexpr std::array<std::string_view, 8> things{"apple", "lantern", "kite",  "basket",
                                                 "bell",  "ribbon",  "spoon", "drum"};
constexpr std::array<std::string_view, 6> colours{"red",    "blue",  "green",
                                                  "yellow", "white", "black"};
constexpr std::array<std::string_view, 5> times{"One morning", "In the evening", "After the rain",
                                                "Long ago", "On a cold day"};
constexpr std::array<std::string_view, 13> numbers{"zero", "one",    "two",   "three", "four",
                                                   "five", "six",    "seven", "eight", "nine",
                                                   "ten",  "eleven", "twelve"};

std::string pick(Random& random, Words words) {
  return std::string(words[random.below(words.size())]);
}

std::string sum(Random& random) {
  const std::size_t first = 1 + random.below(6);
  const std::size_t second = 1 + random.below(6);
  return std::string(numbers[first]) + " and " + std::string(numbers[second]) + " make " +
         std::string(numbers[first + second]);
}

struct Cast {
  std::string hero, friend_, thing, place;
};

std::string middle(Random& random, const Cast& cast) {
  switch (random.below(4)) {
    case 0:
      return "\"Is this your " + cast.thing + "?\" asked the " + cast.hero + ". \"No,\" said the " +
             cast.friend_ + ", \"but " + sum(random) + ".\"\n";
    case 1:
      return "The " + cast.friend_ + " wanted the " + cast.thing +
             " too, so they counted: " + sum(random) + ".\n";
    case 2:
      return "\"Let us carry the " + cast.thing + " home,\" said the " + cast.friend_ + ". The " +
             cast.hero + " was glad.\n";
    default:
      return "They sat down " + cast.place + " and looked at the " + cast.thing + " until it was " +
             "dark.\n";
  }
}

std::string story(Random& random) {
  Cast cast{pick(random, animals), pick(random, animals), "", pick(random, places)};
  while (cast.friend_ == cast.hero) cast.friend_ = pick(random, animals);
  // One after the other: compilers differ in the order in which they evaluate what is added up.
  const std::string thing = pick(random, things);
  cast.thing = pick(random, colours) + " " + thing;
  const std::string quality = pick(random, qualities);
  std::string text = pick(random, times) + " the " + quality + " " + cast.hero + " found a " +
                     cast.thing + " " + cast.place + ".\n";
  text += "There came a " + pick(random, qualities) + " " + cast.friend_ + ".\n";
  for (std::size_t count = 1 + random.below(3); count > 0; --count) text += middle(random, cast);
  return text + "And so the " + cast.hero + " and the " + cast.friend_ + " became friends.\n\n";
}

}  // namespace

std::string story_text(std::size_t bytes) {
  Random random(2026);
  std::string text;
  while (text.size() < bytes) text += story(random);
  return text;
}

}  // namespace rondo::train
