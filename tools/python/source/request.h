// Request: a call from Python, checked, with the arrays that it uses.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/python/source/buffer.h"
#include "tools/python/source/call.h"

namespace rondo_python {

struct Request {
  Call call{};
  std::vector<Buffer> buffers{};  ///< kept until the call is complete
  py::object result = py::none();
};

/// The place of the calling rank.
struct Place {
  int rank = 0;
  int ranks = 1;
};

using Counts = std::vector<std::size_t>;

/// rondo's Reduction for the arguments of a Python call. `accumulate`: a type's name, or empty.
rondo::Reduction reduction_of(const std::string& op, const std::optional<std::string>& accumulate,
                              bool reproducible, const char* call);

/// A function for each of rondo's calls. They throw rondo::Error{invalid_argument}. An `output` of
/// None means in place, if the call can be.
Request all_reduce(Place, const py::object& input, const py::object& output, const std::string& op,
                   const std::optional<std::string>& accumulate, bool reproducible);
Request reduce_scatter(Place, const py::object& input, const py::object& output,
                       const std::string& op, const std::optional<std::string>& accumulate,
                       bool reproducible);
Request all_gather(Place, const py::object& input, const py::object& output);
Request broadcast(Place, const py::object& array, int root);
Request reduce(Place, const py::object& input, const py::object& output, const std::string& op,
               int root, const std::optional<std::string>& accumulate, bool reproducible);
Request scan(Place, const py::object& input, const py::object& output, const std::string& op,
             const std::optional<std::string>& accumulate, bool reproducible);
Request exclusive_scan(Place, const py::object& input, const py::object& output,
                       const std::string& op, const std::optional<std::string>& accumulate,
                       bool reproducible);
Request all_to_all(Place, const py::object& input, const py::object& output);
Request scatter(Place, const py::object& input, const py::object& output, int root);
Request gather(Place, const py::object& input, const py::object& output, int root);
/// The same with blocks of `counts` elements of the arrays.
Request all_gather_v(Place, const py::object& input, const py::object& output,
                     const Counts& counts);
Request reduce_scatter_v(Place, const py::object& input, const py::object& output,
                         const Counts& counts, const std::string& op);
Request scatter_v(Place, const py::object& input, const py::object& output, const Counts& counts,
                  int root);
Request gather_v(Place, const py::object& input, const py::object& output, const Counts& counts,
                 int root);
Request all_to_all_v(Place, const py::object& input, const py::object& output, const Counts& sent,
                     const Counts& received);
Request barrier(Place);
Request send(Place, const py::object& array, int peer);
Request recv(Place, const py::object& array, int peer);

}  // namespace rondo_python
