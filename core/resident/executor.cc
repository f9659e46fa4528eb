#include "core/resident/executor.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iomanip>
#include <new>
#include <sstream>

#include "core/base/log.h"
#include "core/control/exchange_values.h"
#include "core/resident/co_residency.h"
#include "core/schedule/layout.h"

namespace rondo::resident {
namespace {

using cuda::check;
using cuda::driver;

constexpr std::size_t pinned_bytes = 4096;
constexpr std::size_t table_in_pinned = 1024;
static_assert(sizeof(device::Control) <= table_in_pinned);

constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

std::string uuid_of(int device) {
  cuda::Uuid uuid{};
  check(driver().device_get_uuid(&uuid, device), "cuDeviceGetUuid");
  std::ostringstream text;
  text << std::hex << std::setfill('0');
  for (const char byte : uuid.bytes)
    text << std::setw(2) << static_cast<unsigned>(static_cast<unsigned char>(byte));
  return text.str();
}

/// A driver that does not know the question runs no MPS that we could trust.
bool has_mps(int device) {
  int enabled = 0;
  const int status = driver().device_get_attribute(&enabled, cuda::attribute_mps, device);
  return status == cuda::success && enabled != 0;
}

/// The candidate for the current context, in which `budget` is taken.
Candidate this_candidate(cuda::Context context, std::unique_ptr<BlockBudget>& budget) {
  const int device = cuda::current_device();
  Candidate candidate;
  candidate.process = this_host({}).process;
  candidate.device = uuid_of(device);
  candidate.shares = has_mps(device);
  candidate.blocks = cuda::ResidentKernels::of(context).blocks_at_once();
  budget = std::make_unique<BlockBudget>(candidate.device, most_stripes);
  candidate.taken = budget->taken();
  return candidate;
}

void tell(const detail::CommunicatorState& state, const std::string& obstacle) {
  if (obstacle.empty())
    return log(LogLevel::info, state.rank(), "small calls between GPUs are co-resident kernels",
               LogSubsystem::p2p);
  const bool wanted = state.config().device_executor == DeviceExecutor::resident;
  log(wanted ? LogLevel::warn : LogLevel::info, state.rank(),
      std::string(wanted ? "RONDO_DEVICE_EXECUTOR=resident is not possible: " : "") +
          "small calls between GPUs use no co-resident kernels: " + obstacle,
      LogSubsystem::p2p);
}

}  // namespace

Executor::Places::Places(int ranks)
    : table(aligned(device::ArenaPlaces(arena_shape(ranks)).bytes())),
      staged_input(table + aligned(static_cast<std::size_t>(ranks) * sizeof(std::byte*))),
      staged_output(staged_input + most_held_bytes(ranks)),
      end(staged_output + most_held_bytes(ranks)) {}

Executor::Executor(cuda::Context context, int rank, int ranks, std::unique_ptr<BlockBudget> budget)
    : rank_(rank),
      ranks_(ranks),
      shape_(arena_shape(ranks)),
      kernels_(cuda::ResidentKernels::of(context)),
      budget_(std::move(budget)),
      places_(ranks),
      pinned_(pinned_bytes),
      programs_(rank, ranks, shape_) {
  new (pinned_.data()) device::Control();
}

std::shared_ptr<Executor> Executor::make(const std::shared_ptr<detail::CommunicatorState>& state,
                                         cuda::Context context) {
  if (state->config().device_executor == DeviceExecutor::finite) {
    tell(*state, "RONDO_DEVICE_EXECUTOR=finite");
    return nullptr;
  }
  std::shared_ptr<Executor> made;
  Candidate mine;
  try {
    std::unique_ptr<BlockBudget> budget;
    mine = this_candidate(context, budget);
    made.reset(new Executor(context, state->rank(), state->size(), std::move(budget)));
  } catch (const std::exception& error) {
    mine.obstacle = error.what();
  }
  const std::vector<Candidate> candidates = exchange_values(state, mine);
  const std::string obstacle = obstacle_of(candidates);
  tell(*state, obstacle);
  return obstacle.empty() ? made : nullptr;
}

std::size_t Executor::bytes(int ranks) { return Places(ranks).end; }

void Executor::connect(const std::vector<cuda::DevicePointer>& places) {
  places_.own = places[static_cast<std::size_t>(rank_)];
  std::byte* const table = pinned_.data() + table_in_pinned;
  const std::size_t table_bytes = places.size() * sizeof places.front();
  std::memcpy(table, places.data(), table_bytes);
  const cuda::OwnedStream stream = cuda::make_stream();
  cuda::copy(places_.own + places_.table, cuda::address_of(table), table_bytes, stream.get());
  check(driver().stream_synchronize(stream.get()), "cuStreamSynchronize");
}

device::Control& Executor::control() const {
  return *std::launder(reinterpret_cast<device::Control*>(pinned_.data()));
}

std::byte* const* Executor::arenas() const {
  return reinterpret_cast<std::byte* const*>(places_.own + places_.table);
}

std::size_t Executor::held_bytes(const Call& call, Buffer buffer) const {
  const Layout layout = make_layout(call.collective, ranks_, 1);
  const ChunkSpan span = held(call.collective, buffer, layout, rank_, call.root);
  return static_cast<std::size_t>(span.count) * call.count * size_of(call.type);
}

/// Kernels access whole elements, so a buffer that is not aligned to them goes through memory that
/// is. Only this rank knows that, so no other one may notice.
void Executor::launch(const Call& call, cuda::DevicePointer input, cuda::DevicePointer output,
                      cuda::Stream stream) {
  const auto copy = [&](cuda::DevicePointer to, cuda::DevicePointer from, Buffer buffer) {
    cuda::copy(to, from, held_bytes(call, buffer), stream);
  };
  const bool input_is_aligned = input % size_of(call.type) == 0;
  const bool output_is_aligned = output % size_of(call.type) == 0;
  if (!input_is_aligned) copy(staged_input(), input, Buffer::input);
  const cuda::DevicePointer from = input_is_aligned ? input : staged_input();
  const cuda::DevicePointer to = output_is_aligned ? output : places_.own + places_.staged_output;
  const Choice choice = choose(call, ranks_);
  if (choice.form == Form::small) {
    launch_small(call, choice, from, to, stream);
  } else {
    launch_program(call, from, to, stream);
  }
  if (!output_is_aligned) copy(output, to, Buffer::output);
}

/// Averages as in the finite form: the sum is divided, once.
void Executor::launch_small(const Call& call, const Choice& choice, cuda::DevicePointer input,
                            cuda::DevicePointer output, cuda::Stream stream) {
  const bool averages = call.op == ReduceOperator::avg;
  device::SmallCall small;
  small.input = reinterpret_cast<const std::byte*>(input);
  small.output = reinterpret_cast<std::byte*>(output);
  small.arenas = arenas();
  small.control = reinterpret_cast<device::Control*>(pinned_.device_address(pinned_.data()));
  small.arena = shape_;
  small.rank = static_cast<std::uint32_t>(rank_);
  small.count = call.count;
  small.recipe = {.type = call.type,
                  .op = averages ? ReduceOperator::sum : call.op,
                  .after = averages ? 1.0 / ranks_ : 1.0,
                  .divisor = averages ? static_cast<std::uint64_t>(ranks_) : 1};
  small.algorithm = choice.algorithm;
  small.stripes = choice.stripes;
  kernels_.launch(small, stream);
}

void Executor::launch_program(const Call& call, cuda::DevicePointer input,
                              cuda::DevicePointer output, cuda::Stream stream) {
  device::ProgramCall program;
  program.input = reinterpret_cast<const std::byte*>(input);
  program.output = reinterpret_cast<std::byte*>(output);
  program.arenas = arenas();
  program.control = reinterpret_cast<device::Control*>(pinned_.device_address(pinned_.data()));
  const std::uint32_t stripes = programs_.write(call, program.image);
  kernels_.launch(program, stripes, stream);
}

void Executor::abort() {
  // relaxed: it brings no data. Partner: the kernels' looks at it (kernels/device/wait.h).
  std::atomic_ref(control().abort).store(1, std::memory_order_relaxed);
}

std::optional<std::string> Executor::wait_record() const {
  const device::Failure* const record = device::failure_of(control());
  if (record == nullptr) return std::nullopt;
  const char* const what =
      record->awaited == device::Awaited::credit ? "to take message " : "to send message ";
  return "its kernel waited for rank " + std::to_string(record->peer) + " " + what +
         std::to_string(record->step) + " of stripe " + std::to_string(record->stripe) +
         " between them (op " + std::to_string(record->op) + ")";
}

}  // namespace rondo::resident
