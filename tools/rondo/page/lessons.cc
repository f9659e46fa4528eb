#include "tools/rondo/page/lessons.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/schedule/text.h"
#include "tools/rondo/format.h"
#include "tools/rondo/page/assets.h"
#include "tools/rondo/page/page.h"
#include "tools/rondo/topology/options.h"

namespace rondo::tool {
namespace {

struct Lesson {
  std::string_view name;  ///< of its text in lessons/ and of its page
  std::string_view title;
  std::string_view summary;
  PageContent (*content)();
};

/// The naive all-reduce: all ranks send to rank 0, which answers. The table has no such row.
Schedule star_all_reduce(int ranks) {
  std::string centre = "rank 0\n";
  std::string others;
  for (int rank = 1; rank < ranks; ++rank) {
    const std::string round = " round " + std::to_string(rank) + "\n";
    const std::string number = std::to_string(rank);
    centre += "phase collect" + round + "receive_reduce " + (rank == 1 ? "input" : "output") +
              "[0] then from " + number + " into output[0]\n";
    others += "rank " + number + "\nphase collect" + round + "send input[0] to 0\nphase answer" +
              round + "receive from 0 into output[0]\n";
  }
  for (int rank = 1; rank < ranks; ++rank)
    centre += "phase answer round " + std::to_string(rank) + "\nsend output[0] to " +
              std::to_string(rank) + "\n";
  return parse_schedule("collective all_reduce\nalgorithm star\nranks " + std::to_string(ranks) +
                            "\nphases collect answer\n" + centre + others,
                        "the star");
}

Schedule built(Collective collective, std::string_view algorithm, int ranks) {
  return find_algorithm(collective, algorithm)->build(ranks, 0);
}

/// Two schedules to compare, and the collective's other algorithms to choose from.
PageContent compared(Schedule first, Schedule second) {
  PageContent content = explained_page(first, "");
  std::erase_if(content.schedules, [&](const Schedule& schedule) {
    return schedule.collective == second.collective && schedule.algorithm == second.algorithm;
  });
  content.schedules.insert(content.schedules.begin() + 1, std::move(second));
  content.compared = 1;
  return content;
}

PageContent one_rank() {
  return compared(star_all_reduce(4), built(Collective::all_reduce, "ring", 4));
}
PageContent tree() {
  return compared(built(Collective::all_reduce, "binomial_tree", 8), star_all_reduce(8));
}
PageContent reduce_scatter() {
  return explained_page(built(Collective::reduce_scatter, "ring", 4), "");
}
/// The lesson goes on where the one before it ended, so it has both halves.
PageContent all_gather() { return explained_page(built(Collective::all_reduce, "ring", 4), ""); }
PageContent least_traffic() {
  return explained_page(built(Collective::all_reduce, "ring", 8), "recursive_doubling");
}
PageContent crossover() {
  PageContent content = explained_page(built(Collective::all_reduce, "ring", 16), "binomial_tree");
  content.bytes = 1 << 16;
  return content;
}
PageContent double_tree() {
  return explained_page(built(Collective::all_reduce, "double_tree", 8), "binomial_tree");
}
/// Two hosts with two ranks each, beside a ring that knows no hosts.
PageContent hierarchical() {
  TopologyInput where;
  where.hosts = "2x2";
  const Topology topology = *topology_of(where);
  return explained_page(build_schedule("all_reduce", "hierarchical(one_shot,ring)", topology, 0),
                        "ring", topology);
}
PageContent zero() {
  return compared(built(Collective::reduce_scatter, "ring", 4),
                  built(Collective::all_gather, "ring", 4));
}
PageContent write_your_own() {
  return explained_page(built(Collective::all_reduce, "recursive_doubling", 2), "");
}

constexpr std::array lessons{
    Lesson{"one_rank", "Why not send everything to one rank?",
           "Four vectors are added. A star works, but its middle does all the work.", one_rank},
    Lesson{"tree", "Trees: few rounds", "Sums go up the tree, the result comes down.", tree},
    Lesson{"reduce_scatter", "The ring, first half: reduce-scatter",
           "Each rank sums one chunk. Which rank ends with which chunk?", reduce_scatter},
    Lesson{"all_gather", "The ring, second half: all-gather",
           "Finished chunks go round until every rank has them all.", all_gather},
    Lesson{"least_traffic",
           "Why 2(P\xe2\x88\x92"
           "1)/P?",
           "No all-reduce can send less. Which ones send just that?", least_traffic},
    Lesson{"crossover", "Latency, bandwidth, and the crossover",
           "When the ring loses to the tree, with sliders.", crossover},
    Lesson{"double_tree", "Two trees at once", "Few rounds and no idle links.", double_tree},
    Lesson{"hierarchical", "Several hosts: reduce inside first",
           "Links between hosts are slow. Each host sends its share over them just once.",
           hierarchical},
    Lesson{"zero", "What ZeRO sends",
           "An all-reduce in two halves, and what that saves in training.", zero},
    Lesson{"write_your_own", "Write your own schedule",
           "An editor that checks the schedule while you type, and commands that run it for real.",
           write_your_own},
};

std::string link(std::string_view name, std::string_view text) {
  return "<a href=\"" + std::string(name) + ".html\">" + html_text(text) + "</a>";
}

/// Empty after the last lesson.
std::string next_link(std::size_t number) {
  if (number + 1 == lessons.size()) return "";
  const Lesson& next = lessons[number + 1];
  return link(next.name, "Next: " + std::string(next.title) + " \xe2\x86\x92");
}

std::string heading(std::size_t number) {
  std::string words =
      "<header class=\"lesson\">\n<nav aria-label=\"Lessons\">" + link("index", "All lessons");
  if (number > 0) words += link(lessons[number - 1].name, "\xe2\x86\x90 Previous");
  words += next_link(number);
  return words + "</nav>\n<h1>" + std::to_string(number + 1) + ". " +
         html_text(lessons[number].title) + "</h1>\n";
}

/// A lesson's text ends with its scenes, or has a panel of notes after them.
constexpr std::string_view notes_begin = "<section class=\"notes\"";

SiteFile lesson_file(std::size_t number) {
  const Lesson& lesson = lessons[number];
  PageContent content = lesson.content();
  content.title = lesson.title;
  const std::string_view text = asset("lessons/" + std::string(lesson.name) + ".html");
  const std::size_t notes = std::min(text.find(notes_begin), text.size());
  content.lesson = heading(number) + std::string(text.substr(0, notes)) + "<p>" +
                   next_link(number) + "</p></header>\n";
  content.notes = text.substr(notes);
  add_worlds(content, [](const Schedule& schedule, int ranks) {
    return schedule.algorithm == "star" ? star_all_reduce(ranks) : rebuilt(schedule, ranks);
  });
  return {std::string(lesson.name) + ".html", page_html(content)};
}

SiteFile index_file() {
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n"
      "<title>Learn how collectives work</title>\n<style>\n";
  html += std::string(asset("web/theme.css")) + std::string(asset("web/layout.css")) +
          std::string(asset("web/scenes.css"));
  html +=
      "</style>\n</head>\n<body>\n<main class=\"lesson\">\n<h1>How collectives work</h1>\n"
      "<p>Processes that compute together must sum, share and exchange their data. These lessons "
      "show how, with the schedules that rondo runs. Play them, step through them, change latency "
      "and bandwidth, and write one yourself.</p>\n<ol class=\"lessons\">\n";
  for (const Lesson& lesson : lessons)
    html +=
        "<li>" + link(lesson.name, lesson.title) + "<br>" + html_text(lesson.summary) + "</li>\n";
  html +=
      "</ol>\n<p>For a page of any other algorithm and number of ranks: <code>rondo explain "
      "all_reduce --algorithm ring --ranks 8 --compare double_tree --html ring.html</code>. The "
      "algorithms: <code>rondo list</code>.</p>\n</main>\n</body>\n</html>\n";
  return {"index.html", std::move(html)};
}

}  // namespace

std::vector<SiteFile> learning_site() {
  std::vector<SiteFile> files{index_file()};
  for (std::size_t number = 0; number < lessons.size(); ++number)
    files.push_back(lesson_file(number));
  return files;
}

}  // namespace rondo::tool
