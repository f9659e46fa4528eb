// Moved: tests/support/threads.h.
#pragma once

#include "tests/support/threads.h"
