#include "tools/rondo/calibrate/ranks.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/common/gather.h"
#include "core/settings/settings.h"
#include "core/transport/host.h"
#include "rondo/error.h"
#include "rondo/rondo.h"
#include "tools/rondo/calibrate/profile.h"

namespace rondo::tool {
namespace {

using Json = nlohmann::ordered_json;

class ForkedRanks final : public Ranks {
 public:
  Json run(int ranks, const Body& body) override {
    struct Closer {
      void operator()(std::FILE* file) const { std::fclose(file); }
    };
    const std::unique_ptr<std::FILE, Closer> file(std::tmpfile());
    if (!file)
      throw std::runtime_error("rondo calibrate: no temporary file for what ranks measured");
    bench::run_team(ranks, [&](bench::Member& member) {
      const std::string text = body(member).dump();
      member.meet();  // no channel goes while another rank uses it
      if (member.rank() != 0) return;
      if (std::fwrite(text.data(), 1, text.size(), file.get()) != text.size() ||
          std::fflush(file.get()) != 0)
        throw std::runtime_error("cannot write what was measured");
    });
    std::rewind(file.get());
    std::string text;
    for (int letter = 0; (letter = std::fgetc(file.get())) != EOF;)
      text += static_cast<char>(letter);
    return Json::parse(text);
  }
  int hosts() const override { return 1; }
  int cores(int ranks) const override { return std::min(ranks, bench::allowed_cores()); }
  bool first() const override { return true; }
};

/// A member that meets the others through a communicator of its own.
class LaunchedMember final : public bench::Member {
 public:
  explicit LaunchedMember(Communicator& world)
      : Member(world.rank(), world.size()), world_(world) {}

  void meet() override { world_.barrier(); }
  std::uint64_t agree(std::uint64_t value) override {
    world_.broadcast(&value, &value, 1, DataType::uint64, 0);
    return value;
  }
  double largest(double value) override {
    world_.all_reduce(&value, &value, 1, DataType::float64, ReduceOperator::max);
    return value;
  }

 private:
  Communicator& world_;
};

/// The text of each rank, cut to 255 characters.
std::vector<std::string> gather_texts(Communicator& world, const std::string& own) {
  std::array<char, 256> text{};
  own.copy(text.data(), text.size() - 1);
  const std::vector<std::array<char, 256>> all = bench::gather_all(world, text);
  std::vector<std::string> texts;
  for (const auto& one : all) texts.emplace_back(one.data());
  return texts;
}

class LaunchedRanks final : public Ranks {
 public:
  LaunchedRanks() : world_(Communicator::from_environment()) {
    const std::vector<std::string> all =
        gather_texts(world_, this_host(read_config().host_id).host);
    if (std::set(all.begin(), all.end()).size() < all.size())
      throw Error(ErrorCode::configuration,
                  "calibrate was started " + std::to_string(world_.size()) +
                      " times by a launcher, and some of these ranks share a host",
                  {.remedy = "one rank on each of several hosts, such as `rondorun --hosts a:1,b:1 "
                             "rondo calibrate`; or, for this host only, `rondo calibrate --ranks " +
                             std::to_string(world_.size()) + "` without the launcher"});
    warn_of_others();
  }

  Json run(int, const Body& body) override {
    LaunchedMember member(world_);
    Json found = body(member);
    member.meet();  // no channel goes while another rank uses it
    return found;
  }
  int hosts() const override { return world_.size(); }
  int cores(int ranks) const override { return ranks; }
  bool first() const override { return world_.rank() == 0; }

 private:
  /// A profile has one machine: rank 0's.
  void warn_of_others() {
    const Machine own = this_machine();
    const std::vector<std::string> all =
        gather_texts(world_, own.cpu + " with " + std::to_string(own.cores) + " cores");
    if (!first()) return;
    for (std::size_t rank = 1; rank < all.size(); ++rank) {
      if (all[rank] != all[0])
        std::fprintf(
            stderr,
            "rondo: the host of rank %zu (%s) differs from that of rank 0 (%s); the profile "
            "names the latter\n",
            rank, all[rank].c_str(), all[0].c_str());
    }
  }

  Communicator world_;
};

}  // namespace

std::unique_ptr<Ranks> forked_ranks() { return std::make_unique<ForkedRanks>(); }
std::unique_ptr<Ranks> launched_ranks() { return std::make_unique<LaunchedRanks>(); }

int launched() { return read_placement(read_config()).ranks; }

}  // namespace rondo::tool
