//===- BuildEncoder.cpp - An encoder before the decoder -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The stack before the decoder's, of layers that see all of their sequence,
/// and the branch by which the decoder's layers attend to it (Raffel et al.,
/// arXiv 1910.10683). Both stacks look tokens up in one table.
///
//===----------------------------------------------------------------------===//

#include "frontends/spec/build/ModelBuilder.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::spec;

void ModelBuilder::declareEncoder() {
  for (const Parameter &parameter : encoderInputParameters(spec))
    declare(parameter, encoderPrefix + parameter.name);
  for (int64_t i = 0; i < encoder.layers(); ++i)
    for (const Parameter &parameter : layerParameters(spec, encoderLayers[i]))
      declare(parameter, encoderPrefix + layerName(i, parameter.name));
  for (const Parameter &parameter : encoderOutputParameters(spec))
    declare(parameter, encoderPrefix + parameter.name);
}

void ModelBuilder::buildEncoderLayers() {
  llvm::SaveAndRestore length(sequence, encoderSequence);
  llvm::SaveAndRestore<std::string> prefix(layerPrefix,
                                           layerPrefix + "encoder_");
  for (const ResolvedKind &each : encoderLayers.kinds()) {
    kind = &each;
    if (each.layers > 0)
      layerFunctions[kind] = buildLayer();
  }
}

Value ModelBuilder::buildEncoder(Value tokens) {
  llvm::SaveAndRestore length(sequence, encoderSequence);
  auto read = [&](const std::vector<Parameter> &list) {
    for (const Parameter &parameter : list) {
      const std::string name = encoderPrefix + parameter.name;
      parameters[parameter.name] = builder.create<xf::ReadOp>(
          at(name, parameter.field), tensor(parameter.shape), name);
    }
  };
  // Of the decoder there are parameters of the same names.
  llvm::StringMap<Value> decoders = parameters;
  read(encoderInputParameters(spec));
  read(encoderOutputParameters(spec));
  Value x = embed(tokens, EncoderEmbeddingStream);
  relativeBias = buildRelativeBias(/*bothDirections=*/true);
  Stack stack{encoderLayers, encoderPrefix, model.layers()};
  for (int64_t i = 0; i < encoder.layers(); ++i)
    x = callLayer(stack, i, x);
  x = dropout(norm(x, "final_norm"), model.dropout().final_norm(),
              EncoderFinalNormStream, "final_norm.dropout");
  parameters = std::move(decoders);
  return x;
}

Value ModelBuilder::buildCrossAttentionBranch(Value input) {
  const std::string name = "cross_attention";
  Value query = projectHeads(input, name + ".q", sequence, own().heads());
  AttentionForm form;
  Value key = serving.crossKeys, value = serving.crossValues;
  if (serving.isOn) {
    form.positions = keyCounts;
  } else {
    key = projectHeads(encoded, name + ".k", encoderSequence, own().kv_heads());
    value =
        projectHeads(encoded, name + ".v", encoderSequence, own().kv_heads());
  }
  form.name = "cross_attention";
  form.causal = false;
  form.stream = CrossAttentionStream;
  return mergeHeads(createAttention(query, key, value, form), name);
}
