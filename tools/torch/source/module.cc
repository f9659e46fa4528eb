// The Python module rondo._C: makes backends.
#include <pybind11/chrono.h>
#include <torch/csrc/utils/pybind.h>

#include <chrono>
#include <string>

#include "core/settings/settings.h"
#include "tools/torch/source/backend.h"

namespace {

c10::intrusive_ptr<c10d::Backend> make_backend(const c10::intrusive_ptr<c10d::Store>& store,
                                               int rank, int size,
                                               std::chrono::milliseconds timeout,
                                               const std::string& name) {
  return c10::make_intrusive<rondo_torch::Backend>(store, rank, size, timeout, name);
}

/// This process's rank and address, as its launcher has set them.
py::dict placement() {
  const auto place = rondo::read_placement(rondo::read_config());
  return py::dict(py::arg("rank") = place.rank, py::arg("ranks") = place.ranks,
                  py::arg("local_rank") = place.local_rank,
                  py::arg("local_ranks") = place.local_ranks, py::arg("address") = place.address,
                  py::arg("port") = place.port, py::arg("source") = place.source);
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  module.def("make_backend", &make_backend, py::arg("store"), py::arg("rank"), py::arg("size"),
             py::arg("timeout"), py::arg("name"), py::call_guard<py::gil_scoped_release>());
  module.def("placement", &placement);
  module.def("version", &rondo::version);
}
