// Devices: how many there are, their properties, and how they reach each other.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tests/fake_driver/state.h"

namespace rondo::test {
namespace {

bool is_device_number(int device) { return device >= 0 && device < device_count; }

/// The key of two devices' link, the same from either side.
std::pair<int, int> pair_of(int device, int peer) {
  return {std::min(device, peer), std::max(device, peer)};
}

/// "12.4" as 10 * 12 + 4; `otherwise` where there is no such variable.
int version_variable(const char* name, int otherwise) {
  const char* const text = std::getenv(name);
  if (text == nullptr) return otherwise;
  const char* const point = std::strchr(text, '.');
  return 10 * std::atoi(text) + (point != nullptr ? std::atoi(point + 1) : 0);
}

}  // namespace

int driver_version() {
  constexpr int own = FAKE_DRIVER_VERSION / 1000 * 10 + FAKE_DRIVER_VERSION % 1000 / 10;
  const int version = version_variable("FAKE_DRIVER_CUDA", own);
  return version / 10 * 1000 + version % 10 * 10;
}

int capability() { return version_variable("FAKE_CAPABILITY", 90); }

FakeLink link_of(int device, int peer) {
  const std::scoped_lock lock(state().mutex);
  const auto found = state().links.find(pair_of(device, peer));
  return found == state().links.end() ? FakeLink::pcie : found->second;
}

}  // namespace rondo::test

using namespace rondo::test;
using rondo::cuda::success;

extern "C" {

int cuInit(unsigned /*flags*/) { return success; }

int cuDeviceGetCount(int* count) {
  *count = device_count;
  return success;
}

int cuDeviceGet(int* device, int ordinal) {
  if (const int status = enter("cuDeviceGet")) return status;
  *device = ordinal;
  return success;
}

int cuDeviceGetUuid_v2(rondo::cuda::Uuid* uuid, int device) {
  if (const int status = enter("cuDeviceGetUuid")) return status;
  *uuid = {};
  uuid->bytes[0] = static_cast<char>('a' + device);
  return success;
}

int cuDeviceGetName(char* name, int length, int device) {
  if (const int status = enter("cuDeviceGetName")) return status;
  if (!is_device_number(device) || length < 1) return invalid_value;
  const std::string text = "Fake GPU " + std::to_string(device);
  const std::size_t bytes = std::min(text.size(), static_cast<std::size_t>(length) - 1);
  std::memcpy(name, text.data(), bytes);
  name[bytes] = '\0';
  return success;
}

int cuDeviceGetAttribute(int* value, int attribute, int /*device*/) {
  if (const int status = enter("cuDeviceGetAttribute")) return status;
  if (attribute == rondo::cuda::attribute_mps && driver_version() >= 12010) {
    *value = std::getenv("FAKE_MPS") != nullptr ? 1 : 0;
    return success;
  }
  const auto say = [value](int answer) {
    *value = answer;
    return success;
  };
  switch (attribute) {
    case rondo::cuda::attribute_capability_major:
      return say(capability() / 10);
    case rondo::cuda::attribute_capability_minor:
      return say(capability() % 10);
    case rondo::cuda::attribute_sync_domains:
      if (driver_version() < 12000) return invalid_value;
      return say(capability() >= 90 ? 4 : 1);
    case rondo::cuda::attribute_multiprocessors:
      return say(processors);
    case rondo::cuda::attribute_segments:
      return say(std::getenv("FAKE_WITHOUT_SEGMENTS") == nullptr ? 1 : 0);
    case rondo::cuda::attribute_descriptors:
      return say(std::getenv("FAKE_WITHOUT_DESCRIPTORS") == nullptr ? 1 : 0);
    case rondo::cuda::attribute_gpu_direct_segments:
      return say(0);
    default:
      return invalid_value;
  }
}

int cuDeviceGetP2PAttribute(int* value, int attribute, int device, int peer) {
  if (const int status = enter("cuDeviceGetP2PAttribute")) return status;
  // Like the real one, it answers for two different devices only.
  if (!is_device_number(device) || !is_device_number(peer) || device == peer) return invalid_value;
  const FakeLink link = link_of(device, peer);
  switch (attribute) {
    case rondo::cuda::p2p_access_supported:
      *value = link == FakeLink::none ? 0 : 1;
      return success;
    case rondo::cuda::p2p_native_atomic_supported:
      *value = link == FakeLink::nvlink ? 1 : 0;
      return success;
    case rondo::cuda::p2p_performance_rank:
      *value = link == FakeLink::nvlink ? 0 : 1;  // the lower the faster
      return success;
    default:
      return invalid_value;
  }
}

int cuDevicePrimaryCtxRelease_v2(int device) {
  if (const int status = enter("cuDevicePrimaryCtxRelease")) return status;
  const std::scoped_lock lock(state().mutex);
  int& holders = state().retained[device];
  if (holders == 0) return rondo::cuda::invalid_context;
  --holders;
  return success;
}

int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  if (const int status = enter("cuDevicePrimaryCtxGetState")) return status;
  const std::scoped_lock lock(state().mutex);
  *flags = 0;
  *active = state().retained[device] > 0 ? 1 : 0;
  return success;
}

int fake_retained(int device) {
  const std::scoped_lock lock(state().mutex);
  if (device >= 0) return state().retained[device];
  int all = 0;
  for (const auto& [each, holders] : state().retained) all += holders;
  return all;
}

void fake_set_link(int device, int peer, FakeLink link) {
  const std::scoped_lock lock(state().mutex);
  state().links[pair_of(device, peer)] = link;
}
}
