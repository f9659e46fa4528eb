// A GPT: embedding, blocks, final norm, and a head that shares the embedding's table.
#pragma once

#include <memory>

#include "tools/trainer/model/model.h"

namespace rondo::train {

template <class Real>
std::unique_ptr<Model<Real>> make_gpt(const ModelOptions& options, Ledger& ledger,
                                      const Math<Real>& math);

}  // namespace rondo::train
