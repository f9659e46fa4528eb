// What the fake CUDA driver answers.
#pragma once

#include <cstddef>

struct FakeDriver {
  void* device_begin;
  std::size_t device_bytes;
  void* last_stream;  ///< the last one that was waited for
  int stream_status;  ///< what waiting returns
};

extern "C" FakeDriver* fake_driver();
