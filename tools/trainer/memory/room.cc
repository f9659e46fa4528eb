#include "tools/trainer/memory/room.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <span>
#include <vector>

#include "rondo/memory.h"
#include "tools/trainer/agreement.h"
#include "tools/trainer/report/print.h"
#include "tools/trainer/strategy/consistency.h"

namespace rondo::train {
namespace {

/// Address space per thread: OpenBLAS's BUFFER_SIZE is at most this on any processor.
constexpr std::size_t product_buffer_bytes = std::size_t{128} << 20;

constexpr const char* remedy =
    "a smaller model or batch, --checkpoint-activations, a strategy that shards (zero3 most), or "
    "fewer ranks a machine";

std::string size_text(std::uint64_t bytes) {
  const double mebibytes = static_cast<double>(bytes) / 1048576;
  return mebibytes < 1024 ? print("%.2f MiB", mebibytes) : print("%.2f GiB", mebibytes / 1024);
}

std::uint64_t number_of(const std::string& text) {
  return fingerprint(std::as_bytes(std::span(text)));
}

/// Ranks of one machine share its memory, or that of their control group if that has less. Two
/// containers may both call their group "/": the name space tells them apart.
CommonMemory host_memory() {
  const Available available = available_memory();
  std::string name;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> name;
  if (available.group.empty()) return {number_of(name), available.bytes};
  std::error_code ignored;
  name += std::filesystem::read_symlink("/proc/self/ns/cgroup", ignored).string();
  return {number_of(name + available.group), available.bytes};
}

/// Counts of bytes must not overflow. A training that comes near that is too large for any machine.
void check_sizes(const ModelOptions& model, std::size_t rows) {
  const auto tokens = static_cast<double>(rows) * static_cast<double>(model.inputs);
  const double widest =
      std::max(4 * static_cast<double>(model.width),
               static_cast<double>(model.heads) * static_cast<double>(model.inputs));
  if (tokens * widest * static_cast<double>(model.layers + 1) < 0x1p56) return;
  throw Error(
      ErrorCode::invalid_argument,
      "a batch of " + std::to_string(rows) + " samples a rank is too large with this model",
      {.remedy = "a smaller --batch, --block, --width or --layers, or a larger --accumulate"});
}

}  // namespace

std::size_t Plan::total() const {
  std::size_t sum = later;
  for (const std::size_t bytes : held) sum += bytes;
  return sum;
}

Plan Plan::part(const Supply& supply, bool common) const {
  Plan part{.later = common ? later : 0, .parameters = parameters};
  for (const UseInfo& row : uses) {
    const auto use = static_cast<std::size_t>(row.use);
    if (supply.is_common(row.use) == common) part.held[use] = held[use];
  }
  return part;
}

std::string Plan::words() const {
  std::string text = size_text(total()) + " a rank (";
  for (const UseInfo& row : uses) {
    const std::size_t bytes = held[static_cast<std::size_t>(row.use)];
    if (bytes > 0) text += std::string(row.name) + " " + size_text(bytes) + ", ";
  }
  return text + "within a step " + size_text(later) + ")";
}

Plan plan_of(const Options& options, Communicator& world, std::size_t rows,
             const Machine& machine) {
  check_sizes(options.model, rows);
  Ledger ledger(0, Ledger::Kind::planning);
  Stopwatch watch;
  const auto model = make_model<float>(options.model, ledger, machine.math());
  const Layout& layout = model->layout();
  const auto optimizer = make_optimizer(options.optimizer, layout);
  const auto strategy =
      make_strategy({world, layout, *optimizer, ledger, watch, machine}, options.strategy);
  model->reserve(rows, options.model.inputs);
  Plan plan{.parameters = layout.size()};
  for (std::size_t use = 0; use < uses.size(); ++use) plan.held[use] = ledger.held(uses[use].use);
  std::size_t largest = 0;  // start values are broadcast unit by unit
  for (const Unit& unit : layout.units()) largest = std::max(largest, unit.size * sizeof(float));
  plan.later = std::max(strategy->later_bytes(), largest);
  const auto ranks = static_cast<std::size_t>(world.size());
  if (options.formulas == Formulas::full && ranks > 1)  // communication alone, at the end
    plan.later = std::max(plan.later, (layout.size() + ranks) * sizeof(float));
  return plan;
}

void require_within(const Plan& plan, std::size_t limit) {
  if (limit == 0 || plan.total() <= limit) return;
  throw Error(ErrorCode::out_of_memory,
              "this training takes " + plan.words() + ", the limit is " + size_text(limit),
              {.remedy = std::string(remedy) + ", or a larger --memory-limit"});
}

// Checks only a limit of the process and reserves nothing. require_room() checks the machine's
// memory.
void require_address_space(const Plan& plan, int threads) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  const std::size_t bytes = plan.total() + static_cast<std::size_t>(threads) * product_buffer_bytes;
  void* const space = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space != MAP_FAILED) {
    ::munmap(space, bytes);
    return;
  }
  throw Error(ErrorCode::out_of_memory,
              "this training takes " + plan.words() + " and OpenBLAS " +
                  size_text(bytes - plan.total()) +
                  " of addresses beside it, but the process may map " + size_text(limit.rlim_cur) +
                  " in all",
              {.remedy = std::string(remedy) + ", or a larger `ulimit -v`"});
}

void require_room(const std::vector<Wish>& wishes, const Plan& plan, const std::string& where) {
  for (std::size_t first = 0; first < wishes.size(); ++first) {
    std::uint64_t wanted = 0;
    std::uint64_t available = wishes[first].from.available;
    int ranks = 0;
    for (const Wish& wish : wishes) {
      if (wish.from.place != wishes[first].from.place) continue;
      ++ranks;
      wanted += wish.bytes;
      available = std::min(available, wish.from.available);
    }
    if (wanted <= available) continue;
    throw AgreedError(ErrorCode::out_of_memory,
                      print("%zu parameters: this training takes ", plan.parameters) +
                          plan.words() + ", " + size_text(wanted) +
                          print(" for %d rank%s ", ranks, ranks == 1 ? "" : "s") + where +
                          print(" %zu, and ", first) + size_text(available) + " are free there",
                      {.remedy = remedy});
  }
}

void require_room(Communicator& control, const Plan& plan, const Supply* supply) {
  Wish own{.bytes = plan.total()};
  together(control,
           [&] { own.from = supply != nullptr ? supply->common_memory() : host_memory(); });
  std::vector<Wish> wishes(static_cast<std::size_t>(control.size()));
  constexpr std::size_t words = sizeof(Wish) / sizeof(std::uint64_t);
  control.all_gather(&own, wishes.data(), words, DataType::uint64);
  require_room(wishes, plan, supply != nullptr ? "on the GPU of rank" : "on the machine of rank");
}

}  // namespace rondo::train
