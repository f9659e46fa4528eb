#include <cblas.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <string>

#include "rondo/memory.h"
#include "tools/trainer/data/random.h"
#include "tools/trainer/machine/machine.h"
#include "tools/trainer/math/kernels.h"

namespace rondo::train {
namespace {

Work issue(Communicator& world, const Collection& c) {
  constexpr auto mean = ReduceOperator::avg;
  if (c.own != nullptr) return world.all_reduce_async(c.input, c.output, c.count, *c.own);
  if (c.kind == Collective::all_reduce)
    return world.all_reduce_async(c.input, c.output, c.count, c.type, mean);
  if (c.kind == Collective::reduce_scatter)
    return world.reduce_scatter_async(c.input, c.output, c.count, c.type, mean);
  return world.all_gather_async(c.input, c.output, c.count, c.type);
}

}  // namespace

void set_product_threads(int threads) { openblas_set_num_threads(threads); }

/// What goes through collectives lies where peers reach it directly.
std::shared_ptr<void> Machine::take(Use use, std::size_t bytes) const {
  if (info(use).travels) {
    const auto memory = std::make_shared<Memory>(allocate(bytes));
    return {memory, memory->data()};
  }
  constexpr std::size_t line = 64;
  std::shared_ptr<void> memory(std::aligned_alloc(line, (bytes + line - 1) / line * line),
                               [](void* taken) { std::free(taken); });
  if (!memory) throw std::bad_alloc();
  std::memset(memory.get(), 0, bytes);
  return memory;
}

/// Ranks of one machine share its memory, or that of their control group if that has less. Two
/// containers may both call their group "/": the name space tells them apart.
CommonMemory Machine::common_memory() const {
  const Available available = available_memory();
  std::string name;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> name;
  if (!available.group.empty()) {
    std::error_code ignored;
    name +=
        std::filesystem::read_symlink("/proc/self/ns/cgroup", ignored).string() + available.group;
  }
  return {fingerprint(name), available.bytes};
}

void Machine::zero(void* memory, std::size_t bytes) const { std::memset(memory, 0, bytes); }
void Machine::read(const void* from, void* host, std::size_t bytes) const {
  if (bytes > 0) std::memcpy(host, from, bytes);
}
void Machine::write(const void* host, void* into, std::size_t bytes) const {
  if (bytes > 0) std::memcpy(into, host, bytes);
}
std::span<const std::int32_t> Machine::upload(std::span<const std::int32_t> host) const {
  return host;
}

/// By OpenBLAS.
void Machine::multiply(const Product& p) const {
  const auto order = [](bool transposed) { return transposed ? CblasTrans : CblasNoTrans; };
  const auto size = [](std::size_t value) { return static_cast<blasint>(value); };
  for (std::size_t i = 0; i < p.count; ++i) {
    cblas_sgemm(CblasRowMajor, order(p.a.transposed), order(p.b.transposed), size(p.c.rows),
                size(p.c.columns), size(p.a.columns), p.scale, p.a.values + i * p.a.step,
                size(p.a.stride), p.b.values + i * p.b.step, size(p.b.stride), p.keep,
                p.c.values + i * p.c.step, size(p.c.stride));
  }
}
void Machine::launch(const Call& call, std::size_t, bool) const { run(call, OneLane{}); }
double Machine::sum_of_squares(std::span<const float> values) const {
  double sum = 0;
  launch(make_call(Kernel::squares, {buffer_of(values), buffer_of(std::span(&sum, 1))}), 1, false);
  return sum;
}

Machine::Wait Machine::start(Communicator& world, const Collection& call) const {
  const auto work = std::make_shared<Work>(issue(world, call));
  return [work] { work->wait(); };
}
Traffic Machine::traffic(const Communicator& world) const { return world.traffic(); }

const Machine& host_machine() {
  static const Machine machine;
  return machine;
}

}  // namespace rondo::train
