// rondo/nccl.h for tests, behind the nccl.h that it would look for among a program's own.
#pragma once

#include "core/nccl/include/nccl.h"
#include "core/nccl/include/rondo/nccl.h"
#include "tests/nccl/members.h"
