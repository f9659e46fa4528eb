#include "core/cuda/spares.h"

#include "core/cuda/handles.h"
#include "core/cuda/per_context.h"

namespace rondo::cuda {
namespace {

using OfContext = PerContext<std::shared_ptr<Spares>>;

}  // namespace

std::shared_ptr<Spares> Spares::of_current() {
  return OfContext::of(current_context(), [] {
    return std::make_unique<std::shared_ptr<Spares>>(std::make_shared<Spares>());
  });
}

void Spares::forget(Context context) { OfContext::forget(context); }

}  // namespace rondo::cuda
