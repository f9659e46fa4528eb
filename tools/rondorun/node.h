// One machine's part of a job, on this machine or another.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "tools/rondorun/output.h"
#include "tools/rondorun/plan.h"
#include "tools/rondorun/process.h"

namespace rondo::launch {

/// What nodes report. `node` is the number in the node's plan, ranks are the world's.
class NodeEvents {
 public:
  virtual ~NodeEvents() = default;
  /// Called after prepare(). `port` is free on the node; 0 when none was asked for.
  virtual void ready(int node, const std::string& host, std::uint16_t port) = 0;
  virtual void started(int rank, pid_t process) = 0;
  virtual void output(int rank, Stream stream, std::string_view bytes) = 0;
  virtual void ended(int rank, Ending ending) = 0;
  /// A rank could not be started. After finished() nothing is left running on the node.
  virtual void refused(int node, int status, const std::string& reason) = 0;
  /// No process of the job is left on the node. The last event.
  virtual void finished(int node) = 0;
  /// The node cannot be reached, or not any more. The last event; its processes end by themselves.
  virtual void lost(int node, const std::string& reason) = 0;
  /// True when output() should not be called for a while.
  virtual bool congested() const = 0;
};

class Node {
 public:
  virtual ~Node() = default;
  /// Answered by ready(), perhaps before this returns.
  virtual void prepare(bool choose_port) = 0;
  /// Call it after ready().
  virtual void start(const NodePlan& plan) = 0;
  /// Sends the signal to each running rank and its process group.
  virtual void signal(int number) = 0;
  /// Sends SIGTERM to every process of the job on the node.
  virtual void terminate() = 0;
  /// Ends every process of the job on the node; finished() or lost() follows.
  virtual void kill() = 0;
};

}  // namespace rondo::launch
