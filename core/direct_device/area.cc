#include "core/direct_device/area.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <iomanip>
#include <sstream>

#include "core/base/log.h"
#include "core/direct_device/reduce.h"

namespace rondo::direct_device {
namespace {

using cuda::check;
using cuda::driver;

/// Why this rank cannot take part, by itself; empty: it can.
std::string obstacle_of(const detail::CommunicatorState& state, cuda::Context context) {
  if (context == nullptr) return "no CUDA device was current when the communicator was made";
  if (const cuda::Driver* const found = cuda::find_driver(); found->missing != nullptr)
    return std::string("the CUDA driver has no ") + found->missing;
  if (!state.config().peer_to_peer) return "RONDO_P2P_DISABLE=1";
  if (!state.is_on_one_machine()) return "the ranks are on several machines";
  if (state.size() > most_ranks)
    return "there are more than " + std::to_string(most_ranks) + " ranks";
  if (state.size() == 1) return "there is one rank";
  return {};
}

/// True where every rank says nothing. Else the first one that does is why it goes the other way.
bool agrees(const detail::CommunicatorState& state, const std::vector<std::string>& said,
            bool quiet) {
  const auto first =
      std::ranges::find_if(said, [](const std::string& text) { return !text.empty(); });
  if (first == said.end()) return true;
  if (!quiet) {
    log(LogLevel::info, state.rank(),
        "GPU buffers go through the host's memory: rank " + std::to_string(first - said.begin()) +
            ": " + *first);
  }
  return false;
}

std::string words_of(const std::exception& error) { return error.what(); }

/// Whole pages, so that copies stay aligned.
std::size_t slot_bytes_of(int ranks) {
  constexpr std::size_t page = 4096;
  const auto all = static_cast<std::size_t>(slots * std::max(ranks - 1, 1));
  return std::min(Area::most_slot_bytes, Area::most_slots_bytes / all / page * page);
}

}  // namespace

/// What a rank tells the others of its memory, as words apart by blanks.
class Area::Offer {
 public:
  Offer() = default;
  /// Of what str() said.
  explicit Offer(const std::string& said) {
    std::istringstream text(said);
    std::string bytes;
    text >> process >> pid >> address >> context >> reduces >> page_object >> bytes;
    for (std::size_t i = 0; i < sizeof handle.reserved && 2 * i + 1 < bytes.size(); ++i)
      handle.reserved[i] = static_cast<char>(std::stoi(bytes.substr(2 * i, 2), nullptr, 16));
    text.ignore();
    std::getline(text, page);
  }
  std::string str() const {
    std::ostringstream text;
    text << process << ' ' << pid << ' ' << address << ' ' << context << ' ' << reduces << ' '
         << page_object << ' ' << std::hex << std::setfill('0');
    for (const char byte : handle.reserved)
      text << std::setw(2) << static_cast<unsigned>(static_cast<unsigned char>(byte));
    text << ' ' << page;
    return text.str();
  }

  std::uint64_t process = 0;  ///< HostInfo's
  int pid = 0;
  cuda::DevicePointer address = 0;
  std::uintptr_t context = 0;
  bool reduces = false;
  std::uintptr_t page_object = 0;  ///< rank 0's, for ranks of its process: there during the meeting
  cuda::IpcHandle handle{};
  std::string page{};  ///< the same for ranks of other processes
};

Area::Area(cuda::Context context, int rank, int ranks)
    : context_(context),
      rank_(rank),
      ranks_(ranks),
      slot_bytes_(slot_bytes_of(ranks)),
      halves_(static_cast<std::size_t>(ranks)),
      processes_(static_cast<std::size_t>(ranks)) {}

Area::~Area() {
  close();
  if (own_ != 0) driver().mem_free(own_);
}

Area::Offer Area::offer() {
  check(driver().mem_alloc(&own_, bytes()), "cuMemAlloc");
  Offer mine;
  mine.process = this_host({}).process;
  mine.pid = ::getpid();
  mine.address = own_;
  mine.context = reinterpret_cast<std::uintptr_t>(context_);
  mine.reduces = can_reduce(context_);
  check(driver().ipc_get_mem_handle(&mine.handle, own_), "cuIpcGetMemHandle");
  if (rank_ == 0) {
    page_ = std::make_shared<SharedPage>(SharedPage::make(ranks_));
    page_->register_memory();
    mine.page = page_->address();
    mine.page_object = reinterpret_cast<std::uintptr_t>(&page_);
  }
  return mine;
}

void Area::connect(const std::vector<Offer>& offers) {
  const std::uint64_t process = this_host({}).process;
  if (rank_ != 0 && offers.front().process == process) {
    page_ = *reinterpret_cast<const std::shared_ptr<SharedPage>*>(offers.front().page_object);
  } else if (rank_ != 0) {
    page_ = std::make_shared<SharedPage>(SharedPage::open(offers.front().page, ranks_));
    page_->register_memory();
  }
  reduces_ = std::ranges::all_of(offers, &Offer::reduces);
  for (int peer = 0; peer < ranks_; ++peer) {
    const auto at = static_cast<std::size_t>(peer);
    const Offer& theirs = offers[at];
    processes_[at] = theirs.pid;
    halves_[at] = theirs.address;
    if (theirs.process == process) {
      const auto context = reinterpret_cast<cuda::Context>(theirs.context);
      if (context == context_) continue;
      const int status = driver().ctx_enable_peer_access(context, 0);
      if (status != cuda::peer_access_already_enabled) check(status, "cuCtxEnablePeerAccess");
    } else {
      check(driver().ipc_open_mem_handle(&halves_[at], theirs.handle, cuda::ipc_lazy_peer_access),
            "cuIpcOpenMemHandle");
      opened_.push_back(halves_[at]);
    }
  }
}

std::unique_ptr<Area> Area::make(const std::shared_ptr<detail::CommunicatorState>& state,
                                 cuda::Context context, std::shared_ptr<ControlLine>& line) {
  const bool quiet = context == nullptr || state->size() == 1;
  if (!agrees(*state, state->exchange(obstacle_of(*state, context)), quiet)) return nullptr;
  // From here on nobody may leave the others waiting: what goes wrong is told by the next text.
  const cuda::RelaxedCapture relaxed;
  const cuda::CurrentContext current(context);
  std::unique_ptr<Area> area(new Area(context, state->rank(), state->size()));
  std::string obstacle;
  std::string mine;
  try {
    mine = area->offer().str();
  } catch (const std::exception& error) {
    obstacle = words_of(error);
  }
  const std::vector<std::string> said = state->exchange(mine);
  try {
    std::vector<Offer> offers;
    for (const std::string& text : said) offers.emplace_back(text);
    const bool complete = std::ranges::none_of(said, &std::string::empty);
    if (obstacle.empty() && complete) area->connect(offers);
  } catch (const std::exception& error) {
    obstacle = words_of(error);
  }
  const bool all = agrees(*state, state->exchange(obstacle), false);
  // Nobody frees what another one still maps.
  if (!all) area->close();
  if (!all) state->exchange("");
  if (!all) return nullptr;
  line = state->open_stream_line();
  log(LogLevel::info, state->rank(),
      std::string("GPU buffers go from device to device") +
          (area->reduces() ? "" : ", but for reductions: this rondo has no kernels"));
  return area;
}

void Area::close() {
  for (const cuda::DevicePointer pointer : opened_) driver().ipc_close_mem_handle(pointer);
  opened_.clear();
  if (page_ == nullptr) return;
  // release: what was read before is; with is_read()'s acquire.
  std::atomic_ref(page_->closed(rank_)).store(1, std::memory_order_release);
}

bool Area::is_read() const {
  for (int peer = 0; peer < ranks_; ++peer) {
    if (peer == rank_) continue;
    if (std::atomic_ref(page_->closed(peer)).load(std::memory_order_acquire) != 0) continue;
    const int process = processes_[static_cast<std::size_t>(peer)];
    if (::kill(process, 0) == 0 || errno != ESRCH) return true;
  }
  return false;
}

}  // namespace rondo::direct_device
