#include "tools/trainer/memory/room.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>

#include "bench/common/gather.h"
#include "tools/trainer/agreement.h"
#include "tools/trainer/strategy/strategy.h"
#include "tools/trainer/words.h"

namespace rondo::train {
namespace {

constexpr const char* room_remedy =
    "a smaller model or batch, --checkpoint-activations, a strategy that shards (zero3 most), or "
    "fewer ranks a machine";

std::string size_text(std::uint64_t bytes) { return tool::bytes_text(static_cast<double>(bytes)); }

/// Counts of bytes must not overflow. A training that comes near that is too large for any machine.
void check_sizes(const ModelOptions& model, std::size_t rows) {
  const auto tokens = static_cast<double>(rows) * static_cast<double>(model.inputs);
  const double widest =
      std::max(4 * static_cast<double>(model.width),
               static_cast<double>(model.heads) * static_cast<double>(model.inputs));
  if (tokens * widest * static_cast<double>(model.layers + 1) < 0x1p56) return;
  reject("a batch of " + std::to_string(rows) + " samples a rank is too large with this model",
         "a smaller --batch, --block, --width or --layers, or a larger --accumulate");
}

bool may_map(std::size_t bytes) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return true;
  void* const space = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) return false;
  ::munmap(space, bytes);
  return true;
}

}  // namespace

std::size_t Plan::total() const {
  std::size_t sum = later;
  for (const std::size_t bytes : held) sum += bytes;
  return sum;
}

std::string Plan::words() const {
  std::string text = size_text(total()) + " a rank (";
  for (const UseInfo& row : uses) {
    const std::size_t bytes = held[static_cast<std::size_t>(row.use)];
    if (bytes > 0) text += std::string(row.name) + " " + size_text(bytes) + ", ";
  }
  return text + "before and after training " + size_text(later) + ")";
}

Plan plan_of(const Options& options, Communicator& world, std::size_t rows,
             const Machine& machine) {
  check_sizes(options.model, rows);
  Ledger ledger(machine, Ledger::Kind::planning);
  Stopwatch watch;
  Gpt model(options.model, ledger);
  const Optimizer optimizer(options.optimizer, model.layout());
  const Strategy strategy({world, model.layout(), optimizer, ledger, watch}, options.strategy);
  model.reserve(rows, options.model.inputs);
  Plan plan{.parameters = model.layout().size()};
  for (std::size_t use = 0; use < uses.size(); ++use) plan.held[use] = ledger.held(uses[use].use);
  // Start values are broadcast unit by unit.
  for (const Unit& unit : model.layout().units())
    plan.later = std::max(plan.later, unit.size * sizeof(float));
  const auto ranks = static_cast<std::size_t>(world.size());
  if (options.formulas == "full" && ranks > 1)  // communication alone, at the end
    plan.later = std::max(plan.later, (plan.parameters + ranks) * sizeof(float));
  return plan;
}

void require_within(const Plan& plan, const Options& options) {
  if (options.memory_limit > 0 && plan.total() > options.memory_limit) {
    throw Error(
        ErrorCode::out_of_memory,
        "this training takes " + plan.words() + ", the limit is " + size_text(options.memory_limit),
        {.remedy = std::string(room_remedy) + ", or a larger --memory-limit"});
  }
  // OpenBLAS's BUFFER_SIZE is at most this on any processor. Device memory is no address space.
  constexpr std::size_t product_buffer = std::size_t{128} << 20;
  const std::size_t products = static_cast<std::size_t>(options.threads) * product_buffer;
  if (options.device == "gpu" || may_map(plan.total() + products)) return;
  throw Error(ErrorCode::out_of_memory,
              "this training takes " + plan.words() + " and OpenBLAS " + size_text(products) +
                  " of addresses beside it, more than the process may map",
              {.remedy = std::string(room_remedy) + ", or a larger `ulimit -v`"});
}

void require_room(Communicator& control, const Plan& plan, const Machine& machine) {
  CommonMemory own;
  together(control, [&] { own = machine.common_memory(); });
  const auto ranks = std::ranges::count(bench::gather_all(control, own.place), own.place);
  together(control, [&] {
    const std::uint64_t wanted = static_cast<std::uint64_t>(ranks) * plan.total();
    if (wanted <= own.available) return;
    throw Error(ErrorCode::out_of_memory,
                format("%zu parameters: this training takes ", plan.parameters) + plan.words() +
                    ", " + size_text(wanted) + " for " + count_of_ranks(static_cast<int>(ranks)) +
                    (machine.is_device() ? " on the GPU" : " on the machine") +
                    format(" of rank %d, and ", control.rank()) + size_text(own.available) +
                    " are free there",
                {.remedy = room_remedy});
  });
}

}  // namespace rondo::train
