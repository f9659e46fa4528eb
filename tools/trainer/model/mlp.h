// A classifier of points: linear layers with GELU between them.
#pragma once

#include <memory>

#include "tools/trainer/model/model.h"

namespace rondo::train {

template <class Real>
std::unique_ptr<Model<Real>> make_mlp(const ModelOptions& options, Ledger& ledger,
                                      const Math<Real>& math);

}  // namespace rondo::train
