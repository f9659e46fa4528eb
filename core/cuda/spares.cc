#include "core/cuda/spares.h"

#include "core/cuda/handles.h"
#include "core/cuda/per_context.h"

namespace rondo::cuda {

std::shared_ptr<Spares> Spares::of_current() {
  using Shared = std::shared_ptr<Spares>;
  return PerContext::of<Shared>(
      current_context(), [] { return std::make_unique<Shared>(std::make_shared<Spares>()); });
}

}  // namespace rondo::cuda
