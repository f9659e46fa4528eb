// Which options make a model, and which.
#include "rondo/error.h"
#include "tools/trainer/model/gpt.h"
#include "tools/trainer/model/mlp.h"

namespace rondo::train {
namespace {

[[noreturn]] void refuse(const std::string& message, const std::string& remedy) {
  throw Error(ErrorCode::invalid_argument, message, {.remedy = remedy});
}

void check(const ModelOptions& options) {
  const bool gpt = options.kind == "gpt";
  if (!gpt && options.kind != "mlp")
    refuse("there is no model '" + options.kind + "'", "gpt or mlp");
  if (options.outputs == 0 || options.inputs == 0 || options.layers == 0 || options.width == 0) {
    refuse("a model of no layers, width, inputs or outputs learns nothing", "numbers above 0");
  }
  constexpr std::size_t most = 1U << 16;  // products of these must not overflow
  if (options.outputs > most || options.layers > most || options.width > most) {
    refuse("a model of so many layers, classes or such a width fits nowhere",
           "numbers up to " + std::to_string(most));
  }
  if (gpt && (options.heads == 0 || options.width % options.heads != 0)) {
    refuse("a width of " + std::to_string(options.width) + " does not split into " +
               std::to_string(options.heads) + " heads",
           "--width as a multiple of --heads");
  }
  if (!gpt && options.checkpoint_activations) {
    refuse("the mlp has no blocks whose activations could be made again",
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
