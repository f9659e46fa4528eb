/* What a program sees of rondo/nccl.h: built with either library's nccl.h, run with either library. */
#define RONDO_NCCL_WEAK
#include <rondo/nccl.h>
#include <stdio.h>

int main(void) {
  int version = 0;
  if (ncclGetVersion(&version) != ncclSuccess) return 1;
#ifdef NCCL_COLLCONFIG_INITIALIZER
  ncclConfigExt_t wide = {NULL, {RONDO_NCCL_VENDOR, RONDO_NCCL_ACCUMULATE}, {ncclFloat32}};
  ncclCollConfig_t config = NCCL_COLLCONFIG_INITIALIZER;
  config.ext = &wide;
  if (config.ext->key.vendorId >= 1 << 24 || config.ext->val.i != ncclFloat32) return 1;
#endif
  printf("rondo's functions are %s\n", rondoCommSetTimeout ? "here" : "not here");
  return 0;
}
