// Events, captures and graphs.
#include <algorithm>
#include <thread>
#include <utility>

#include "tests/fake_driver/clock.h"
#include "tests/fake_driver/state.h"

namespace rondo::test {
namespace {

/// Waits for an event's newest record outside captures, as it is now.
Work wait_for(const cuda::Event event) {
  const SharedToken token = event->newest;
  if (token == nullptr) return [] {};
  return [token] { token->wait(); };
}

Work record(const cuda::Event event) {
  const auto token = std::make_shared<Token>();
  event->newest = token;
  return [token] { token->set(); };
}

/// The stream takes part in the capture from here on.
void join(cuda::Stream stream, const std::shared_ptr<CaptureState>& capture) {
  stream->capture = capture;
  stream->index = capture->members.size();
  capture->members.push_back(stream);
  capture->joined.push_back(false);
  ++capture->body->streams;
}

/// Puts a record into a graph. It sets a token, which each launch makes anew.
void record_inside(cuda::Event event, cuda::Stream stream) {
  CaptureState& capture = *stream->capture;
  const std::size_t token = capture.body->tokens++;
  event->captured = stream->capture;
  event->token = token;
  event->recorder = stream->index;
  put(stream, [token](Launch& launch) -> Work {
    const SharedToken mine = launch.tokens[token];
    return [mine] { mine->set(); };
  });
  // The stream has nothing after the record yet, so a wait for the record is a wait for all.
  capture.joined[stream->index] = stream->index == 0;
}

int wait_inside(cuda::Event event, cuda::Stream stream) {
  const std::shared_ptr<CaptureState> capture = event->captured.lock();
  if (stream->capture == nullptr) join(stream, capture);
  if (stream->capture != capture) return capture_isolation;
  const std::size_t token = event->token;
  put(stream, [token](Launch& launch) -> Work {
    const SharedToken theirs = launch.tokens[token];
    return [theirs] { theirs->wait(); };
  });
  capture->joined[event->recorder] = true;
  return cuda::success;
}

void run_all(const std::vector<Work>& works) {
  for (const Work& work : works) work();
}

/// What a launch does to a stream: every captured stream's work, side by side.
Work make_run(const GraphBody& body) {
  Launch launch;
  for (std::size_t i = 0; i < body.tokens; ++i) launch.tokens.push_back(std::make_shared<Token>());
  std::vector<std::vector<Work>> streams(body.streams);
  for (const auto& [stream, node] : body.nodes) streams[stream].push_back(node(launch));
  return [streams = std::move(streams)] {
    std::vector<std::thread> others;
    for (std::size_t i = 1; i < streams.size(); ++i)
      others.emplace_back([&works = streams[i]] { run_all(works); });
    run_all(streams.front());
    for (std::thread& other : others) other.join();
  };
}

}  // namespace
}  // namespace rondo::test

using namespace rondo::test;
using rondo::cuda::Event;
using rondo::cuda::Graph;
using rondo::cuda::Stream;
using rondo::cuda::success;

extern "C" {

int cuEventCreate(Event* event, unsigned /*flags*/) {
  if (const int status = enter("cuEventCreate")) return status;
  *event = std::make_unique<CUevent_st>().release();
  (*event)->context = current_context();
  const std::scoped_lock lock(state().mutex);
  state().events.insert(*event);
  return success;
}

int cuEventDestroy_v2(Event event) {
  if (const int status = enter("cuEventDestroy")) return status;
  const std::unique_ptr<CUevent_st> last(event);
  const std::scoped_lock lock(state().mutex);
  state().events.erase(event);
  return success;
}

int cuEventRecord(Event event, Stream stream) {
  std::unique_lock<std::mutex> entry;
  if (const int status = enter_stream("cuEventRecord", stream, entry)) return status;
  const std::scoped_lock lock(state().mutex);
  const Stream real = resolve(stream);
  if (real->capture != nullptr) {
    record_inside(event, real);
  } else {
    event->captured.reset();
    note_record(real, event);
    put(real, [event](Launch&) { return record(event); });
  }
  return success;
}

int cuEventRecordWithFlags(Event event, Stream stream, unsigned flags) {
  if (flags != rondo::cuda::event_record_external) return cuEventRecord(event, stream);
  if (const int status = enter("cuEventRecordWithFlags")) return status;
  const std::scoped_lock lock(state().mutex);
  const Stream real = resolve(stream);
  if (real->capture == nullptr) return invalid_value;
  put(real, [event](Launch&) { return record(event); });
  return success;
}

int cuStreamWaitEvent(Stream stream, Event event, unsigned flags) {
  std::unique_lock<std::mutex> entry;
  if (const int status = enter_stream("cuStreamWaitEvent", stream, entry)) return status;
  const std::scoped_lock lock(state().mutex);
  const Stream real = resolve(stream);
  const bool external = flags == rondo::cuda::event_wait_external;
  if (external && real->capture == nullptr) return invalid_value;
  if (!external && !event->captured.expired()) return wait_inside(event, real);
  if (!external && real->capture != nullptr) return capture_isolation;
  note_wait(real, event);
  put(real, [event](Launch&) { return wait_for(event); });
  return success;
}

int cuEventQuery(Event event) {
  if (const int status = enter_unsafe("cuEventQuery", event->context)) return status;
  const std::scoped_lock lock(state().mutex);
  return event->newest == nullptr || event->newest->is_set() ? success : rondo::cuda::not_ready;
}

int cuEventSynchronize(Event event) {
  if (const int status = enter_unsafe("cuEventSynchronize", event->context)) return status;
  SharedToken newest;
  {
    const std::scoped_lock lock(state().mutex);
    newest = event->newest;
  }
  return newest != nullptr ? wait_in(event->context, *newest) : success;
}

int cuStreamBeginCapture_v2(Stream stream, int mode) {
  if (const int status = enter("cuStreamBeginCapture")) return status;
  note_unknown("a captured stream");
  const std::scoped_lock lock(state().mutex);
  if (stream == nullptr || stream->capture != nullptr) return invalid_value;
  const auto capture = std::make_shared<CaptureState>();
  capture->id = ++state().captures_begun;
  capture->mode = mode;
  capture->graph = std::make_unique<CUgraph_st>();
  capture->graph->body = capture->body;
  join(stream, capture);
  state().captures.push_back(capture);
  return success;
}

int cuStreamEndCapture(Stream stream, Graph* graph) {
  if (const int status = enter("cuStreamEndCapture")) return status;
  const std::scoped_lock lock(state().mutex);
  const std::shared_ptr<CaptureState> capture = stream->capture;
  if (capture == nullptr || stream->index != 0) return invalid_value;
  for (const Stream member : capture->members) member->capture.reset();
  *graph = nullptr;
  const auto& joined = capture->joined;
  if (!std::all_of(joined.begin() + 1, joined.end(), [](bool each) { return each; }))
    return capture_unjoined;
  *graph = capture->graph.release();
  return success;
}

int cuStreamGetCaptureInfo_v2(Stream stream, int* status, unsigned long long* id, Graph* graph,
                              const void** /*dependencies*/, std::size_t* /*count*/) {
  if (const int refused = enter("cuStreamGetCaptureInfo")) return refused;
  const std::scoped_lock lock(state().mutex);
  const Stream real = resolve(stream);
  const auto capture = real != nullptr ? real->capture : nullptr;
  *status = capture == nullptr ? 0 : rondo::cuda::capture_active;
  if (capture == nullptr) return success;
  if (id != nullptr) *id = capture->id;
  if (graph != nullptr) *graph = capture->graph.get();
  return success;
}

int cuGraphInstantiateWithFlags(GraphExec* exec, Graph graph, unsigned long long /*flags*/) {
  if (const int status = enter("cuGraphInstantiate")) return status;
  *exec = std::make_unique<CUgraphExec_st>(CUgraphExec_st{graph->body}).release();
  return success;
}

int cuGraphLaunch(GraphExec exec, Stream stream) {
  std::unique_lock<std::mutex> entry;
  if (const int status = enter_stream("cuGraphLaunch", stream, entry)) return status;
  note_unknown("a graph");
  const std::scoped_lock lock(state().mutex);
  // The body stays until the work is gone, so destroying the graph early is allowed.
  put(resolve(stream),
      [body = exec->body](Launch&) -> Work { return [body, run = make_run(*body)] { run(); }; });
  return success;
}

int cuGraphExecDestroy(GraphExec exec) {
  if (const int status = enter("cuGraphExecDestroy")) return status;
  const std::unique_ptr<CUgraphExec_st> last(exec);
  return success;
}

int cuGraphDestroy(Graph graph) {
  if (const int status = enter("cuGraphDestroy")) return status;
  const std::unique_ptr<CUgraph_st> last(graph);
  return success;
}

int cuUserObjectCreate(rondo::cuda::UserObject* object, void* data,
                       rondo::cuda::HostFunction destroy, unsigned references, unsigned flags) {
  if (const int status = enter("cuUserObjectCreate")) return status;
  if (references != 1 || flags != rondo::cuda::user_object_no_destructor_sync) return invalid_value;
  auto made = std::make_unique<CUuserObject_st>();
  made->object = std::make_shared<UserObject>(data, destroy);
  *object = made.release();
  return success;
}

int cuUserObjectRelease(rondo::cuda::UserObject object, unsigned references) {
  if (const int status = enter("cuUserObjectRelease")) return status;
  const std::unique_ptr<CUuserObject_st> last(object);
  return references == 1 ? success : invalid_value;
}

int cuGraphRetainUserObject(Graph graph, rondo::cuda::UserObject object, unsigned references,
                            unsigned flags) {
  if (const int status = enter("cuGraphRetainUserObject")) return status;
  if (references != 1 || flags != rondo::cuda::graph_user_object_move) return invalid_value;
  const std::unique_ptr<CUuserObject_st> moved(object);
  const std::scoped_lock lock(state().mutex);
  graph->body->objects.push_back(std::move(moved->object));
  return success;
}
}
