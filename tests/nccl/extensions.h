// rondo/nccl.h for tests. It comes after the nccl.h that it would otherwise search for.
#pragma once

#include "core/nccl/include/nccl.h"
#include "core/nccl/include/rondo/nccl.h"
#include "tests/nccl/members.h"
