//===- ModelWeights.cpp - The weights that a model has --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/CheckedMath.h"
#include "runtime/checkpoint/HuggingFace.h"

using namespace hocket;
using namespace hocket::checkpoint;

namespace {

/// Collects the weights in the order of the forward pass.
class WeightList {
public:
  explicit WeightList(const ModelDims &dims) : dims(dims) {}
  std::vector<TensorSpec> build();

private:
  using Shape = std::vector<uint64_t>;

  void add(const std::string &name, Shape shape) {
    weights.push_back({{name, ""}, ElementType::F32, std::move(shape)});
  }
  void addNorm(const std::string &name) {
    add(name + ".weight", {dims.hidden});
    if (dims.normBias)
      add(name + ".bias", {dims.hidden});
  }
  void addLinear(const std::string &name, uint64_t out, uint64_t in,
                 bool bias) {
    add(name + ".weight", {out, in});
    if (bias)
      add(name + ".bias", {out});
  }
  void addAttention(const std::string &name);
  void addMlp(const std::string &name, uint64_t ffn);
  void addExperts(const std::string &name);

  const ModelDims &dims;
  std::vector<TensorSpec> weights;
};

} // namespace

void WeightList::addAttention(const std::string &name) {
  uint64_t queries = dims.heads * dims.headDim;
  uint64_t keys = dims.kvHeads * dims.headDim;
  addLinear(name + ".q", queries, dims.hidden, dims.qkvBias);
  addLinear(name + ".k", keys, dims.hidden, dims.qkvBias);
  addLinear(name + ".v", keys, dims.hidden, dims.qkvBias);
  addLinear(name + ".o", dims.hidden, queries, dims.outputBias);
  if (!dims.qkNorm)
    return;
  add(name + ".q_norm.weight", {dims.headDim});
  add(name + ".k_norm.weight", {dims.headDim});
}

void WeightList::addMlp(const std::string &name, uint64_t ffn) {
  if (dims.gated)
    addLinear(name + ".gate", ffn, dims.hidden, dims.mlpBias);
  addLinear(name + ".up", ffn, dims.hidden, dims.mlpBias);
  addLinear(name + ".down", dims.hidden, ffn, dims.mlpBias);
}

void WeightList::addExperts(const std::string &name) {
  uint64_t experts = dims.experts, ffn = dims.expertFfn;
  add(name + ".router.weight", {experts, dims.hidden});
  if (dims.gated)
    add(name + ".experts.gate.weight", {experts, ffn, dims.hidden});
  add(name + ".experts.up.weight", {experts, ffn, dims.hidden});
  add(name + ".experts.down.weight", {experts, dims.hidden, ffn});
  if (dims.sharedFfn)
    addMlp(name + ".shared", dims.sharedFfn);
}

std::vector<TensorSpec> WeightList::build() {
  uint64_t rows =
      dims.paddedVocabulary ? dims.paddedVocabulary : dims.vocabulary;
  add("embedding.weight", {rows, dims.hidden});
  if (dims.positions)
    add("position_embedding.weight", {dims.positions, dims.hidden});
  for (uint64_t i = 0; i < dims.layers; ++i) {
    std::string layer = "layers." + std::to_string(i) + ".";
    addNorm(layer + "attention_norm");
    addAttention(layer + "attention");
    addNorm(layer + "mlp_norm");
    if (dims.hasExperts(i))
      addExperts(layer + "mlp");
    else
      addMlp(layer + "mlp", dims.ffn);
  }
  addNorm("final_norm");
  if (!dims.tied)
    add("head.weight", {rows, dims.hidden});
  return std::move(weights);
}

StatusOr<std::vector<TensorSpec>> checkpoint::weightsOf(const ModelDims &dims) {
  constexpr uint64_t layerLimit = 100'000, sizeLimit = uint64_t(1) << 31;
  for (uint64_t size : {dims.layers, dims.hidden, dims.heads, dims.kvHeads,
                        dims.headDim, dims.ffn, dims.vocabulary})
    if (size == 0 || size > sizeLimit)
      return invalidArgument("expected sizes of a model from 1 to 2147483648, "
                             "found " +
                             std::to_string(size));
  if (dims.experts && (dims.expertFfn == 0 || dims.expertFfn > sizeLimit ||
                       dims.experts > sizeLimit || dims.expertInterval == 0 ||
                       dims.sharedFfn > sizeLimit))
    return invalidArgument("expected sizes of experts from 1 to 2147483648");
  if (dims.layers > layerLimit)
    return invalidArgument("expected at most 100000 layers, found " +
                           std::to_string(dims.layers));
  if (dims.paddedVocabulary && dims.paddedVocabulary < dims.vocabulary)
    return invalidArgument(
        "a vocabulary of " + std::to_string(dims.vocabulary) +
        " does not fit in " + std::to_string(dims.paddedVocabulary) + " rows");
  std::vector<TensorSpec> weights = WeightList(dims).build();
  for (const TensorSpec &weight : weights)
    if (!tensorBytes(weight.shape, weight.type))
      return invalidArgument("tensor '" + weight.key.text() + "': shape " +
                             shapeText(weight.shape) + " overflows 64 bits");
  return weights;
}
