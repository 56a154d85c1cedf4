//===- Import.cpp - Weights from Megatron-LM ------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/megatron/Import.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

using namespace hocket;
using namespace hocket::megatron;
using checkpoint::ByteSink;
using checkpoint::CheckpointTensor;
using checkpoint::ModelWeights;
using checkpoint::TensorSpec;

namespace {

/// Rows of a tensor of theirs that lie together in ours.
struct Rows {
  uint64_t first = 0, count = 0;
};

/// Where a tensor of ours, or one expert's matrix of it, comes from.
struct Source {
  std::string theirs;
  uint64_t rows = 0;        ///< That theirs must have.
  bool mayHaveMore = false; ///< A padded vocabulary.
  std::vector<Rows> taken;  ///< In our order.
  uint64_t zeros = 0;       ///< Rows behind them.
};

/// A name of ours within a layer, and theirs.
struct NameRow {
  std::string_view ours, theirs;
};

} // namespace

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static constexpr NameRow kOutsideLayers[] = {
    {"embedding.weight", "embedding.word_embeddings.weight"},
    {"position_embedding.weight", "embedding.position_embeddings.weight"},
    {"final_norm.weight", "decoder.final_layernorm.weight"},
    {"final_norm.bias", "decoder.final_layernorm.bias"},
    {"head.weight", "output_layer.weight"},
};

/// Within a layer, whole names.
static constexpr NameRow kWhole[] = {
    {"mlp.shared_gate.weight", "mlp.shared_experts.gate_weight"},
    {"mixer.decay", "mixer.A_log"},
    {"mixer.step_bias", "mixer.dt_bias"},
    {"mixer.skip", "mixer.D"},
    {"mixer.z.weight", "mixer.in_proj.weight.z"},
    {"mixer.x.weight", "mixer.in_proj.weight.x"},
    {"mixer.b.weight", "mixer.in_proj.weight.B"},
    {"mixer.c.weight", "mixer.in_proj.weight.C"},
    {"mixer.dt.weight", "mixer.in_proj.weight.dt"},
    {"mixer.conv_x.weight", "mixer.conv1d.weight.x"},
    {"mixer.conv_b.weight", "mixer.conv1d.weight.B"},
    {"mixer.conv_c.weight", "mixer.conv1d.weight.C"},
    {"mixer.conv_x.bias", "mixer.conv1d.bias.x"},
    {"mixer.conv_b.bias", "mixer.conv1d.bias.B"},
    {"mixer.conv_c.bias", "mixer.conv1d.bias.C"},
};

/// Up to ".weight" or ".bias". What is taken of qkv, kv and fc1 is said below.
static constexpr NameRow kInLayer[] = {
    {"attention_norm", "input_layernorm"},
    {"attention.q", "self_attention.linear_qkv"},
    {"attention.k", "self_attention.linear_qkv"},
    {"attention.v", "self_attention.linear_qkv"},
    {"attention.o", "self_attention.linear_proj"},
    {"attention.q_down", "self_attention.linear_q_down_proj"},
    {"attention.kv_down", "self_attention.linear_kv_down_proj"},
    {"attention.k_rope", "self_attention.linear_kv_down_proj"},
    {"attention.kv_norm", "self_attention.kv_layernorm"},
    {"attention.q_norm", "self_attention.q_layernorm"},
    {"attention.k_norm", "self_attention.k_layernorm"},
    {"cross_attention_norm", "pre_cross_attn_layernorm"},
    {"cross_attention.q", "cross_attention.attn.linear_q"},
    {"cross_attention.k", "cross_attention.attn.linear_kv"},
    {"cross_attention.v", "cross_attention.attn.linear_kv"},
    {"cross_attention.o", "cross_attention.attn.linear_proj"},
    {"mlp_norm", "pre_mlp_layernorm"},
    {"mlp.gate", "mlp.linear_fc1"},
    {"mlp.up", "mlp.linear_fc1"},
    {"mlp.down", "mlp.linear_fc2"},
    {"mlp.router", "mlp.router"},
    {"mlp.shared.gate", "mlp.shared_experts.linear_fc1"},
    {"mlp.shared.up", "mlp.shared_experts.linear_fc1"},
    {"mlp.shared.down", "mlp.shared_experts.linear_fc2"},
    {"mixer_norm", "norm"},
    {"mixer.gated_norm", "mixer.norm"},
    {"mixer.out", "mixer.out_proj"},
    {"mlp.experts.gate", "mlp.experts.{e}.linear_fc1"},
    {"mlp.experts.up", "mlp.experts.{e}.linear_fc1"},
    {"mlp.experts.down", "mlp.experts.{e}.linear_fc2"},
};

static const NameRow *find(std::span<const NameRow> rows,
                           std::string_view ours) {
  for (const NameRow &row : rows)
    if (row.ours == ours)
      return &row;
  return nullptr;
}

/// The rows of linear_qkv that are the queries, the keys or the values.
static void takeProjection(char which, const ModelWeights &weights,
                           Source &source) {
  uint64_t queries = weights.heads / weights.kvHeads;
  uint64_t group = (queries + 2) * weights.headDim;
  Rows rows{0, queries * weights.headDim};
  if (which != 'q')
    rows = {(queries + (which == 'v')) * weights.headDim, weights.headDim};
  source.rows = weights.kvHeads * group;
  source.taken.clear();
  for (uint64_t i = 0; i < weights.kvHeads; ++i)
    source.taken.push_back({i * group + rows.first, rows.count});
}

/// Rows that stand in pairs: the first ones of all, then the second ones, as
/// Hocket has them.
static void takePairs(uint64_t first, uint64_t count, Source &source) {
  for (uint64_t second : {0, 1})
    for (uint64_t i = 0; i < count / 2; ++i)
      source.taken.push_back({first + 2 * i + second, 1});
}

/// Of attention to latents. Of a head what rotates stands behind the rest, and
/// values behind keys.
static void takeLatent(std::string_view module, const ModelWeights &weights,
                       Source &source) {
  uint64_t turned = weights.rotatedDim, plain = weights.headDim - turned;
  bool isValue = module == "attention.v", isKey = module == "attention.k";
  bool hasDown = std::ranges::any_of(weights.tensors, [](const TensorSpec &t) {
    return t.key.name.ends_with(".attention.q_down.weight");
  });
  uint64_t rows = source.rows;
  if (module == "attention.q") {
    source.taken.clear();
    for (uint64_t h = 0; h < weights.heads; ++h) {
      takePairs(h * weights.headDim + plain, turned, source);
      source.taken.push_back({h * weights.headDim, plain});
    }
    size_t at = source.theirs.rfind(".linear_qkv.");
    source.theirs.replace(at, std::string_view(".linear_qkv.").size(),
                          hasDown ? ".linear_q_up_proj." : ".linear_q_proj.");
  } else if (isKey || isValue) {
    uint64_t both = plain + weights.valueDim;
    source.rows = weights.heads * both;
    source.taken.clear();
    for (uint64_t h = 0; h < weights.heads; ++h)
      source.taken.push_back({h * both + (isValue ? plain : 0),
                              isValue ? weights.valueDim : plain});
    size_t at = source.theirs.rfind(".linear_qkv.");
    source.theirs.replace(at, std::string_view(".linear_qkv.").size(),
                          ".linear_kv_up_proj.");
  } else if (module == "attention.kv_down") {
    source.rows = rows + turned;
  } else if (module == "attention.k_rope") {
    uint64_t before = 0;
    for (const TensorSpec &tensor : weights.tensors)
      if (tensor.key.name.ends_with(".attention.kv_down.weight"))
        before = tensor.shape[0];
    source.rows = before + turned;
    source.taken.clear();
    takePairs(before, turned, source);
  }
}

/// Of linear_kv, which has a key and a value for each head, one of the two.
static void takeOfBoth(char which, const ModelWeights &weights,
                       Source &source) {
  uint64_t rows = weights.headDim;
  source.rows = 2 * weights.kvHeads * rows;
  source.taken.clear();
  for (uint64_t i = 0; i < weights.kvHeads; ++i)
    source.taken.push_back({(2 * i + (which == 'v')) * rows, rows});
}

static void takeWithinLayer(std::string_view module,
                            const ModelWeights &weights, Source &source) {
  uint64_t rows = source.rows;
  if (weights.valueDim > 0)
    takeLatent(module, weights, source);
  else if (module == "attention.q" || module == "attention.k" ||
           module == "attention.v")
    takeProjection(module.back(), weights, source);
  if (module == "cross_attention.k" || module == "cross_attention.v")
    takeOfBoth(module.back(), weights, source);
  bool isGate = module.ends_with(".gate"), isUp = module.ends_with(".up");
  if (weights.gated && (isGate || isUp)) {
    source.rows = 2 * rows;
    source.taken = {{isUp ? rows : 0, rows}};
  }
}

/// A weight of ours; of experts, the matrix of one.
static StatusOr<Source> sourceOf(const TensorSpec &ours, uint64_t expert,
                                 const ModelWeights &weights) {
  std::string_view name = ours.key.name;
  uint64_t rows = ours.shape.size() == 3 ? ours.shape[1] : ours.shape[0];
  Source source{"", rows, false, {{0, rows}}, 0};
  if (const NameRow *row = find(kOutsideLayers, name)) {
    source.theirs = row->theirs;
    if (name != "embedding.weight" && name != "head.weight")
      return source;
    source.rows = weights.vocabulary;
    source.mayHaveMore = true;
    source.taken = {{0, weights.vocabulary}};
    source.zeros = rows - weights.vocabulary;
    return source;
  }
  // "layers.{i}.module.weight"
  constexpr std::string_view layers = "layers.";
  size_t begin = name.find('.', layers.size()), end = name.rfind('.');
  std::string_view module =
      begin < end ? name.substr(begin + 1, end - begin - 1) : "";
  std::string layer = "decoder." + std::string(name.substr(0, begin + 1));
  // An encoder's layer within, by the same name here and there.
  constexpr std::string_view within = "cross_attention.encoder.layers.";
  if (module.starts_with(within)) {
    size_t length = module.find('.', within.size()) + 1;
    layer += module.substr(0, length);
    module.remove_prefix(length);
  }
  if (const NameRow *row = find(kWhole, name.substr(begin + 1))) {
    source.theirs = layer + std::string(row->theirs);
    return source;
  }
  const NameRow *row = find(kInLayer, module);
  if (!row)
    return invalidArgument("Megatron-LM's models have no place for tensor '" +
                           std::string(name) + "'");
  source.theirs =
      layer + std::string(row->theirs) + std::string(name.substr(end));
  if (size_t at = source.theirs.find("{e}"); at != std::string::npos)
    source.theirs.replace(at, 3, std::to_string(expert));
  takeWithinLayer(module, weights, source);
  return source;
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

/// Of a tensor, in memory at once.
static constexpr uint64_t kImportBytes = uint64_t{4} << 20;

static Status giveRows(const ModelTensor &tensor, Rows rows,
                       const ByteSink &sink) {
  uint64_t rowBytes = tensor.columns() * checkpoint::elementBytes(tensor.type);
  uint64_t most = std::max<uint64_t>(1, kImportBytes / rowBytes);
  std::vector<uint8_t> stored;
  for (uint64_t done = 0; done < rows.count; done += most) {
    uint64_t count = std::min(most, rows.count - done);
    stored.resize(count * rowBytes);
    HOCKET_RETURN_IF_ERROR(tensor.readRows(rows.first + done, count, stored));
    auto floats = *checkpoint::toFloats(stored, tensor.type);
    HOCKET_RETURN_IF_ERROR(
        sink({reinterpret_cast<const uint8_t *>(floats.data()),
              floats.size() * sizeof(float)}));
  }
  return okStatus();
}

static Status produce(const ModelTensor &tensor, const Source &source,
                      const ByteSink &sink) {
  for (const Rows &rows : source.taken)
    HOCKET_RETURN_IF_ERROR(giveRows(tensor, rows, sink));
  std::vector<float> zeros(tensor.columns());
  for (uint64_t i = 0; i < source.zeros; ++i)
    HOCKET_RETURN_IF_ERROR(
        sink({reinterpret_cast<const uint8_t *>(zeros.data()),
              zeros.size() * sizeof(float)}));
  return okStatus();
}

//===----------------------------------------------------------------------===//
// The whole model
//===----------------------------------------------------------------------===//

/// Theirs, of the shape that ours needs.
static StatusOr<const ModelTensor *>
findTheirs(const Model &model, const TensorSpec &ours, const Source &source) {
  auto found = model.tensors.find(source.theirs);
  std::string place = model.folder + ": tensor '" + source.theirs + "' ";
  if (found == model.tensors.end())
    return invalidArgument(place + "is missing, of which '" + ours.key.name +
                           "' is made");
  const ModelTensor &tensor = found->second;
  std::vector<uint64_t> wanted = {source.rows};
  if (ours.shape.size() > 1)
    wanted.push_back(ours.shape.back());
  std::vector<uint64_t> shape = tensor.shape;
  if (source.mayHaveMore && shape[0] > source.rows)
    shape[0] = source.rows;
  if (shape != wanted)
    return invalidArgument(place + "has shape " +
                           checkpoint::shapeText(tensor.shape) + ", expected " +
                           checkpoint::shapeText(wanted) +
                           (source.mayHaveMore ? " or more rows" : ""));
  return &tensor;
}

StatusOr<std::vector<CheckpointTensor>>
megatron::importModel(const Model &model, const ModelWeights &weights) {
  if (weights.heads % weights.kvHeads)
    return invalidArgument(model.path + ": " + std::to_string(weights.heads) +
                           " heads in " + std::to_string(weights.kvHeads) +
                           " groups");
  std::vector<CheckpointTensor> tensors;
  std::set<std::string> used;
  for (const TensorSpec &bias : weights.routerBiases) {
    Source source{"decoder." + bias.key.slot,
                  bias.shape[0],
                  false,
                  {{0, bias.shape[0]}},
                  0};
    size_t at = source.theirs.rfind("bias");
    source.theirs.replace(at, std::string::npos, "expert_bias");
    HOCKET_ASSIGN_OR_RETURN(const ModelTensor *theirs,
                            findTheirs(model, bias, source));
    used.insert(source.theirs);
    tensors.push_back({bias, {}});
    tensors.back().slices.push_back(
        {checkpoint::wholeOf(bias.shape),
         [=](const ByteSink &sink) { return produce(*theirs, source, sink); }});
  }
  for (const TensorSpec &ours : weights.tensors) {
    bool hasExperts = ours.shape.size() == 3;
    CheckpointTensor &made = tensors.emplace_back(CheckpointTensor{ours, {}});
    for (uint64_t e = 0; e < (hasExperts ? ours.shape[0] : 1); ++e) {
      HOCKET_ASSIGN_OR_RETURN(Source source, sourceOf(ours, e, weights));
      HOCKET_ASSIGN_OR_RETURN(const ModelTensor *theirs,
                              findTheirs(model, ours, source));
      used.insert(source.theirs);
      checkpoint::SliceBounds bounds = checkpoint::wholeOf(ours.shape);
      if (hasExperts) {
        bounds.offset[0] = e;
        bounds.size[0] = 1;
      }
      made.slices.push_back({std::move(bounds), [=](const ByteSink &sink) {
                               return produce(*theirs, source, sink);
                             }});
    }
  }
  for (const auto &[name, tensor] : model.tensors)
    if (!used.count(name) && !(weights.tied && name == "output_layer.weight"))
      return invalidArgument(model.folder + ": tensor '" + name +
                             "' is not part of the model that the settings "
                             "describe");
  return tensors;
}
