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

namespace rondo::resident {
namespace {

using cuda::check;
using cuda::driver;

/// After the control.
constexpr std::size_t copied_from = 1024;
constexpr std::size_t pinned_bytes = copied_from + program_bytes;
static_assert(sizeof(device::Control) <= copied_from);

constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

std::vector<std::byte*> bytes_at(const std::vector<cuda::DevicePointer>& places) {
  std::vector<std::byte*> all;
  for (const cuda::DevicePointer place : places) all.push_back(reinterpret_cast<std::byte*>(place));
  return all;
}

std::string uuid_of(int device) {
  cuda::Uuid uuid{};
  check(driver().device_get_uuid(&uuid, device), "cuDeviceGetUuid");
  std::ostringstream text;
  text << std::hex << std::setfill('0');
  for (const char byte : uuid.bytes)
    text << std::setw(2) << static_cast<unsigned>(static_cast<unsigned char>(byte));
  return text.str();
}

/// Many blocks are taken only where as many are left for two more communicators.
std::uint32_t blocks_wanted(std::uint32_t stripes) {
  return stripes == least_stripes ? stripes : 3 * stripes;
}

/// What a communicator could have of a device that runs so many blocks, if it were alone.
std::uint32_t most_stripes_of(unsigned blocks) {
  const auto* const found = std::ranges::find_if(stripe_counts, [&](std::uint32_t stripes) {
    return blocks_wanted(stripes) <= most_that_wait(blocks);
  });
  return found == std::end(stripe_counts) ? least_stripes : *found;
}

/// The candidate for the current context, in which `budget` is taken.
Candidate this_candidate(cuda::Context context, std::unique_ptr<BlockBudget>& budget) {
  const int device = cuda::current_device();
  Candidate candidate;
  candidate.process = this_host({}).process;
  candidate.device = uuid_of(device);
  // A driver that does not know the question runs no MPS that we could trust.
  candidate.shares = cuda::device_attribute(cuda::attribute_mps, device).value_or(0) != 0;
  candidate.blocks = cuda::ResidentKernels::of(context).blocks_at_once();
  const std::uint32_t most = most_stripes_of(candidate.blocks);
  budget = std::make_unique<BlockBudget>(candidate.device, most);
  candidate.taken = budget->taken() - most;
  return candidate;
}

void tell(const detail::CommunicatorState& state, const std::string& obstacle,
          std::uint32_t blocks) {
  if (obstacle.empty())
    return log(
        LogLevel::info, state.rank(),
        "calls between GPUs are co-resident kernels of up to " + std::to_string(blocks) + " blocks",
        LogSubsystem::p2p);
  const bool wanted = state.config().device_executor == DeviceExecutor::resident;
  log(wanted ? LogLevel::warn : LogLevel::info, state.rank(),
      std::string(wanted ? "RONDO_DEVICE_EXECUTOR=resident is not possible: " : "") +
          "calls between GPUs use no co-resident kernels: " + obstacle,
      LogSubsystem::p2p);
}

}  // namespace

Executor::Places::Places(int ranks, const device::ArenaShape& shape)
    : table(aligned(device::ArenaPlaces(shape).bytes())),
      blocks_ended(table + aligned(static_cast<std::size_t>(ranks) * sizeof(std::byte*))),
      programs(blocks_ended + aligned(sizeof(std::uint64_t))),
      scratch(programs + most_programs * program_bytes),
      end(scratch + scratch_bytes(shape)) {}

Executor::Executor(const detail::CommunicatorState& state, cuda::Context context,
                   std::uint32_t stripes, std::unique_ptr<BlockBudget> budget)
    : rank_(state.rank()),
      around_(state.topology()),
      selection_(state.algorithms()),
      shape_(arena_shape(state.size(), stripes)),
      kernels_(cuda::ResidentKernels::of(context)),
      budget_(std::move(budget)),
      places_(state.size(), shape_),
      pinned_(pinned_bytes),
      copies_(cuda::make_stream()),
      programs_(rank_, around_, shape_) {
  new (pinned_.data()) device::Control();
}

std::shared_ptr<Executor> Executor::make(const std::shared_ptr<detail::CommunicatorState>& state,
                                         cuda::Context context) {
  if (state->config().device_executor == DeviceExecutor::finite) {
    tell(*state, "RONDO_DEVICE_EXECUTOR=finite", 0);
    return nullptr;
  }
  std::unique_ptr<BlockBudget> budget;
  Candidate mine;
  try {
    mine = this_candidate(context, budget);
  } catch (const std::exception& error) {
    mine.obstacle = error.what();
  }
  std::uint32_t stripes = 0;
  std::string obstacle;
  const std::vector<Candidate> candidates = exchange_values(state, mine);
  for (const std::uint32_t wanted : stripe_counts) {
    obstacle = obstacle_of(candidates, blocks_wanted(wanted));
    if (obstacle.empty()) stripes = std::max(stripes, wanted);
  }
  if (!obstacle.empty()) {
    tell(*state, obstacle, 0);
    return nullptr;
  }
  budget->reduce(stripes);
  tell(*state, {}, stripes);
  return std::shared_ptr<Executor>(new Executor(*state, context, stripes, std::move(budget)));
}

void Executor::connect(const std::vector<cuda::DevicePointer>& places) {
  places_.own = places[static_cast<std::size_t>(rank_)];
  copy_in(places_.own + places_.table, std::as_bytes(std::span(places)));
}

/// Returns when it is there. Not in a call's stream: a captured copy would be made too late, or never.
void Executor::copy_in(cuda::DevicePointer to, std::span<const std::byte> from) {
  std::byte* const staged = pinned_.data() + copied_from;
  std::ranges::copy(from, staged);
  cuda::copy(to, cuda::address_of(staged), from.size(), copies_.get());
  check(driver().stream_synchronize(copies_.get()), "cuStreamSynchronize");
}

device::Control& Executor::control() const {
  return *std::launder(reinterpret_cast<device::Control*>(pinned_.data()));
}

device::Control* Executor::control_on_device() const {
  return reinterpret_cast<device::Control*>(pinned_.device_address(pinned_.data()));
}

std::byte* const* Executor::arenas() const {
  return reinterpret_cast<std::byte* const*>(places_.own + places_.table);
}

const Executor::Chosen& Executor::chosen(const Call& call) {
  return *chosen_.find(call, {}, [&] { return choose_for(call); });
}

std::shared_ptr<const Executor::Chosen> Executor::choose_for(const Call& call) {
  Chosen made{.call = call, .choice = choose(call, around_, selection_)};
  const Composition& composition = made.choice.composition;
  if (made.choice.form == Form::program && !takes(composition, call))
    made.choice.form = Form::finite;
  return std::make_shared<const Chosen>(std::move(made));
}

/// A program that a user wrote may be too long, or need more than devices have.
bool Executor::takes(const Composition& composition, const Call& call) const {
  if (!composition.written || programs_.fits(composition, call)) return true;
  if (rank_ == 0)
    log(LogLevel::warn, rank_,
        composition.written.source() +
            " is too long for GPUs' kernels, or needs more lanes, depth or scratch than they "
            "have: " +
            to_string(call) + " on GPUs goes without it");
  return false;
}

/// There is room for a program now, whatever there was when the choice was made.
bool Executor::serves(const Call& call) {
  const Choice& choice = chosen(call).choice;
  if (choice.form != Form::program) return choice.form == Form::small;
  return programs_.has_room_for({choice.composition, call.root});
}

WindowUse Executor::windows_of(const Call& call) {
  const Choice& choice = chosen(call).choice;
  const ProgramKey key{choice.composition, call.root, true};
  if (choice.form != Form::program || !programs_.has_room_for(key)) return {};
  return programs_.windows_of(choice.composition, call);
}

void Executor::launch(const Call& call, const CallBuffers& buffers, const device::Marks& marks,
                      cuda::Stream stream) {
  const Choice& choice = chosen(call).choice;
  if (choice.form == Form::small) {
    device::SmallCall small = small_call(call, choice, buffers);
    small.marks = counted(marks);
    return kernels_.launch(small, stream);
  }
  const Launch& launch = prepared(call, choice.composition, buffers.in_windows());
  device::RankContext program = program_call(call, launch, buffers);
  program.marks = counted(marks);
  kernels_.launch(program, launch.blocks, stream);
}

device::Marks Executor::counted(device::Marks marks) const {
  if (marks.begun[0].word != nullptr)
    marks.blocks_ended = reinterpret_cast<std::uint64_t*>(places_.own + places_.blocks_ended);
  return marks;
}

/// Averages as in programs: the sum is divided, once.
device::SmallCall Executor::small_call(const Call& call, const Choice& choice,
                                       const CallBuffers& buffers) const {
  const bool averages = call.op == ReduceOperator::avg;
  device::SmallCall small;
  small.input = reinterpret_cast<const std::byte*>(buffers.input);
  small.output = reinterpret_cast<std::byte*>(buffers.output);
  small.arenas = arenas();
  small.control = control_on_device();
  small.arena = shape_;
  small.rank = static_cast<std::uint32_t>(rank_);
  small.count = call.count;
  small.recipe = {.type = call.type,
                  .op = averages ? ReduceOperator::sum : call.op,
                  .after = averages ? 1.0 / around_.ranks : 1.0,
                  .divisor = averages ? static_cast<std::uint64_t>(around_.ranks) : 1,
                  .scalar = buffers.scalar};
  small.algorithm = choice.small;
  small.stripes = choice.stripes;
  return small;
}

std::shared_ptr<const Executor::Launch> Executor::prepare(const Call& call, const ProgramKey& key) {
  const StoredProgram& stored =
      programs_.find(key, [this](std::size_t number, std::span<const std::byte> program) {
        copy_in(program_place(number), program);
      });
  Launch made{.call = call};
  made.context.program = reinterpret_cast<const std::byte*>(program_place(stored.number));
  made.context.scratch = reinterpret_cast<std::byte*>(places_.own + places_.scratch);
  made.context.arenas = arenas();
  made.context.control = control_on_device();
  made.context.sizes = device::sizes_of(programs_.request(stored, call));
  made.program = &stored;
  made.blocks = stored.lanes() * made.context.sizes.stripes;
  return std::make_shared<const Launch>(made);
}

const Executor::Launch& Executor::prepared(const Call& call, const Composition& composition,
                                           bool in_windows) {
  return *(in_windows ? launches_in_windows_ : launches_).find(call, {}, [&] {
    return prepare(call, {composition, call.root, in_windows});
  });
}

device::RankContext Executor::program_call(const Call& call, const Launch& prepared,
                                           const CallBuffers& buffers) const {
  device::RankContext made = prepared.context;
  made.input = reinterpret_cast<const std::byte*>(buffers.input);
  made.output = reinterpret_cast<std::byte*>(buffers.output);
  made.sizes.recipe.scalar = buffers.scalar;
  if (buffers.in_windows())
    made.windows = device::windows_of(programs_.request(*prepared.program, call),
                                      bytes_at(buffers.inputs), bytes_at(buffers.outputs));
  return made;
}

cuda::DevicePointer Executor::program_place(std::size_t number) const {
  return places_.own + places_.programs + number * program_bytes;
}

void Executor::abort() {
  // relaxed: it brings no data. Partner: the kernels' looks at it (kernels/device/wait.h).
  std::atomic_ref(control().abort).store(1, std::memory_order_relaxed);
}

std::optional<std::string> Executor::wait_record() const {
  const device::Failure* const record = device::failure_of(control());
  if (record == nullptr) return std::nullopt;
  if (record->awaited == device::Awaited::meeting)
    return "its kernel waited for rank " + std::to_string(record->peer) +
           " to begin the call, or to end a stage of it, in windows";
  const char* const what =
      record->awaited == device::Awaited::credit ? "to take message " : "to send message ";
  return "its kernel waited for rank " + std::to_string(record->peer) + " " + what +
         std::to_string(record->step) + " of stripe " + std::to_string(record->stripe) +
         " between them (op " + std::to_string(record->op) + ")";
}

}  // namespace rondo::resident
