// The 16- and 8-bit floats as their codes, by CUDA's conversions, which are instructions where the
// device has them. On the host a test compares every code: they must equal kernels/cpu/convert.h.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>

namespace rondo::device {

__host__ __device__ inline float float16_to_float(std::uint16_t code) {
  __half_raw raw;
  raw.x = code;
  return __half2float(__half(raw));
}
__host__ __device__ inline std::uint16_t float_to_float16(float value) {
  return static_cast<__half_raw>(__float2half_rn(value)).x;
}
__host__ __device__ inline float bfloat16_to_float(std::uint16_t code) {
  __nv_bfloat16_raw raw;
  raw.x = code;
  return __bfloat162float(__nv_bfloat16(raw));
}
__host__ __device__ inline std::uint16_t float_to_bfloat16(float value) {
  return static_cast<__nv_bfloat16_raw>(__float2bfloat16_rn(value)).x;
}
__host__ __device__ inline float float8_e4m3_to_float(std::uint8_t code) {
  return __half2float(__half(__nv_cvt_fp8_to_halfraw(code, __NV_E4M3)));
}
/// Saturates: e4m3 has no infinity.
__host__ __device__ inline std::uint8_t float_to_float8_e4m3(float value) {
  return __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3);
}
__host__ __device__ inline float float8_e5m2_to_float(std::uint8_t code) {
  return __half2float(__half(__nv_cvt_fp8_to_halfraw(code, __NV_E5M2)));
}
/// Overflows to infinity.
__host__ __device__ inline std::uint8_t float_to_float8_e5m2(float value) {
  return __nv_cvt_float_to_fp8(value, __NV_NOSAT, __NV_E5M2);
}

}  // namespace rondo::device
