#include "tools/rondo/calibrate/measure.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>

#include "core/plan/sizes.h"
#include "tools/rondo/calibrate/trials.h"

namespace rondo::tool {
namespace {

using Json = nlohmann::ordered_json;

constexpr double smallest = 8;
constexpr std::size_t meeting_bytes = 4096;

/// Runs the ranks; what rank 0 returns comes back here.
Json from_team(int ranks, const std::function<Json(bench::Member&)>& body) {
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  const std::unique_ptr<std::FILE, Closer> file(std::tmpfile());
  if (!file) throw std::runtime_error("rondo calibrate: no temporary file for what ranks measured");
  bench::run_team(ranks, [&](bench::Member& member) {
    const std::string text = body(member).dump();
    member.meet();  // nobody's channels go while somebody uses them
    if (member.rank() != 0) return;
    if (std::fwrite(text.data(), 1, text.size(), file.get()) != text.size() ||
        std::fflush(file.get()) != 0)
      throw std::runtime_error("cannot write what was measured");
  });
  std::rewind(file.get());
  std::string text;
  for (int letter = 0; (letter = std::fgetc(file.get())) != EOF;) text += static_cast<char>(letter);
  return Json::parse(text);
}

/// As executors do with results of all ranks together.
bool streams(double bytes, int ranks) {
  return bytes * ranks >= static_cast<double>(cached_results);
}

bench::Spread halved(const bench::Spread& spread) {
  return {spread.low / 2, spread.median / 2, spread.high / 2};
}

void scale(Curve& curve, double factor) {
  for (Knot& knot : curve)
    knot.seconds = {knot.seconds.low * factor, knot.seconds.median * factor,
                    knot.seconds.high * factor};
}

/// The communicators of one link, what they measure and where it goes.
class Link {
 public:
  /// Collective. `meeting` holds meeting_bytes.
  Link(bench::Member& member, bench::SharedMemory& meeting, const CalibrateOptions& options,
       const std::string& transport, int cores)
      : member_(member),
        options_(options),
        buffers_(2 * options.sizes.back()),
        messages_(join(member, meeting, {.transport = transport, .algorithm = "all_gather:ring"})) {
    if (transport == "shm")
      direct_ = join(member, meeting, {.transport = transport, .algorithm = "direct"});
    for (const std::string& algorithm : options.checked) {
      const std::string forced = algorithm == "default" ? "" : algorithm;
      checked_.push_back(join(member, meeting, {.transport = transport, .algorithm = forced}));
    }
    found_.link = {.transport = transport, .ranks = member.size(), .cores = cores};
  }

  /// Collective; the same on every rank.
  const LinkMeasurement& measure() {
    for (const double bytes : options_.sizes) one_size(bytes);
    found_.link.alpha = halved(bench::spread_of(alphas_));
    found_.link.meeting = bench::spread_of(meetings_);
    // A core did the work of all its ranks meanwhile.
    const double share = static_cast<double>(found_.link.cores) / found_.link.ranks;
    scale(found_.gamma.copies, share);
    scale(found_.gamma.reduces, share);
    return found_;
  }

  void finalize() {
    messages_.finalize();
    if (direct_) direct_.finalize();
    for (Communicator& world : checked_) world.finalize();
  }

 private:
  /// An all_gather of twice the bytes moves what an all_reduce does; where it alone would write
  /// past the caches half of it is measured, and counted twice.
  double gathered(double bytes) const {
    const int ranks = member_.size();
    return streams(2 * bytes, ranks) == streams(bytes, ranks) ? 2 * bytes : bytes;
  }

  void one_size(double bytes) {
    std::vector<bench::Trial> trials{
        ping_pong(messages_, buffers_, smallest), ping_pong(messages_, buffers_, bytes),
        gather_all(messages_, buffers_, gathered(bytes)),
        copies(buffers_, bytes, streams(bytes, member_.size())),
        reduces(buffers_, bytes, {.streaming = streams(bytes, member_.size())})};
    for (Communicator& world : checked_) trials.push_back(all_reduce(world, buffers_, bytes));
    if (direct_) {
      trials.push_back(gather_all(direct_, buffers_, smallest * member_.size()));
      trials.push_back(gather_all(direct_, buffers_, bytes));
    }
    take(bytes, bench::measure(member_, trials, {.rounds = options_.rounds}));
  }

  /// In the order of the trials.
  void take(double bytes, std::vector<std::vector<double>> samples) {
    const auto add = [bytes](Curve& curve, const std::vector<double>& seconds) {
      curve.push_back({bytes, bench::spread_of(seconds)});
    };
    auto next = samples.begin();
    alphas_.insert(alphas_.end(), next->begin(), next->end());
    add(found_.link.one_way, *++next);
    found_.link.one_way.back().seconds = halved(found_.link.one_way.back().seconds);
    std::vector<double> exchanges = *++next;
    for (double& seconds : exchanges) seconds *= 2 * bytes / gathered(bytes);
    add(found_.link.exchange, exchanges);
    add(found_.gamma.copies, *++next);
    add(found_.gamma.reduces, *++next);
    for (std::size_t i = 0; i < checked_.size(); ++i) {
      const std::size_t count = static_cast<std::size_t>(bytes) / sizeof(float);
      found_.checked.push_back(
          {options_.checked[i], bytes, bench::spread_of(*++next),
           checked_[i].describe(Collective::all_reduce, count, DataType::float32)});
    }
    if (!direct_) return;
    meetings_.insert(meetings_.end(), (next + 1)->begin(), (next + 1)->end());
    add(found_.link.fetch, *(next + 2));
  }

  bench::Member& member_;
  const CalibrateOptions& options_;
  Buffers buffers_;
  Communicator messages_;
  Communicator direct_{};  ///< empty where there is no direct way
  std::vector<Communicator> checked_{};
  std::vector<double> alphas_{};  ///< of round trips
  std::vector<double> meetings_{};
  LinkMeasurement found_{};
};

Json to_json(const std::vector<Checked>& all) {
  Json json = Json::array();
  for (const Checked& one : all)
    json.push_back({{"algorithm", one.algorithm},
                    {"bytes", one.bytes},
                    {"seconds", {one.seconds.low, one.seconds.median, one.seconds.high}},
                    {"how", one.how}});
  return json;
}

std::vector<Checked> checked_from_json(const Json& json) {
  std::vector<Checked> all;
  for (const Json& one : json) {
    const Json& seconds = one.at("seconds");
    all.push_back({one.at("algorithm"),
                   one.at("bytes"),
                   {seconds.at(0), seconds.at(1), seconds.at(2)},
                   one.at("how")});
  }
  return all;
}

GammaProfile measure_reduction(bench::Member& member, const CalibrateOptions& options,
                               Buffers& buffers, DataType type, ReduceOperator op) {
  GammaProfile gamma{.type = type, .op = op};
  for (const double bytes : options.sizes) {
    const bool streaming = streams(bytes, member.size());
    const std::vector<bench::Trial> trials{
        copies(buffers, bytes, streaming),
        reduces(buffers, bytes, {.type = type, .op = op, .streaming = streaming})};
    const auto samples =
        bench::measure(member, trials, {.rounds = options.rounds, .sample_seconds = 5e-4});
    gamma.copies.push_back({bytes, bench::spread_of(samples[0])});
    gamma.reduces.push_back({bytes, bench::spread_of(samples[1])});
  }
  return gamma;
}

}  // namespace

LinkMeasurement measure_link(const CalibrateOptions& options, const std::string& transport,
                             int ranks) {
  bench::SharedMemory meeting(meeting_bytes);
  const int cores = std::min(ranks, bench::allowed_cores());
  const Json json = from_team(ranks, [&](bench::Member& member) -> Json {
    Link link(member, meeting, options, transport, cores);
    const LinkMeasurement& found = link.measure();
    link.finalize();
    return {{"link", tool::to_json(found.link)},
            {"checked", to_json(found.checked)},
            {"gamma", tool::to_json(found.gamma)}};
  });
  return {link_from_json(json.at("link")), checked_from_json(json.at("checked")),
          gamma_from_json(json.at("gamma"))};
}

std::vector<GammaProfile> measure_reductions(const CalibrateOptions& options, int ranks) {
  const Json json =
      from_team(std::min(ranks, bench::allowed_cores()), [&](bench::Member& member) -> Json {
        Buffers buffers(options.sizes.back());
        Json all = Json::array();
        for (const DataType type : options.types) {
          for (const ReduceOperator op : options.ops)
            all.push_back(tool::to_json(measure_reduction(member, options, buffers, type, op)));
        }
        return all;
      });
  std::vector<GammaProfile> all;
  for (const Json& one : json) all.push_back(gamma_from_json(one));
  return all;
}

}  // namespace rondo::tool
