// The fake driver's insides: what its files share. Global, as a driver is; never destroyed, as
// streams may still run while the process exits.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <queue>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/fake_driver/fake_driver.h"

namespace rondo::test {

inline constexpr int invalid_value = 1;
inline constexpr int capture_unsupported = 900;
inline constexpr int capture_invalidated = 901;
inline constexpr int capture_unjoined = 904;
inline constexpr int capture_isolation = 905;
inline constexpr int not_permitted = 800;
inline constexpr int illegal_address = 700;  ///< what a context says whose kernel has crashed

/// Something that happens once; any thread may wait for it.
class Token {
 public:
  void set();
  void wait();

 private:
  std::mutex mutex_{};
  std::condition_variable changed_{};
  bool set_ = false;
};
using SharedToken = std::shared_ptr<Token>;
using Work = std::function<void()>;

/// One step of a captured stream, made anew for each launch: at the launch itself what an API call
/// does at once (taking an event's newest record, say), then, in the stream's order, the work.
struct Launch {
  std::vector<SharedToken> tokens{};  ///< of the events within the graph
};
using Node = std::function<Work(Launch&)>;

class UserObject {
 public:
  UserObject(void* data, cuda::HostFunction destroy) : data_(data), destroy_(destroy) {}
  ~UserObject() { destroy_(data_); }
  UserObject(const UserObject&) = delete;
  UserObject& operator=(const UserObject&) = delete;

 private:
  void* data_;
  cuda::HostFunction destroy_;
};

struct GraphBody {
  /// In the order in which they were captured, each with its stream's index.
  std::vector<std::pair<std::size_t, Node>> nodes{};
  std::size_t streams = 0;  ///< the one that began the capture first
  std::vector<std::shared_ptr<UserObject>> objects{};
  std::size_t tokens = 0;
};

struct CaptureState {
  unsigned long long id = 0;
  int mode = 0;                                         ///< global, the thread's own, relaxed
  std::thread::id thread = std::this_thread::get_id();  ///< that began it
  bool invalid = false;
  std::vector<cuda::Stream> members{};  ///< streams in it, as in `body`
  std::vector<bool> joined{};           ///< by stream: somebody waits for all it has done
  std::shared_ptr<GraphBody> body = std::make_shared<GraphBody>();
  std::unique_ptr<CUgraph_st> graph{};
};

}  // namespace rondo::test

struct CUctx_st {
  int device = 0;
  rondo::cuda::Stream legacy = nullptr;
  std::mutex entrance{};  ///< of who puts something into a stream while queues are limited
  std::atomic<bool> broken{false};  ///< seq_cst, as `touching`: one side sees the other
  std::atomic<int> touching{0};     ///< pieces of work that may reach memory just now
};

struct CUevent_st {
  // Under the driver's mutex.
  rondo::test::SharedToken newest{};                    ///< record outside captures
  std::weak_ptr<rondo::test::CaptureState> captured{};  ///< the capture of the newest one inside
  std::size_t token = 0;                                ///< within that
  std::size_t recorder = 0;                             ///< index of the stream within that
};

struct CUstream_st {
  rondo::cuda::Context context = nullptr;
  // Under the driver's mutex.
  std::shared_ptr<rondo::test::CaptureState> capture{};
  std::size_t index = 0;  ///< within the capture

  std::mutex mutex{};
  std::condition_variable changed{};
  std::condition_variable room{};        ///< there may be some
  std::queue<rondo::test::Work> work{};  ///< under mutex
  bool idle = true;                      ///< nothing runs; under mutex
  bool closed = false;                   ///< under mutex
  std::shared_ptr<CUstream_st> self{};   ///< until it is destroyed; its thread has another one
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
  std::map<std::string, int> failures{};  ///< of functions to come
  std::map<std::string, int> calls{};     ///< of functions, so far
  std::vector<std::weak_ptr<CaptureState>> captures{};
  unsigned long long captures_begun = 0;
  int violations = 0;
  std::vector<std::shared_ptr<CUmod_st>> modules{};
  std::set<std::pair<int, int>> peers{};  ///< devices, and those whose memory they reach
  std::atomic<int> launches{0};           ///< kernels that ran; seq_cst, only counted
  std::set<cuda::Event> events{};  ///< that exist: those of a broken context are not destroyed
  std::size_t queue_limit = 0;
  std::size_t longest_queue = 0;
};
State& state();

/// What every function does first. Not success: it must return that.
int enter(const char* function);
/// The same for functions that wait or take memory, which a capture forbids.
int enter_unsafe(const char* function);

/// The same for functions that put something into `stream`: there is room for it, and this thread's
/// turn, until `entry` is given up.
int enter_stream(const char* function, cuda::Stream stream, std::unique_lock<std::mutex>& entry);

/// The stream, or the current context's legacy one for null.
cuda::Stream resolve(cuda::Stream stream);
/// Puts work into a stream, or into the graph that it is captured into. With the driver's mutex.
void put(cuda::Stream stream, const Node& node);
/// Lets go of `memory` when the device's streams have done what is in them now. Waits for nothing.
void keep_for_streams(int device, const std::shared_ptr<void>& memory);
/// Where the host's functions run, one at a time. Returns when it has run.
void run_host_function(cuda::HostFunction function, void* data);

/// The address at which the fake itself reaches what `address` names: device memory's other
/// mapping, or the same. Null for what is neither device nor page-locked memory.
std::byte* reachable(cuda::DevicePointer address, std::size_t bytes);
bool is_device(cuda::DevicePointer address);
/// Of the device whose memory it is; -1: none's.
int device_number(cuda::DevicePointer address);

}  // namespace rondo::test
