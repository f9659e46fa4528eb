#include "core/cuda/contexts.h"

#include <mutex>
#include <string>

#include "core/base/log.h"
#include "core/cuda/handles.h"
#include "core/cuda/per_context.h"

namespace rondo::cuda {
namespace {

/// Held while a primary context is taken or given back. After the last holder has let go, what was
/// known of the context is forgotten before it can come anew, at the same address. Global, as
/// contexts are.
std::mutex& changing() {
  static std::mutex mutex;
  return mutex;
}

bool is_gone(int device) {
  unsigned flags = 0;
  int active = 0;
  const int status = find_driver()->device_primary_ctx_get_state(device, &flags, &active);
  return status == success && active == 0;
}

struct Release {
  int device;

  void operator()(Context context) const noexcept {
    try {
      const RelaxedCapture relaxed;
      const std::scoped_lock lock(changing());
      check(find_driver()->device_primary_ctx_release(device), "cuDevicePrimaryCtxRelease");
      if (!is_gone(device)) return;
      PerContext::forget(context);
    } catch (const std::exception& error) {
      log(LogLevel::info, -1,
          "while giving back the context of device " + std::to_string(device) + ": " + error.what(),
          LogSubsystem::destroy);
    }
  }
};

}  // namespace

SharedContext borrowed(Context context) { return {SharedContext(), context}; }

SharedContext retain_primary(int device) {
  const Driver& cuda = driver();
  const std::scoped_lock lock(changing());
  Context context = nullptr;
  check(cuda.device_primary_ctx_retain(&context, device),
        "cuDevicePrimaryCtxRetain of device " + std::to_string(device));
  return {context, Release{device}};
}

SharedContext primary_if_there(int device) {
  if (device_count() == 0 || find_driver()->missing != nullptr) return {};
  return retain_primary(device);
}

unsigned long long number_of(Context context) {
  const Driver& cuda = driver();
  unsigned long long number = 0;
  if (cuda.ctx_get_id != nullptr) check(cuda.ctx_get_id(context, &number), "cuCtxGetId");
  return number;
}

int device_count() {
  const Driver* const cuda = find_driver();
  int count = 0;
  if (cuda == nullptr || cuda->device_get_count == nullptr) return 0;
  return cuda->device_get_count(&count) == success ? count : 0;
}

}  // namespace rondo::cuda
