#include "tools/rondo/why/device.h"

#include "core/direct_device/flag_segment.h"
#include "core/dispatch/steps.h"
#include "core/resident/form.h"
#include "core/resident/programs.h"
#include "kernels/device/calls.h"
#include "tools/rondo/format.h"
#include "tools/rondo/why/item.h"

namespace rondo::tool::why {
namespace {

std::string kernel_text(const std::string& what) {
  return "one kernel on each rank, which waits for the kernels of the others: " + what;
}

std::string blocks_text(std::uint32_t blocks) {
  return std::to_string(blocks) + " of " + std::to_string(device::resident_threads) + " threads";
}

std::string by_hand(const resident::Choice& choice) {
  const bool one = choice.small == device::SmallAlgorithm::one_shot;
  return item("path", kernel_text("an all-reduce written by hand")) +
         item("algorithm", one ? "one_shot: the input goes to all ranks, each adds all up"
                               : "two_shot: each rank adds up a part and sends it to all") +
         item("why", "the message is small: one trip with all data, or two with less") +
         item("blocks", blocks_text(choice.stripes)) +
         item("messages", "packets that carry their flags");
}

std::string copies_text(const std::string& why) {
  return item("path", "copies and kernels that wait for nothing, ordered by flags in streams") +
         item("why", why);
}

std::string by_host(const std::string& why) {
  return item("path", "through the host's memory, as a call on host buffers") + item("why", why);
}

std::string windows_text(const resident::WindowUse& use, Collective collective) {
  if (!use.any()) return {};
  const std::string buffers =
      use.input ? use.output ? "input and output" : "the input" : "the output";
  return item("in windows",
              "where all ranks have " + buffers +
                  " in windows: no messages, peers' buffers are read and written "
                  "where they lie" +
                  (collective == Collective::all_reduce
                       ? " (up to " + std::to_string(resident::most_bytes_in_stages >> 10) +
                             " KiB for each block)"
                       : std::string()));
}

std::string by_program(const resident::Choice& choice, const Call& call, const Topology& around) {
  const device::ArenaShape shape = resident::arena_shape(around.ranks, resident::most_stripes);
  resident::Programs programs(0, around, shape);
  if (choice.composition.written && !programs.fits(choice.composition, call))
    return by_host(choice.composition.written.source() +
                   " is too long for GPUs' kernels, or needs more lanes, depth or scratch than "
                   "they have");
  const resident::StoredProgram& program =
      programs.find({choice.composition, call.root}, [](std::size_t, auto) {});
  const device::Sizes sizes = device::sizes_of(programs.request(program, call));
  const std::uint32_t lanes = program.lanes();
  const bool usual = choice.composition.name() == resident::default_algorithm(call.collective);
  const double slice = static_cast<double>(sizes.slice * size_of(call.type));
  const bool shifted = sizes.stripes > 1 && sizes.shorter(sizes.stripes - 1) > 0;
  return item("path", kernel_text("the program of a schedule")) +
         item("algorithm", choice.composition.name()) +
         item("why", choice.composition.written
                         ? "written in " + choice.composition.written.source()
                     : usual ? "the default between GPUs: in the fewest rounds"
                             : "RONDO_ALGORITHM or --algorithm allows it, and not the default") +
         item("blocks", "up to " + blocks_text(lanes * sizes.stripes) +
                            ", fewer where other communicators have taken the GPU's") +
         item("messages", sizes.protocol == device::Protocol::bulk
                              ? "frames of " + size_text(shape.frame_bytes)
                              : std::string("packets that carry their flags")) +
         item("slices", std::to_string(sizes.passes) + (sizes.passes == 1 ? " pass" : " passes") +
                            ", each of up to " + size_text(slice) + " of a chunk for each block" +
                            (shifted ? "; one more in blocks that begin out of step" : "")) +
         windows_text(programs.windows_of(choice.composition, call), call.collective);
}

std::string without_program(const Call& call, const Topology& around,
                            const AlgorithmSelection& selection) {
  const std::string why =
      call.accumulate != call.type
          ? "numbers are accumulated in " + std::string(name(call.accumulate))
          : "averages of integers are divided once, and this algorithm adds step by step";
  return resident::allows_default(call, {}, around, selection)
             ? copies_text(why)
             : by_host("no kernel follows the algorithm that is asked for: " + why);
}

/// "2 x all_gather of 50000 x float32": equal calls that follow each other.
std::string calls_text(const std::vector<stream::Request>& requests) {
  std::string text;
  for (std::size_t i = 0; i < requests.size();) {
    std::size_t end = i;
    while (end < requests.size() && alike(requests[end].call, requests[i].call)) ++end;
    const Call& call = requests[i].call;
    text += (text.empty() ? "" : ", ") + (end - i > 1 ? std::to_string(end - i) + " x " : "") +
            full_name(call) + " of " + std::to_string(call.count) + " x " +
            std::string(name(call.type));
    i = end;
  }
  return text;
}

std::string steps_text(const Call& call, const dispatch::Place& place) {
  const stream::Request request{.call = call};
  const dispatch::Scratch scratch{.bytes = dispatch::scratch_bytes};
  const std::vector<dispatch::Step> steps = dispatch::steps_of(request, place, scratch);
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(steps.size(), 3); ++i) {
    std::string words;
    const auto add = [&](const std::string& where, const std::string& what) {
      if (!what.empty()) words += (words.empty() ? "" : "; ") + where + what;
    };
    add("", steps[i].copies.empty() ? "" : "copies inside the GPU");
    add("inside hosts ", calls_text(steps[i].inside));
    add("across ", calls_text(steps[i].across));
    text += item("step " + std::to_string(i + 1), words);
  }
  const std::size_t more = steps.size() - std::min<std::size_t>(steps.size(), 3);
  return text + (more > 0 ? item("", "and " + std::to_string(more) + " more like these") : "");
}

std::string between_hosts(const Call& call, const Topology& where,
                          const AlgorithmSelection& selection) {
  std::optional<dispatch::Place> place = dispatch::place_of(where, 0);
  const std::string by_host = "through the hosts' memory, as a call on host buffers: ";
  if (!place)
    return item("path",
                by_host + "in steps go calls where all hosts have equally many ranks, 2 to " +
                    std::to_string(direct_device::most_ranks) + ", which follow each other");
  if (!dispatch::is_in_steps(call, false, *place, where, selection))
    return item("path", by_host +
                            "in steps go collectives, but for scans and some averages, from " +
                            size_text(dispatch::least_bytes_in_steps) +
                            " on, where no algorithm is named and no order asked for");
  place->host = call.root / place->on_host;
  place->index = call.root % place->on_host;
  return item("path",
              "hierarchical, in steps: inside hosts from GPU to GPU, across hosts through their "
              "memory, a "
              "part of each GPU at the same time") +
         steps_text(call, *place);
}

}  // namespace

std::string report_on_devices(const Call& call, const Topology& where,
                              const AlgorithmSelection& selection) {
  const int ranks = where.ranks;
  const Topology around{.ranks = ranks, .one_machine = true, .direct = true};
  const std::string title = std::string(name(call.collective)) + " of " +
                            std::to_string(call.count) + " x " + std::string(name(call.type)) +
                            " between " + std::to_string(ranks) + " GPUs, one for each rank\n\n";
  if (ranks == 1) return title + item("path", "none: the call copies input to output");
  if (!where.one_machine) return title + between_hosts(call, where, selection);
  if (ranks > direct_device::most_ranks)
    return title +
           item("path", "through the host's memory: GPUs reach each other in groups of up to " +
                            std::to_string(direct_device::most_ranks) + " ranks");
  const resident::Choice choice = resident::choose(call, around, selection);
  switch (choice.form) {
    case resident::Form::small:
      return title + by_hand(choice);
    case resident::Form::program:
      return title + by_program(choice, call, around);
    case resident::Form::finite:
      break;
  }
  return title + without_program(call, around, selection);
}

}  // namespace rondo::tool::why
