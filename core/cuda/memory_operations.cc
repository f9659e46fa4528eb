#include "core/cuda/memory_operations.h"

#include <array>
#include <atomic>

#include "core/cuda/handles.h"
#include "core/cuda/per_context.h"
#include "core/cuda/pinned.h"

namespace rondo::cuda {
namespace {

/// A word that a stream is to set to 1, and one that is 1 already.
struct Words {
  DevicePointer written = 0;
  DevicePointer awaited = 0;
};

void require(int status, const char* function) {
  try {
    check(status, function, memory_operations_remedy);
  } catch (const CudaError& error) {
    throw MemoryOperationsError(error.code(), error.message(), error.details());
  }
}

/// `put(stream, words)` says what the driver answers. Operations of which the driver takes only some
/// are complete, too, when this ends, so the words are nobody's any more.
template <class Put>
void try_out(const char* function, Put put) {
  constexpr std::size_t apart = 64;  // cache lines
  const PinnedMemory memory(4096);
  auto& written = *reinterpret_cast<std::uint32_t*>(memory.data());
  auto& awaited = *reinterpret_cast<std::uint32_t*>(memory.data() + apart);
  // relaxed: the driver's calls order it before the stream's look.
  std::atomic_ref(awaited).store(1, std::memory_order_relaxed);
  const OwnedStream stream = make_stream();
  const int status =
      put(stream.get(), Words{memory.device_address(&written), memory.device_address(&awaited)});
  check(driver().stream_synchronize(stream.get()), "cuStreamSynchronize");
  require(status, function);
  // acquire: the stream has written it.
  if (std::atomic_ref(written).load(std::memory_order_acquire) == 1) return;
  throw MemoryOperationsError(
      ErrorCode::system,
      std::string(function) + " had no effect: the word in host memory is as it was before",
      {.remedy = memory_operations_remedy});
}

/// Made where they work.
struct SingleOperations {
  SingleOperations() {
    try_out("cuStreamWriteValue32", [](Stream stream, const Words& words) {
      return driver().stream_write_value(stream, words.written, 1, write_value_default);
    });
    try_out("cuStreamWaitValue32", [](Stream stream, const Words& words) {
      const int status = driver().stream_wait_value(stream, words.awaited, 1, wait_value_equal);
      if (status != success) return status;
      return driver().stream_write_value(stream, words.written, 1, write_value_default);
    });
  }
};

/// Likewise.
struct BatchedOperations {
  BatchedOperations() {
    try_out("cuStreamBatchMemOp", [](Stream stream, const Words& words) {
      std::array<MemoryOperation, 2> operations{{{.operation = operation_wait_value,
                                                  .address = words.awaited,
                                                  .value = 1,
                                                  .flags = wait_value_equal},
                                                 {.operation = operation_write_value,
                                                  .address = words.written,
                                                  .value = 1,
                                                  .flags = write_value_default}}};
      return driver().stream_batch_mem_op(stream, operations.size(), operations.data(), 0);
    });
  }
};

template <class Operations>
void require(Context context) {
  PerContext::of<Operations>(context, [] { return std::make_unique<const Operations>(); });
}

}  // namespace

void require_memory_operations(Context context) { require<SingleOperations>(context); }
void require_batches(Context context) { require<BatchedOperations>(context); }

}  // namespace rondo::cuda
