//===- Model.h - A model as Megatron-LM saved it ----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What both formats of Megatron-LM's checkpoints are read into: settings and
/// whole tensors, each of which is put together from shards when it is read.
/// Names are those of Megatron Core, with layers and experts numbered through
/// the whole model, whatever rank had them:
///
///   embedding.{word,position}_embeddings.weight
///   decoder.layers.{i}.{input,pre_mlp}_layernorm.{weight,bias}
///   decoder.layers.{i}.self_attention.linear_{qkv,proj}.{weight,bias}
///   decoder.layers.{i}.self_attention.{q,k}_layernorm.weight
///   decoder.layers.{i}.mlp.linear_fc{1,2}.{weight,bias}
///   decoder.layers.{i}.mlp.router.weight
///   decoder.layers.{i}.mlp.experts.{e}.linear_fc{1,2}.weight
///   decoder.layers.{i}.mlp.shared_experts.linear_fc{1,2}.weight
///   decoder.layers.{i}.mlp.shared_experts.gate_weight
///   decoder.layers.{i}.norm.weight
///   decoder.layers.{i}.mixer.in_proj.weight.{z,x,B,C,dt}
///   decoder.layers.{i}.mixer.conv1d.{weight,bias}.{x,B,C}
///   decoder.layers.{i}.mixer.{A_log,dt_bias,D}
///   decoder.layers.{i}.mixer.{norm,out_proj}.weight
///   decoder.layers.{i}.pre_cross_attn_layernorm.{weight,bias}
///   decoder.layers.{i}.cross_attention.attn.linear_{q,kv,proj}.{weight,bias}
///   decoder.layers.{i}.cross_attention.encoder.layers.0.*   as of a layer
///   decoder.final_layernorm.{weight,bias}
///   output_layer.weight
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_MEGATRON_MODEL_H
#define HOCKET_RUNTIME_MEGATRON_MODEL_H

#include "runtime/checkpoint/Slices.h"
#include "runtime/megatron/TorchFile.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace hocket::megatron {

/// Part of a tensor. A vector counts as a matrix of one column.
struct Shard {
  checkpoint::SliceBounds bounds; ///< Of rows and columns.
  FileRange bytes;
};

struct ModelTensor {
  checkpoint::ElementType type = checkpoint::ElementType::F32;
  std::vector<uint64_t> shape; ///< One or two dims.
  std::vector<Shard> shards;   ///< Disjoint; together the whole.

  uint64_t columns() const { return shape.size() == 2 ? shape[1] : 1; }

  /// Reads rows [first, first + count) into `out`, which has their bytes. Of
  /// each shard, its part of the rows is in memory.
  Status readRows(uint64_t first, uint64_t count, std::span<uint8_t> out) const;
};

/// A setting of the training that was; Other is what no setting that is read
/// may be.
struct Other {};
using SettingList = std::vector<int64_t>;
using Setting = std::variant<std::monostate, bool, int64_t, double, std::string,
                             SettingList, Other>;
using Settings = std::map<std::string, Setting>;

struct Model {
  std::string folder; ///< Of the iteration.
  std::string path;   ///< Of the file that has the settings.
  uint64_t iteration = 0;
  Settings settings;
  std::map<std::string, ModelTensor> tensors;
};

/// Whether `dir` is a folder of Megatron-LM's, or one iteration of it.
bool holdsMegatron(const std::string &dir);

/// Reads `dir`, in whichever format it is. Tensors stay in their files, which
/// must not change for as long as the model lives. Errors name the file.
StatusOr<Model> openModel(const std::string &dir);

/// A whole number among the settings, or `absent` if it is None or not there;
/// InvalidArgument if it is something else or negative.
StatusOr<uint64_t> sizeSetting(const Model &model, const std::string &name,
                               uint64_t absent);

} // namespace hocket::megatron

#endif // HOCKET_RUNTIME_MEGATRON_MODEL_H
