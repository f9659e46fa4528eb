// The internals that the files of the fake driver share. They are global, as a driver is, and never
// destroyed, because streams may still run while the process exits.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/fake_driver/fake_driver.h"

namespace rondo::test {

inline constexpr int invalid_value = 1;
inline constexpr int out_of_memory = 2;
inline constexpr int capture_unjoined = 904;
inline constexpr int capture_isolation = 905;
inline constexpr int peer_access_unsupported = 217;
inline constexpr int misaligned_address = 716;  ///< the error of a context whose kernel did that

inline constexpr int device_count = 8;

/// Something that happens once; any thread may wait for it.
class Token {
 public:
  void set();
  void wait();
  /// Waits for it for a moment.
  bool wait_briefly();
  bool is_set();

 private:
  std::mutex mutex_{};
  std::condition_variable changed_{};
  bool set_ = false;
};
using SharedToken = std::shared_ptr<Token>;
using Work = std::function<void()>;

/// A launch makes each step of a captured stream anew. It does at once what an API call does at
/// once (taking an event's newest record, say). The work comes later, in the stream's order.
struct Launch {
  std::vector<SharedToken> tokens{};  ///< for the events within the graph
};
using Node = std::function<Work(Launch&)>;

class UserObject {
 public:
  UserObject(void* data, cuda::HostFunction destroy) : data_(data), destroy_(destroy) {}
  /// Runs as a host function, which may call nothing of CUDA.
  ~UserObject();
  UserObject(const UserObject&) = delete;
  UserObject& operator=(const UserObject&) = delete;

 private:
  void* data_;
  cuda::HostFunction destroy_;
};

struct GraphBody {
  /// In the order in which they were captured, each with its stream's index.
  std::vector<std::pair<std::size_t, Node>> nodes{};
  std::size_t streams = 0;  ///< 0 is the one that began the capture
  std::vector<std::shared_ptr<UserObject>> objects{};
  std::size_t tokens = 0;
};

struct CaptureState {
  unsigned long long id = 0;
  int mode = 0;                                         ///< global, the thread's own, relaxed
  std::thread::id thread = std::this_thread::get_id();  ///< the one that began it
  std::vector<cuda::Stream> members{};                  ///< streams in it, as in `body`
  std::vector<bool> joined{};  ///< by stream: somebody waits for all it has done
  std::shared_ptr<GraphBody> body = std::make_shared<GraphBody>();
  std::unique_ptr<CUgraph_st> graph{};
};

}  // namespace rondo::test

struct CUctx_st {
  int device = 0;
  std::atomic<unsigned long long> number{0};  ///< the newest context's; relaxed: nothing else
  rondo::cuda::Stream legacy = nullptr;
  std::mutex entrance{};  ///< to put something into a stream whose queue is limited
  /// What its functions return since it has broken; 0: it works. seq_cst, as `touching`: one side sees
  /// the other.
  std::atomic<int> failure{0};
  std::atomic<int> touching{0};  ///< pieces of work that may reach memory just now
};

namespace rondo::test {

/// While it lives, and if the context works, a stream of the context may reach memory.
class Touch {
 public:
  explicit Touch(cuda::Context context) : context_(context) { ++context_->touching; }
  ~Touch() { --context_->touching; }
  Touch(const Touch&) = delete;
  Touch& operator=(const Touch&) = delete;
  bool works() const { return context_->failure == 0; }

 private:
  cuda::Context context_;
};

}  // namespace rondo::test

struct CUevent_st {
  // Under the driver's mutex.
  rondo::test::SharedToken newest{};                    ///< record outside captures
  std::weak_ptr<rondo::test::CaptureState> captured{};  ///< the capture of the newest one inside
  std::size_t token = 0;                                ///< within that
  std::size_t recorder = 0;                             ///< index of the stream within that
  rondo::cuda::Context context = nullptr;               ///< in which it was made
};

namespace rondo::test {

/// What a thread does in order: the work of a stream, or of all those that share it.
struct Queue {
  cuda::Context context = nullptr;
  bool is_shared = false;  ///< then it stays; set, like the context, before others see it
  std::mutex mutex{};
  std::condition_variable changed{};
  std::condition_variable room{};  ///< there may be room
  std::queue<Work> work{};         ///< under mutex
  bool idle = true;                ///< nothing runs; under mutex
  bool closed = false;             ///< under mutex
};

/// A queue for one stream. Throws std::system_error where no thread is left, like the next one.
std::shared_ptr<Queue> own_queue(cuda::Context context);
/// The queue of the stream that is made now, as fake_share_queues() has said.
std::shared_ptr<Queue> queue_of_next(cuda::Context context);
/// Is set when what is in the queue now is done; null: nothing is.
SharedToken end_of(Queue& queue);

}  // namespace rondo::test

struct CUstream_st {
  rondo::cuda::Context context = nullptr;
  std::shared_ptr<rondo::test::Queue> queue{};  ///< whose thread has it, too
  bool blocks = true;                           ///< it and the legacy stream wait for each other
  // Under the driver's mutex.
  std::shared_ptr<rondo::test::CaptureState> capture{};
  std::size_t index = 0;  ///< within the capture

  const std::uint64_t number = ++made;  ///< no other stream has it

 private:
  static inline std::atomic<std::uint64_t> made{0};  // seq_cst, only counted
};

struct CUgraph_st {
  std::shared_ptr<rondo::test::GraphBody> body{};
};
struct CUgraphExec_st {
  std::shared_ptr<rondo::test::GraphBody> body{};
};
struct CUuserObject_st {
  std::shared_ptr<rondo::test::UserObject> object{};
};

namespace rondo::test {

struct State {
  std::mutex mutex{};
  std::map<std::string, int> failures{};  ///< by function: its next call's
  std::map<std::string, int> calls{};     ///< by function: how many so far
  std::string deadly{};                   ///< the function whose next call kills
  std::vector<std::weak_ptr<CaptureState>> captures{};
  unsigned long long captures_begun = 0;
  unsigned long long contexts = 0;  ///< that were made so far
  std::vector<std::shared_ptr<CUmod_st>> modules{};
  std::string newest_form{};                        ///< of the image that was loaded last
  std::set<std::pair<int, int>> peers{};            ///< devices, and those whose memory they reach
  std::atomic<int> launches{0};                     ///< kernels that ran; seq_cst, only counted
  std::atomic<std::size_t> copied_bytes{0};         ///< by streams; seq_cst, only counted
  std::atomic<bool> has_broken_context{false};      ///< nobody can make that one current any more
  std::atomic<int> resident_launches{0};            ///< those that wait for others; likewise
  std::atomic<int> window_launches{0};              ///< of them: in windows; likewise
  std::atomic<int> in_windows{0};                   ///< their threads that are now; likewise
  std::atomic<int> launches_in_own_domain{0};       ///< of memory synchronisation; likewise
  std::map<std::pair<int, int>, FakeLink> links{};  ///< between devices; none there: PCIe
  std::map<int, int> retained{};                    ///< by device: holders of its primary context
  std::set<cuda::Event> events{};  ///< all; those of a broken context are not destroyed
  bool free_waits = false;         ///< whether what gives memory back waits
  int waiting_frees = 0;           ///< so many do now
  std::condition_variable freed{};
  std::size_t queue_limit = 0;
  std::size_t longest_queue = 0;
};
State& state();
/// The link between two devices.
FakeLink link_of(int device, int peer);

/// This thread's; null: none.
cuda::Context current_context();

/// Every function calls this first. It must return the result, unless that is success. `context`:
/// that of its stream or event.
int enter(const char* function, cuda::Context context = current_context());
/// The same for functions that wait or take memory, which a capture forbids.
int enter_unsafe(const char* function, cuda::Context context = current_context());

/// The same for functions that put something into `stream`: there is room for it, and this thread's
/// turn, until `entry` is given up.
int enter_stream(const char* function, cuda::Stream stream, std::unique_lock<std::mutex>& entry);

/// From here on the context's streams do nothing more, and its functions return `failure`.
void break_context(cuda::Context context, int failure);
/// Waits until the token is set, or the context breaks. Returns its failure; 0: it works.
int wait_in(cuda::Context context, Token& token);

/// The stream, or the current context's legacy one for null.
cuda::Stream resolve(cuda::Stream stream);
/// Puts work into a stream, or into the graph that captures it. With the driver's mutex held.
void put(cuda::Stream stream, const Node& node);
/// What is in the context's streams is never done.
void forget_work(cuda::Context context);
/// Lets go of `memory` when the device's streams have done what is in them now. Waits for nothing.
void keep_for_streams(int device, const std::shared_ptr<void>& memory);
/// Returns when they have done what is in them now.
void wait_for_streams(int device);
/// Runs the function on the thread that runs all host functions. Returns when it has run.
void run_host_function(cuda::HostFunction function, void* data);

/// The address at which the fake itself reaches what `address` names: device memory's other
/// mapping, or the same. Null for what is neither device nor page-locked memory.
std::byte* reachable(cuda::DevicePointer address, std::size_t bytes);
/// The same, but null for page-locked memory's address on the host. Copies take that one. Kernels and
/// memory operations take only the one by which devices know it.
std::byte* reachable_by_device(cuda::DevicePointer address, std::size_t bytes);
/// A block of device memory, or of page-locked memory, which has an address on the host and one by
/// which devices know it.
struct Owned {
  cuda::DevicePointer begin = 0;
  std::size_t bytes = 0;
  int device = -1;                    ///< whose memory it is; -1: no device's
  bool shared = false;                ///< device memory that has a handle of CUDA IPC
  bool managed = false;               ///< from cuMemAllocManaged
  cuda::DevicePointer on_device = 0;  ///< where devices know it
};
/// The block that holds the address; none: it is nobody's here.
std::optional<Owned> owned_at(cuda::DevicePointer address);
/// The device whose memory it is; -1: no device's.
int device_number(cuda::DevicePointer address);
bool is_device(cuda::DevicePointer address);
/// Whether kernels of a device reach it: its own memory, page-locked, or a peer's.
bool is_open(cuda::DevicePointer pointer, int device);
/// For a kernel of `device`, replaces an address by the one where the fake reaches `bytes` bytes.
/// False where the fake or the device does not reach them. 0 stays 0.
bool translate(std::uint64_t& pointer, std::size_t bytes, int device);

// Segments of cuMemCreate: device memory that is mapped by itself.
void add_segment(cuda::DevicePointer begin, std::size_t bytes, std::byte* reachable, int device);
void remove_segment(cuda::DevicePointer begin);
/// The device may access it from here on; none may at first.
void open_segment(cuda::DevicePointer begin, int device);
/// Whether the device may access the segment there; nothing: it is other memory.
std::optional<bool> segment_is_open(cuda::DevicePointer address, int device);
/// Claims on segments and reserved addresses that were not given back.
int segment_holds();

/// The version of CUDA that the driver is of: 12040 is 12.4.
int driver_version();
/// The compute capability of every device; 90: 9.0.
int capability();
/// What the driver says to an image of kernels: success, or why it takes none.
struct Verdict {
  int status = 0;
  std::string form{};  ///< "machine code for 9.0" or "PTX"
};
Verdict judge_image(const void* image);

/// Multiprocessors of every device.
inline constexpr int processors = 3;

}  // namespace rondo::test
