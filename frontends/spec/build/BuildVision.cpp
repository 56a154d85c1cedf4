//===- BuildVision.cpp - Images in the place of tokens --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A tower of CLIP's (Radford et al., arXiv 2103.00020) and the projector
/// behind it (LLaVA, arXiv 2304.08485 and 2310.03744). Each image is a sequence
/// of the tower. The host gives a row of zeros before its patches, on which the
/// layer of patches, which has no bias, leaves the place of the class.
///
//===----------------------------------------------------------------------===//

#include "frontends/spec/build/ModelBuilder.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::spec;

int64_t ModelBuilder::pixelsOfSequence() const {
  return imagesOfSequence * towerRows(model.vision()) *
         patchElements(model.vision());
}

void ModelBuilder::declareVision() {
  for (const Parameter &parameter : visionInputParameters(spec))
    declare(parameter, visionPrefix + parameter.name);
  for (int64_t i = 0; i < tower.layers(); ++i)
    for (const Parameter &parameter : layerParameters(spec, visionLayers[i]))
      declare(parameter, visionPrefix + layerName(i, parameter.name));
  for (const Parameter &parameter : visionOutputParameters(spec))
    declare(parameter, visionPrefix + parameter.name);
  for (const Parameter &parameter : projectorParameters(spec))
    declare(parameter, parameter.name);
}

void ModelBuilder::buildVisionLayers() {
  llvm::SaveAndRestore sequences(batch, images());
  llvm::SaveAndRestore length(sequence, towerRows(model.vision()));
  llvm::SaveAndRestore<std::string> prefix(layerPrefix,
                                           layerPrefix + "vision_");
  for (const ResolvedKind &each : visionLayers.kinds()) {
    kind = &each;
    if (each.layers > 0)
      layerFunctions[kind] = buildLayer();
  }
}

/// The rows of all images, with the class and the positions added.
Value ModelBuilder::embedPatches(Value pixels) {
  const Vision &vision = model.vision();
  Location location = at("patch_embedding", "model.vision.patch_size");
  int64_t each = images() / batch;
  Value x = builder.create<xf::ReshapeOp>(
      location, tensor({batch, each, sequence, patchElements(vision)}), pixels);
  x = builder.create<xf::ReshapeOp>(
      location, tensor({images(), sequence, patchElements(vision)}), x);
  x = linear(x, "patch_embedding", vision.hidden());
  Location rows = at("position_embedding", "model.vision.image_size");
  RankedTensorType table = tensor({sequence, vision.hidden()});
  Value first = builder.create<xf::ReshapeOp>(
      rows, tensor({1, vision.hidden()}), parameters["class_embedding.weight"]);
  first = builder.create<xf::PadRowsOp>(rows, table, first);
  Value added = builder.create<xf::AddOp>(
      rows, table, parameters["position_embedding.weight"], first);
  return builder.create<xf::AddOp>(rows, x.getType(), x, added);
}

Value ModelBuilder::buildVision(Value pixels) {
  llvm::SaveAndRestore length(sequence, towerRows(model.vision()));
  llvm::SaveAndRestore of(stackModel, &tower);
  // Of the layers behind there are parameters of the same names.
  llvm::StringMap<Value> others = parameters;
  for (const Parameter &parameter : visionInputParameters(spec)) {
    const std::string name = visionPrefix + parameter.name;
    parameters[parameter.name] = builder.create<xf::ReadOp>(
        at(name, parameter.field), tensor(parameter.shape), name);
  }
  Value x = norm(embedPatches(pixels), "pre_norm");
  Stack stack{visionLayers, visionPrefix, model.layers()};
  for (int64_t i = 0; i < computedLayers(model.vision()); ++i)
    x = callLayer(stack, i, x);
  readVariables(projectorParameters(spec));
  x = linear(x, "projector.up", model.hidden());
  x = activate(x, "projector.activation",
               activationOf(model.vision().projector_activation()),
               "model.vision.projector_activation");
  x = linear(x, "projector.down", model.hidden());
  parameters = std::move(others);
  return x;
}

int64_t ModelBuilder::keptImageRows() const {
  return serving.rows * spec.training().images_per_sequence() *
         placedRows(model.vision());
}

/// Texts that are written have a token in each row, and all of them one place
/// for images.
Value ModelBuilder::placeImages(Value embedded) {
  Location location = at("image_rows", "model.image_token");
  auto type = cast<RankedTensorType>(imageRows.getType());
  RankedTensorType run =
      tensor({type.getDimSize(0), type.getDimSize(1), model.hidden()});
  Value x = embedded;
  if (x.getType() != run)
    x = builder.create<xf::ReshapeOp>(location, run, x);
  x = builder.create<xf::PlaceRowsOp>(location, run, x, imageRows,
                                      imageFeatures);
  return run == embedded.getType()
             ? x
             : builder.create<xf::ReshapeOp>(location, embedded.getType(), x);
}
