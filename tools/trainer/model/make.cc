// Makes the model that the options ask for.
#include "rondo/error.h"
#include "tools/trainer/model/gpt.h"
#include "tools/trainer/model/mlp.h"
#include "tools/trainer/refuse.h"

namespace rondo::train {
namespace {

void check(const ModelOptions& options) {
  const bool gpt = options.kind == "gpt";
  if (!gpt && options.kind != "mlp")
    refuse("there is no model '" + options.kind + "'", "gpt or mlp");
  if (options.outputs == 0 || options.inputs == 0 || options.layers == 0 || options.width == 0) {
    refuse("a model needs at least one layer, input and output, and a width", "numbers above 0");
  }
  constexpr std::size_t most = 1U << 16;  // products of these must not overflow
  if (options.outputs > most || options.layers > most || options.width > most) {
    refuse("a model with so many layers or classes, or of such a width, is too large",
           "numbers up to " + std::to_string(most));
  }
  if (gpt && (options.heads == 0 || options.width % options.heads != 0)) {
    refuse("a width of " + std::to_string(options.width) + " does not split into " +
               std::to_string(options.heads) + " heads",
           "--width as a multiple of --heads");
  }
  if (!gpt && options.checkpoint_activations) {
    refuse("the mlp has no blocks whose activations could be computed again",
           "--checkpoint-activations with --model gpt");
  }
}

}  // namespace

template <class Real>
std::unique_ptr<Model<Real>> make_model(const ModelOptions& options, Ledger& ledger,
                                        const Math<Real>& math) {
  check(options);
  return options.kind == "gpt" ? make_gpt<Real>(options, ledger, math)
                               : make_mlp<Real>(options, ledger, math);
}

template std::unique_ptr<Model<float>> make_model(const ModelOptions&, Ledger&, const Math<float>&);
template std::unique_ptr<Model<double>> make_model(const ModelOptions&, Ledger&,
                                                   const Math<double>&);

}  // namespace rondo::train
