// Moved: tests/support/call.h.
#pragma once

#include "tests/support/call.h"
