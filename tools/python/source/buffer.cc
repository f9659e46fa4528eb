#include "tools/python/source/buffer.h"

#include <cstdint>
#include <string_view>

#include "tools/python/source/dlpack.h"

namespace rondo_python {
namespace {

using rondo::DataType;

std::optional<DataType> integer_type(std::size_t bytes, bool is_signed) {
  switch (bytes) {
    case 1:
      return is_signed ? DataType::int8 : DataType::uint8;
    case 2:
      return is_signed ? DataType::int16 : DataType::uint16;
    case 4:
      return is_signed ? DataType::int32 : DataType::uint32;
    case 8:
      return is_signed ? DataType::int64 : DataType::uint64;
    default:
      return std::nullopt;
  }
}

std::optional<DataType> real_type(std::size_t bytes) {
  switch (bytes) {
    case 2:
      return DataType::float16;
    case 4:
      return DataType::float32;
    case 8:
      return DataType::float64;
    default:
      return std::nullopt;
  }
}

/// The element type of a format of the buffer protocol, which is that of Python's module struct.
ElementType of_format(std::string_view format, std::size_t bytes) {
  ElementType element{.bytes = bytes};
  const bool foreign = !format.empty() && (format.front() == '>' || format.front() == '!');
  if (foreign && bytes > 1) return element;  // another byte order can be moved, but not added
  if (!format.empty() && std::string_view("@=<>!|").find(format.front()) != std::string_view::npos)
    format.remove_prefix(1);
  if (format == "Zf" || format == "Zd") {
    element.complex = true;
    element.type = real_type(bytes / 2);
  }
  if (format.size() != 1) return element;
  const char code = format.front();
  if (code == '?') {
    element.boolean = true;
    element.type = DataType::uint8;
  }
  if (std::string_view("bhilqn").find(code) != std::string_view::npos)
    element.type = integer_type(bytes, true);
  if (std::string_view("BHILQNc").find(code) != std::string_view::npos)
    element.type = integer_type(bytes, false);
  if (std::string_view("efd").find(code) != std::string_view::npos) element.type = real_type(bytes);
  return element;
}

/// Whether elements hold pointers to Python's objects. Names of fields stand between colons.
bool holds_objects(std::string_view format) {
  bool in_name = false;
  for (const char code : format) {
    if (code == ':') in_name = !in_name;
    if (code == 'O' && !in_name) return true;
  }
  return false;
}

ElementType of_dlpack(const dlpack::Tensor& tensor) {
  ElementType element{.bytes = (tensor.bits * std::size_t{tensor.lanes} + 7) / 8};
  if (tensor.lanes != 1) return element;
  switch (tensor.code) {
    case dlpack::Code::signed_integer:
      element.type = integer_type(element.bytes, true);
      break;
    case dlpack::Code::unsigned_integer:
      element.type = integer_type(element.bytes, false);
      break;
    case dlpack::Code::real:
      element.type = real_type(element.bytes);
      break;
    case dlpack::Code::bfloat:
      if (element.bytes == 2) element.type = DataType::bfloat16;
      break;
    case dlpack::Code::complex:
      element.complex = true;
      element.type = real_type(element.bytes / 2);
      break;
    case dlpack::Code::boolean:
      element.boolean = true;
      element.type = DataType::uint8;
      break;
    case dlpack::Code::float8_e4m3:
      element.type = DataType::float8_e4m3;
      break;
    case dlpack::Code::float8_e5m2:
      element.type = DataType::float8_e5m2;
      break;
  }
  return element;
}

std::string type_name(const py::handle& object) { return Py_TYPE(object.ptr())->tp_name; }

bool contiguous(const dlpack::Tensor& tensor) {
  if (tensor.strides == nullptr) return true;
  std::int64_t wanted = 1;
  for (std::int32_t axis = tensor.dimensions - 1; axis >= 0; --axis) {
    if (tensor.shape[axis] == 0) return true;
    if (tensor.shape[axis] != 1 && tensor.strides[axis] != wanted) return false;
    wanted *= tensor.shape[axis];
  }
  return true;
}

/// A view by the buffer protocol. It is released when this object goes.
struct View {
  View() = default;
  ~View() { PyBuffer_Release(&buffer); }
  View(const View&) = delete;
  View& operator=(const View&) = delete;
  Py_buffer buffer{};
};

/// The tensor in the capsule that __dlpack__ returned. Marks the capsule as used, as DLPack asks.
std::shared_ptr<dlpack::Managed> unpack(const py::object& capsule, const char* call) {
  auto* const managed =
      static_cast<dlpack::Managed*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  if (managed == nullptr) {
    PyErr_Clear();
    refuse(call, "__dlpack__ returned no capsule named 'dltensor'", "a numpy array");
  }
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");
  return {managed, [](dlpack::Managed* taken) {
            if (taken->release != nullptr) taken->release(taken);
          }};
}

}  // namespace

void refuse(const char* call, const std::string& what, const std::string& remedy) {
  throw rondo::Error(rondo::ErrorCode::invalid_argument, what, {.call = call, .remedy = remedy});
}

Buffer::Buffer(const py::handle& object, Use use, const char* call) {
  if (PyObject_CheckBuffer(object.ptr()) != 0)
    take_view(object, use, call);
  else if (py::hasattr(object, "__dlpack__"))
    take_dlpack(object, call);
  else
    refuse(
        call, "'" + type_name(object) + "' is no array",
        "a numpy array, a torch tensor on the CPU, or any object with Python's buffer protocol or "
        "__dlpack__");
}

void Buffer::take_view(const py::handle& object, Use use, const char* call) {
  const auto owner = std::make_shared<View>();
  Py_buffer* const view = &owner->buffer;
  if (PyObject_GetBuffer(object.ptr(), view, PyBUF_FORMAT | PyBUF_STRIDES) != 0) {
    py::error_already_set error;
    if (!error.matches(PyExc_Exception)) throw error;  // a KeyboardInterrupt, say
    refuse(call, "'" + type_name(object) + "' gives no access to its memory: " + error.what(),
           "another type, e.g. array.view('uint16')");
  }
  if (PyBuffer_IsContiguous(view, 'C') == 0)
    refuse(call, "an array of " + std::to_string(view->ndim) + " dimensions that is not contiguous",
           "numpy.ascontiguousarray(array), or array.copy()");
  if (use == Use::write && view->readonly != 0)
    refuse(call, "'" + type_name(object) + "' is to be written to and is read-only",
           "array.copy(), or another output");
  const std::string_view format = view->format == nullptr ? "B" : view->format;
  if (holds_objects(format))
    refuse(call,
           "'" + type_name(object) + "' holds Python objects, which other processes cannot read",
           "array.astype('float64'), or the bytes of pickle.dumps(array)");
  element_ = of_format(format, static_cast<std::size_t>(view->itemsize));
  data_ = view->buf;
  elements_ = static_cast<std::size_t>(view->len / (view->itemsize > 0 ? view->itemsize : 1));
  owner_ = owner;
}

void Buffer::take_dlpack(const py::handle& object, const char* call) {
  py::object capsule;
  try {
    capsule = object.attr("__dlpack__")();
  } catch (const py::error_already_set& error) {
    if (!error.matches(PyExc_Exception)) throw;  // a KeyboardInterrupt, say
    refuse(call, "'" + type_name(object) + "' gives no access to its memory: " + error.what(),
           "tensor.detach(), tensor.cpu()");
  }
  const std::shared_ptr<dlpack::Managed> managed = unpack(capsule, call);
  const dlpack::Tensor& tensor = managed->tensor;
  if (tensor.device_type != dlpack::cpu && tensor.device_type != dlpack::pinned_for_cuda)
    refuse(call, "'" + type_name(object) + "' lies in the memory of another device",
           "tensor.cpu(); for GPU buffers rondo has NCCL's interface (python -m rondo.activate)");
  if (!contiguous(tensor))
    refuse(call, "'" + type_name(object) + "' is not contiguous", "tensor.contiguous()");
  element_ = of_dlpack(tensor);
  data_ = static_cast<char*>(tensor.data) + tensor.offset;
  elements_ = 1;
  for (std::int32_t axis = 0; axis < tensor.dimensions; ++axis)
    elements_ *= static_cast<std::size_t>(tensor.shape[axis]);
  owner_ = managed;
}

}  // namespace rondo_python
