// The Python module rondo._rondo: rondo's C++ interface, for Python's arrays.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "core/schedule/script.h"
#include "rondo/memory.h"
#include "tools/python/source/documents.h"
#include "tools/python/source/interrupt.h"
#include "tools/python/source/window.h"
#include "tools/python/source/world.h"

namespace rondo_python {
namespace {

using namespace py::literals;
using WorldHandle = std::shared_ptr<World>;

/// What the caller asks of a new communicator. Where a part is empty, the environment decides.
struct Wishes {
  const std::string& transport;
  const std::string& algorithm;
  double timeout;
  const std::optional<bool>& reproducible;
  const std::optional<std::string>& accumulate;
  const std::optional<bool>& checksum;
  const std::string& schedules;
};

std::chrono::milliseconds milliseconds_of(double seconds, const char* call) {
  constexpr double longest = 1e8;  // as RONDO_TIMEOUT's
  if (!(seconds >= 0 && seconds <= longest))
    refuse(call, "a timeout of " + std::to_string(seconds) + " seconds", "0 to 100000000");
  return std::chrono::milliseconds(std::llround(1000 * seconds));
}

void set_timeout(World& self, double seconds) {
  self.communicator().set_timeout(milliseconds_of(seconds, "set_timeout"));
}

rondo::Options options(const Wishes& wishes, const char* call) {
  rondo::Options made{.transport = wishes.transport,
                      .algorithm = wishes.algorithm,
                      .schedules = wishes.schedules,
                      .timeout = milliseconds_of(wishes.timeout, call),
                      .reproducible = wishes.reproducible,
                      .checksum = wishes.checksum};
  if (!wishes.accumulate) return made;
  if (*wishes.accumulate != "type" && *wishes.accumulate != "wide")
    refuse(call, "accumulate is '" + *wishes.accumulate + "'", "'type' or 'wide'");
  made.accumulate_wide = *wishes.accumulate == "wide";
  return made;
}

/// Defines both forms of a call: `name`, which waits, and `name`_async.
template <class... Arguments, class... Extra>
void define(py::class_<World, WorldHandle>& type, const char* name,
            Request (*plan)(Place, Arguments...), const char* document, const Extra&... extra) {
  type.def(
      name,
      [plan](World& self, std::decay_t<Arguments>... arguments) {
        return self.run(plan(self.place(), arguments...));
      },
      extra..., document);
  const std::string asynchronous = std::string(name) + "_async";
  const std::string text =
      std::string("As ") + name +
      "(), but returns a Work at once. Leave the arrays alone until it is complete.";
  type.def(
      asynchronous.c_str(),
      [plan](World& self, std::decay_t<Arguments>... arguments) {
        return self.start(plan(self.place(), arguments...));
      },
      extra..., text.c_str());
}

void define_calls(py::class_<World, WorldHandle>& type) {
  define(type, "all_reduce", all_reduce, documents::all_reduce, "input"_a, "output"_a = py::none(),
         "op"_a = "sum", "accumulate"_a = py::none(), "reproducible"_a = false);
  define(type, "reduce_scatter", reduce_scatter, documents::reduce_scatter, "input"_a, "output"_a,
         "op"_a = "sum", "accumulate"_a = py::none(), "reproducible"_a = false);
  define(type, "all_gather", all_gather, documents::all_gather, "input"_a, "output"_a);
  define(type, "broadcast", broadcast, documents::broadcast, "array"_a, "root"_a = 0);
  define(type, "reduce", reduce, documents::reduce, "input"_a, "output"_a = py::none(),
         "op"_a = "sum", "root"_a = 0, "accumulate"_a = py::none(), "reproducible"_a = false);
  define(type, "scan", scan, documents::scan, "input"_a, "output"_a = py::none(), "op"_a = "sum",
         "accumulate"_a = py::none(), "reproducible"_a = false);
  define(type, "exclusive_scan", exclusive_scan, documents::exclusive_scan, "input"_a,
         "output"_a = py::none(), "op"_a = "sum", "accumulate"_a = py::none(),
         "reproducible"_a = false);
  define(type, "all_to_all", all_to_all, documents::all_to_all, "input"_a, "output"_a);
  define(type, "scatter", scatter, documents::scatter, "input"_a, "output"_a, "root"_a = 0);
  define(type, "gather", gather, documents::gather, "input"_a, "output"_a = py::none(),
         "root"_a = 0);
  define(type, "all_gather_v", all_gather_v, documents::all_gather_v, "input"_a, "output"_a,
         "counts"_a);
  define(type, "reduce_scatter_v", reduce_scatter_v, documents::reduce_scatter_v, "input"_a,
         "output"_a, "counts"_a, "op"_a = "sum");
  define(type, "scatter_v", scatter_v, documents::scatter_v, "input"_a, "output"_a, "counts"_a,
         "root"_a = 0);
  define(type, "gather_v", gather_v, documents::gather_v, "input"_a, "output"_a, "counts"_a,
         "root"_a = 0);
  define(type, "all_to_all_v", all_to_all_v, documents::all_to_all_v, "input"_a, "output"_a,
         "sent"_a, "received"_a);
  define(type, "barrier", barrier, documents::barrier);
  define(type, "send", send, documents::send, "array"_a, "peer"_a);
  define(type, "recv", recv, documents::recv, "array"_a, "peer"_a);
}

std::string describe(World& self, const std::string& collective, std::size_t count,
                     const std::string& type, const std::string& op, int root,
                     const std::optional<std::string>& accumulate, bool reproducible) {
  const auto known_collective = rondo::parse_collective(collective);
  const auto known_type = rondo::parse_data_type(type);
  if (!known_collective)
    refuse("describe", "there is no collective '" + collective + "'", "all_reduce");
  if (!known_type) refuse("describe", "there is no type '" + type + "'", "float32");
  const rondo::Reduction how = reduction_of(op, accumulate, reproducible, "describe");
  World::Use use(self, "describe");
  return use.communicator().describe(*known_collective, count, *known_type, how, root);
}

py::dict traffic(World& self) {
  World::Use use(self, "traffic");
  const rondo::Traffic sent = use.communicator().traffic();
  return py::dict("messages"_a = sent.messages, "frames"_a = sent.frames,
                  "payload_bytes"_a = sent.payload_bytes, "header_bytes"_a = sent.header_bytes,
                  "direct_bytes"_a = sent.direct_bytes);
}

/// At the end of a `with` block: an exception in it ends the communicator on every rank.
void leave(World& self, const py::object& kind, const py::object& value, const py::object&) {
  if (kind.is_none()) return self.finalize();
  self.abort("by an exception: " + std::string(py::str(kind.attr("__name__"))) + ": " +
             std::string(py::str(value)));
}

rondo::UniqueId to_id(const py::bytes& bytes, const char* call) {
  const std::string text = bytes;
  rondo::UniqueId id;
  if (text.size() != id.bytes.size())
    refuse(call, std::to_string(text.size()) + " bytes are no unique id",
           "what make_unique_id() returned, whole");
  std::memcpy(id.bytes.data(), text.data(), text.size());
  return id;
}

py::tuple agree(World& self, std::uint64_t flags) {
  const rondo::Agreed agreed = self.agree(flags);
  return py::make_tuple(agreed.flags, agreed.lost);
}

WorldHandle grow(World& self, int size, const std::optional<py::bytes>& id) {
  std::optional<rondo::UniqueId> own;
  if (id) own = to_id(*id, "grow");
  return self.grow(size, own);
}

void define_world(py::module_& module) {
  py::class_<World, WorldHandle> type(module, "Communicator", documents::communicator);
  define_calls(type);
  type.def_property_readonly(
          "rank", [](World& self) { return self.place().rank; }, "This rank's number, from 0.")
      .def_property_readonly(
          "size", [](World& self) { return self.place().ranks; }, "How many ranks there are.")
      .def("all_reduce_quantized", &World::all_reduce_quantized, "array"_a,
           "left_out"_a = py::none(), documents::all_reduce_quantized)
      .def("split", &World::split, "color"_a, "key"_a = 0, documents::split)
      .def("dup", &World::dup, documents::dup)
      .def("abort", &World::abort, "reason"_a = "", documents::abort)
      .def("revoke", &World::abort, "reason"_a = "", documents::revoke)
      .def("agree", &agree, "flags"_a = ~std::uint64_t{0}, documents::agree)
      .def("shrink", &World::shrink, documents::shrink)
      .def("grow", &grow, "size"_a, "id"_a = py::none(), documents::grow)
      .def("set_timeout", &set_timeout, "seconds"_a, documents::set_timeout)
      .def("finalize", &World::finalize, documents::finalize)
      .def("describe", &describe, "collective"_a, "count"_a, "type"_a = "float32", "op"_a = "sum",
           "root"_a = 0, "accumulate"_a = py::none(), "reproducible"_a = false, documents::describe)
      .def("traffic", &traffic, documents::traffic)
      .def("__enter__", [](WorldHandle self) { return self; })
      .def("__exit__", &leave)
      .def("__repr__", [](World& self) {
        return "<rondo.Communicator: rank " + std::to_string(self.place().rank) + " of " +
               std::to_string(self.place().ranks) + ">";
      });
}

template <class Make>
WorldHandle meet(const Make& make) {
  rondo::Communicator communicator;
  {
    const Unlocked unlocked;
    communicator = make();
  }
  return std::make_shared<World>(std::move(communicator));
}

using Flag = std::optional<bool>;
using Word = std::optional<std::string>;

WorldHandle from_environment(const std::string& transport, const std::string& algorithm,
                             double timeout, const Flag& reproducible, const Word& accumulate,
                             const Flag& checksum, const std::string& schedules) {
  const auto wanted =
      options({transport, algorithm, timeout, reproducible, accumulate, checksum, schedules},
              "from_environment");
  return meet([&] { return rondo::Communicator::from_environment(wanted); });
}

WorldHandle from_unique_id(const py::bytes& bytes, int rank, int size, const std::string& transport,
                           const std::string& algorithm, double timeout, const Flag& reproducible,
                           const Word& accumulate, const Flag& checksum,
                           const std::string& schedules) {
  const rondo::UniqueId id = to_id(bytes, "from_unique_id");
  const auto wanted =
      options({transport, algorithm, timeout, reproducible, accumulate, checksum, schedules},
              "from_unique_id");
  return meet([&] { return rondo::Communicator::from_unique_id(id, rank, size, wanted); });
}

py::list from_threads(int size, const std::string& transport, const std::string& algorithm,
                      double timeout, const Flag& reproducible, const Word& accumulate,
                      const Flag& checksum, const std::string& schedules) {
  const auto wanted =
      options({transport, algorithm, timeout, reproducible, accumulate, checksum, schedules},
              "from_threads");
  py::list worlds;
  for (auto& communicator : rondo::Communicator::from_threads(size, wanted))
    worlds.append(std::make_shared<World>(std::move(communicator)));
  return worlds;
}

py::bytes make_unique_id() {
  const rondo::UniqueId id = rondo::make_unique_id();
  return {id.bytes.data(), id.bytes.size()};
}

void verify_schedule(const std::string& text) {
  const Unlocked unlocked;
  const rondo::Script script = rondo::parse_script(text, "text()");
  const rondo::Topology topology{.ranks = script.only_ranks()};
  const int roots = rondo::info(script.collective()).has_root ? topology.ranks : 1;
  for (int root = 0; root < roots; ++root) script.build_right(topology, root);
}

void define_meetings(py::module_& module) {
  module.def("from_environment", &from_environment, "transport"_a = "", "algorithm"_a = "",
             "timeout"_a = 0.0, "reproducible"_a = py::none(), "accumulate"_a = py::none(),
             "checksum"_a = py::none(), "schedules"_a = "", documents::from_environment);
  module.def("from_unique_id", &from_unique_id, "id"_a, "rank"_a, "size"_a, "transport"_a = "",
             "algorithm"_a = "", "timeout"_a = 0.0, "reproducible"_a = py::none(),
             "accumulate"_a = py::none(), "checksum"_a = py::none(), "schedules"_a = "",
             documents::from_unique_id);
  module.def("from_threads", &from_threads, "size"_a, "transport"_a = "", "algorithm"_a = "",
             "timeout"_a = 0.0, "reproducible"_a = py::none(), "accumulate"_a = py::none(),
             "checksum"_a = py::none(), "schedules"_a = "", documents::from_threads);
  module.def("verify_schedule", &verify_schedule, "text"_a, documents::verify_schedule);
  module.def("make_unique_id", &make_unique_id, documents::make_unique_id);
}

void define_work(py::module_& module) {
  py::class_<Pending, std::shared_ptr<Pending>>(module, "Work", documents::work)
      .def("wait", &wait, documents::wait)
      .def("test", &test, documents::test);
  py::class_<Group>(module, "Group", documents::group)
      .def(py::init<>())
      .def("__enter__", &Group::enter)
      .def("__exit__", [](Group& self, const py::object& kind, const py::object&,
                          const py::object&) { self.exit(!kind.is_none()); });
}

void define_memory(py::module_& module) {
  py::class_<rondo::Memory>(module, "Memory", py::buffer_protocol(), documents::memory)
      .def("__len__", &rondo::Memory::size)
      .def_buffer([](rondo::Memory& self) {
        return py::buffer_info(static_cast<unsigned char*>(self.data()),
                               static_cast<py::ssize_t>(self.size()));
      });
  module.def("allocate", &rondo::allocate, "bytes"_a, py::call_guard<Unlocked>(),
             documents::allocate);
}

/// Raises a rondo::Error as this module's class Error, with the parts of its text as attributes.
void raise(const rondo::Error& error) {
  const py::object type = py::module_::import("rondo._rondo").attr("Error");
  const py::object raised = type(error.what());
  raised.attr("code") = std::string(rondo::name(error.code()));
  raised.attr("message") = error.message();
  raised.attr("rank") = error.rank();
  raised.attr("peer") = error.peer();
  raised.attr("call") = error.call();
  raised.attr("remedy") = error.remedy();
  PyErr_SetObject(type.ptr(), raised.ptr());
}

void define_errors(py::module_& module) {
  const auto type = py::reinterpret_steal<py::object>(
      PyErr_NewExceptionWithDoc("rondo.Error", documents::error, PyExc_RuntimeError, nullptr));
  module.attr("Error") = type;
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const rondo::Error& error) {
      raise(error);
    }
  });
}

}  // namespace
}  // namespace rondo_python

PYBIND11_MODULE(_rondo, module) {
  module.doc() = "rondo's C++ interface for Python's arrays; import rondo, not this.";
  rondo_python::define_errors(module);
  rondo_python::define_work(module);
  rondo_python::define_world(module);
  rondo_python::define_window(module);
  rondo_python::define_meetings(module);
  rondo_python::define_memory(module);
  module.def("version", &rondo::version, "rondo's version, \"MAJOR.MINOR.PATCH\".");
}
