//===- Names.h - What Megatron-LM calls its weights -------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One name for a weight, from those that it has in checkpoints: of Megatron
/// Core with and without Transformer Engine, of the older classes of
/// Megatron-LM, and of sharded formats, where the layers of a model may be one
/// tensor with a leading dim.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_MEGATRON_NAMES_H
#define HOCKET_RUNTIME_MEGATRON_NAMES_H

#include <cstdint>
#include <optional>
#include <string>

namespace hocket::megatron {

struct WeightName {
  /// Model.h's name, with "{i}" for the layer and "{e}" for the expert.
  std::string pattern;
  /// What the name says; absent if the tensor has a leading dim instead, or the
  /// pattern has no such place.
  std::optional<uint64_t> layer, expert;

  bool stacksLayers() const { return isOpen("{i}", layer); }
  bool stacksExperts() const { return isOpen("{e}", expert); }
  std::string text(uint64_t ofLayer, uint64_t ofExpert) const;
  /// Whether it is of a depthwise convolution: [channels, 1, tokens].
  bool isDepthwise() const;

private:
  bool isOpen(const char *place, const std::optional<uint64_t> &value) const {
    return !value && pattern.find(place) != std::string::npos;
  }
};

/// nullopt for what is no weight of the model: state of the optimizer or of
/// random numbers, Transformer Engine's extra state, tables of frequencies.
std::optional<WeightName> parseWeightName(const std::string &name);

/// How ranks of tensor parallelism share a weight.
enum class Split { None, Rows, Columns };
Split splitOf(const std::string &pattern);

} // namespace hocket::megatron

#endif // HOCKET_RUNTIME_MEGATRON_NAMES_H
