#include "tools/rondo/page/page.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "rondo/error.h"
#include "tools/rondo/arguments.h"
#include "tools/rondo/explain/hosts.h"
#include "tools/rondo/page/assets.h"
#include "tools/rondo/page/encode.h"
#include "tools/rondo/page/network.h"

namespace rondo::tool {
namespace {

/// Steps of all schedules of a page together, so that page and program stay below the limit.
constexpr std::size_t most_step_bytes = 150 * 1000;

/// The numbers of ranks to choose from. The larger ones have only the algorithms shown at the start.
constexpr std::array world_sizes{2, 3, 4, 5, 6, 7, 8, 12, 16, 32, 64};
constexpr int most_ranks_of_all = 8;
/// Steps of all worlds together; a page with as many steps of its own has only those.
constexpr std::size_t most_world_bytes = 50 * 1000;

void replace(std::string& text, std::string_view mark, std::string_view with) {
  const std::size_t at = text.find(mark);
  if (at == std::string::npos)
    throw Error(ErrorCode::internal, "page.html has no " + std::string(mark));
  text.replace(at, mark.size(), with);
}

std::string joined(std::string_view ending) {
  std::string all;
  for (const Asset& each : assets())
    if (each.name.ends_with(ending)) all += each.text;
  return all;
}

}  // namespace

std::string page_html(const PageContent& content) {
  const std::string data = script_safe(page_data(content));
  std::string html(asset("web/page.html"));
  replace(html, "{styles}", joined(".css"));
  replace(html, "{title}", html_text(content.title));
  replace(html, "{lesson}",
          content.lesson.empty()
              ? "<header class=\"lesson\"><h1>" + html_text(content.title) + "</h1></header>"
              : content.lesson);
  replace(html, "{notes}", content.notes);
  replace(html, "{data}", data);
  replace(html, "{scripts}", joined(".js"));
  if (html.size() > most_page_bytes)
    reject("the page would have " + std::to_string(html.size() / 1000) + " KB, at most " +
               std::to_string(most_page_bytes / 1000),
           "fewer ranks, chunks or steps");
  return html;
}

PageContent explained_page(const Schedule& schedule, const std::string& compare) {
  return explained_page(schedule, compare, {.ranks = schedule.ranks});
}

PageContent explained_page(const Schedule& schedule, const std::string& compare,
                           const Topology& topology) {
  PageContent content;
  const std::size_t hosts = shown_hosts(topology).size();
  const std::string collective(name(schedule.collective));
  content.title = collective + (schedule.algorithm.empty() ? "" : " by " + schedule.algorithm) +
                  ", " + std::to_string(schedule.ranks) + " ranks";
  if (hosts > 0) {
    content.title += " on " + std::to_string(hosts) + " hosts";
    content.topology = topology;
    content.alpha = topology.memory.alpha;
    content.beta = topology.memory.beta;
    content.gamma = topology.gamma;
  }
  content.schedules.push_back(schedule);
  if (schedule.ranks > most_page_ranks) return content;  // page_data() refuses it
  std::size_t bytes = encode_steps(schedule).dump().size();
  if (hosts > 0) bytes += network_data(topology).dump().size();
  const auto add = [&](const Composition& row, bool needed) {
    Schedule other = row.build(topology, schedule.root);
    const std::size_t size = encode_steps(other).dump().size();
    if (!needed && bytes + size > most_step_bytes) return;
    bytes += size;
    content.schedules.push_back(std::move(other));
  };
  if (!compare.empty()) {
    add(compositions_by_name(schedule.collective, compare, topology).front(), true);
    content.compared = 1;
  }
  for (const Composition& row : compositions_by_name(schedule.collective, "", topology))
    if (row.name() != schedule.algorithm && row.name() != compare) add(row, false);
  return content;
}

Schedule rebuilt(const Schedule& schedule, int ranks) {
  return find_algorithm(schedule.collective, schedule.algorithm)->build(ranks, schedule.root);
}

void add_worlds(PageContent& content, const Rebuild& rebuild) {
  const int own = content.schedules.front().ranks;
  if (!shown_hosts(content.topology).empty() || own > most_page_ranks) return;
  std::size_t own_bytes = 0;
  for (const Schedule& schedule : content.schedules)
    own_bytes += encode_steps(schedule).dump().size();
  std::size_t bytes = 0;
  for (const int ranks : world_sizes) {
    if (ranks == own || content.schedules.front().root >= ranks) continue;
    std::vector<Schedule> world;
    for (std::size_t index = 0; index < content.schedules.size(); ++index) {
      const bool shown = index == 0 || static_cast<int>(index) == content.compared;
      if (!shown && (ranks > most_ranks_of_all || own_bytes > most_world_bytes)) continue;
      Schedule other = rebuild(content.schedules[index], ranks);
      const std::size_t size = encode_steps(other).dump().size();
      if (bytes + size > most_world_bytes) continue;
      bytes += size;
      world.push_back(std::move(other));
    }
    if (!world.empty()) content.worlds.push_back(std::move(world));
  }
}

void write_page(const std::string& path, std::string_view html) {
  write_page(path, [html](std::ostream& file) {
    file.write(html.data(), static_cast<std::streamsize>(html.size()));
  });
}

void write_to_open(const std::string& path, const std::string& text) {
  write_page(path, text);
  std::printf("wrote %s, %zu KB: open it in a browser\n", path.c_str(), (text.size() + 500) / 1000);
}

void write_page(const std::string& path, const std::function<void(std::ostream&)>& write) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (file) write(file);
  file.close();
  if (!file)
    reject("cannot write '" + path + "': " + std::strerror(errno),
           "a file in a folder that exists and that you may write to");
}

}  // namespace rondo::tool
