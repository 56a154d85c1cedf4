//===- BuildServing.cpp - The functions of a model that writes ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/build/ModelBuilder.h"
#include "frontends/spec/model/PlanMessage.h"
#include "frontends/spec/model/RopeFrequencies.h"
#include "frontends/spec/model/Sizes.h"

#include "dialects/plan/ParallelPlan.h"
#include "dialects/xf/IR/HostInputs.h"
#include "dialects/xf/IR/Stream.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::spec;

/// What `encode` keeps, and `prefill` reads.
static const char keptImages[] = "cache.image_rows";

/// Positions of a page: what kernels sum over at a time
/// (kernels/reference/CachedAttention.h).
static constexpr int64_t pagePositions = 64;

/// Tokens of a prompt that a rank takes in at a time, where nobody says.
static constexpr int64_t defaultPrefillTokens = 128;

std::string spec::whyNotServed(const Spec &spec) {
  if (spec.model().attention_mask() == Model::BIDIRECTIONAL)
    return "with attention_mask: BIDIRECTIONAL every token sees those behind "
           "it, so that none can be written after another";
  if (spec.model().attention_mask() == Model::PREFIX)
    return "with attention_mask: PREFIX tokens of a prompt see those behind "
           "them, and caches take prompts in parts";
  if (spec.model().has_retrieval())
    return "nobody retrieves for a text while it is written: layers attend to "
           "neighbours that were found before";
  const plan::ParallelPlan plan = planOf(spec);
  if (!plan.shardings.empty())
    return "plan.shardings chooses for the ops of training alone";
  for (const ResolvedKind &kind : LayerPattern(spec.model()).kinds())
    if (kind.layers > 0 && kind.isRotary() &&
        scalesByLength(kind.model.rope(), spec.training().sequence_length()))
      return "with dynamic rope scaling and a sequence_length beyond "
             "original_max_positions a text that grows would turn the keys "
             "that it has";
  if (plan.cp > 1)
    return "ranks that share sequences (cp) keep no cache";
  if (spec.model().moe().has_capacity_factor())
    return "with moe.capacity_factor experts drop tokens by their sequence";
  if (spec.model().moe().experts() > 0 && plan::tensorGroups(plan) > 1)
    return "experts in other tensor groups (etp) order whole sequences";
  if (spec.training().fp8_format() != Training::NONE &&
      spec.training().fp8_recipe() == Training::TENSORWISE)
    return "scales of fp8_recipe: TENSORWISE are those of a microbatch";
  return "";
}

/// Attention keeps keys and values in pages; a state-space layer has a row of
/// each of its caches for each text: of the inputs of its convolutions, and of
/// its states.
SmallVector<ModelBuilder::LayerCache>
ModelBuilder::cachesOf(const ResolvedKind &of) const {
  using Role = xf::ParameterRole;
  SmallVector<LayerCache> caches;
  if (!keepsCaches())
    return caches;
  if (of.attention) {
    RankedTensorType type =
        tensor({serving.rows * serving.tablePages, pagePositions,
                model.kv_heads(), model.head_dim()});
    caches.push_back({"keys", type, Role::Key, "model.kv_heads"});
    caches.push_back({"values", type, Role::Value, "model.kv_heads"});
  }
  if (!of.stateSpace)
    return caches;
  const StateSpace &space = of.model.state_space();
  int64_t kept = space.conv_width() - 1;
  auto addInputs = [&](StringRef name, int64_t channels, Role role) {
    if (kept > 0)
      caches.push_back({name, tensor({serving.rows, kept, channels}), role,
                        "model.state_space"});
  };
  int64_t maps = space.groups() * space.state_size();
  addInputs("x", space.heads() * space.head_dim(), Role::StateInput);
  addInputs("b", maps, Role::StateGroup);
  addInputs("c", maps, Role::StateGroup);
  caches.push_back({"state",
                    tensor({serving.rows, space.heads(), space.head_dim(),
                            space.state_size()}),
                    Role::StateInput, "model.state_space"});
  return caches;
}

SmallVector<ModelBuilder::LayerCache>
ModelBuilder::crossCachesOf(const ResolvedKind &of) const {
  if (!keepsCaches() || !of.model.has_encoder())
    return {};
  RankedTensorType type = tensor(
      {serving.rows, encoderSequence, model.kv_heads(), model.head_dim()});
  return {{"cross_keys", type, xf::ParameterRole::Key, "model.kv_heads"},
          {"cross_values", type, xf::ParameterRole::Value, "model.kv_heads"}};
}

void ModelBuilder::declareCaches() {
  MLIRContext *context = builder.getContext();
  auto declareCache = [&](const std::string &full, const LayerCache &cache) {
    builder.create<xf::VariableOp>(
        at(full, cache.field), full, cache.type, xf::VariableKind::Cache,
        xf::InitAttr(), 0, false, FlatSymbolRefAttr(), StringAttr(), TypeAttr(),
        xf::ParameterRoleAttr::get(context, cache.role));
  };
  if (hasVision())
    declareCache(keptImages,
                 {keptImages, tensor({1, keptImageRows(), model.hidden()}),
                  xf::ParameterRole::Patches, "model.vision"});
  for (int64_t i = 0; i < model.layers(); ++i) {
    SmallVector<LayerCache> caches = cachesOf(layers[i]);
    llvm::append_range(caches, crossCachesOf(layers[i]));
    for (const LayerCache &cache : caches)
      declareCache(cacheName(i, cache.name), cache);
  }
}

Value ModelBuilder::buildCachedConv(Value input, StringRef part) {
  std::string conv = ("mixer.conv_" + part).str();
  Value &kept = serving.caches[part];
  auto convolved = builder.create<xf::CachedConvOp>(
      at(conv, "model.state_space"), input.getType(), kept.getType(), input,
      parameters.lookup(conv + ".weight"), positions, serving.places,
      parameters.lookup(conv + ".bias"), kept);
  kept = convolved.getNewCache();
  return convolved.getResult();
}

Value ModelBuilder::buildCachedAttention(Value query, Value key, Value value) {
  int64_t window = kind->window() < serving.length ? kind->window() : 0;
  Value &keys = serving.caches["keys"], &values = serving.caches["values"];
  auto attention = builder.create<xf::CachedAttentionOp>(
      at("attention", "model.heads"), query.getType(), keys.getType(),
      values.getType(), query, key, value, positions, serving.places,
      serving.table, keys, values, /*first_head=*/Value(), relativeBias,
      builder.getI64IntegerAttr(window), real(scoreScale()),
      real(own().attention_softcap()), alibi(), builder.getI64IntegerAttr(0));
  keys = attention.getNewKeys();
  values = attention.getNewValues();
  return attention.getResult();
}

/// `name` and its layers, of `tokens` tokens.
void ModelBuilder::buildServingFunction(StringRef name, int64_t tokens) {
  batch = tokens;
  sequence = 1;
  routerLoss = Value(); // that of @forward
  layerPrefix = (name + "_").str();
  buildLayers();

  Location location = at(name, "model");
  auto ids = RankedTensorType::get({tokens, 1}, builder.getI32Type());
  auto table = RankedTensorType::get({serving.rows, serving.tablePages},
                                     builder.getI32Type());
  SmallVector<Type> types{ids, ids, ids, ids, table};
  bool sees = hasVision() && name == "prefill";
  if (hasEncoder())
    types.push_back(ids);
  else if (sees) // In one run, as images are kept for all texts.
    types.push_back(RankedTensorType::get({1, tokens}, builder.getI32Type()));
  auto function = builder.create<func::FuncOp>(
      location, name, builder.getFunctionType(types, {}));
  OpBuilder::InsertionGuard guard(builder);
  const xf::HostInput inputs[] = {xf::HostInput::Tokens,
                                  xf::HostInput::Labels,
                                  xf::HostInput::Positions,
                                  xf::HostInput::Rows,
                                  xf::HostInput::Table,
                                  sees ? xf::HostInput::ImageRows
                                       : xf::HostInput::KeyCounts};
  SmallVector<Location> places;
  for (auto [i, input] : llvm::enumerate(ArrayRef(inputs, types.size()))) {
    places.push_back(
        at(xf::stringifyHostInput(input), "training.sequence_length"));
    xf::setHostInput(function, i, input);
  }
  Block *body = builder.createBlock(&function.getBody(), {}, types, places);
  positions = body->getArgument(2);
  serving.places = body->getArgument(3);
  serving.table = body->getArgument(4);
  keyCounts = hasEncoder() ? body->getArgument(5) : Value();
  parameters.clear();
  readVariables(inputParameters(spec));
  if (sees) {
    imageRows = body->getArgument(5);
    imageFeatures = builder.create<xf::ReadOp>(
        at(keptImages, "model.vision"),
        tensor({1, keptImageRows(), model.hidden()}), keptImages);
  }
  Value x = embed(body->getArgument(0));
  imageRows = imageFeatures = Value();
  buildRopeTables();
  relativeBias = buildRelativeBias(/*bothDirections=*/false);
  for (int64_t i = 0; i < model.layers(); ++i)
    x = callLayer(decoder(), i, x);
  readVariables(outputParameters(spec));
  outputLabels(x, body->getArgument(1));
  builder.create<func::ReturnOp>(location);
  positions = keyCounts = relativeBias = Value();
}

/// Those of the keys and values that a layer attends to of the encoder.
std::vector<Parameter>
ModelBuilder::crossKeyParameters(const ResolvedKind &of) const {
  std::vector<Parameter> list = layerParameters(spec, of);
  llvm::erase_if(list, [](const Parameter &parameter) {
    StringRef name = parameter.name;
    return !name.starts_with("cross_attention.k.") &&
           !name.starts_with("cross_attention.v.");
  });
  return list;
}

/// (what the encoder made, weights) -> keys, values.
func::FuncOp ModelBuilder::buildCrossKeys() {
  SmallVector<Type> types{tensor({batch, encoderSequence, model.hidden()})};
  SmallVector<Location> places{at("encoded", "model.encoder")};
  const std::vector<Parameter> list = crossKeyParameters(*kind);
  for (const Parameter &parameter : list) {
    types.push_back(tensor(parameter.shape));
    places.push_back(at(parameter.name, parameter.field));
  }
  Location location = at("layer", "model.layers");
  auto layer =
      builder.create<func::FuncOp>(location, layerPrefix + kind->function,
                                   builder.getFunctionType(types, {}));
  layer.setPrivate();
  xf::markStream(layer, 0);
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&layer.getBody(), {}, types, places);
  parameters.clear();
  for (auto [i, parameter] : llvm::enumerate(list))
    parameters[parameter.name] = body->getArgument(1 + i);
  SmallVector<Value> results;
  for (const char *linear : {"cross_attention.k", "cross_attention.v"})
    results.push_back(projectHeads(body->getArgument(0), linear,
                                   encoderSequence, model.kv_heads()));
  builder.create<func::ReturnOp>(location, results);
  layer.setFunctionType(
      builder.getFunctionType(types, ValueRange(results).getTypes()));
  return layer;
}

void ModelBuilder::callCrossKeys(int64_t index, Value encoded) {
  const ResolvedKind &called = layers[index];
  SmallVector<Value> operands{encoded};
  for (const Parameter &parameter : crossKeyParameters(called)) {
    const std::string name = layerName(index, parameter.name);
    operands.push_back(builder.create<xf::ReadOp>(
        at(name, parameter.field), tensor(parameter.shape), name));
  }
  Location location = at(layerName(index, "layer"), "model.layers");
  auto call = builder.create<func::CallOp>(
      location, layerFunctions.lookup(&called), operands);
  for (auto [i, cache] : llvm::enumerate(crossCachesOf(called)))
    builder.create<xf::WriteOp>(location, call.getResult(i),
                                cacheName(index, cache.name));
}

/// A layer of the decoder is a call here too, so that stages of a pipeline have
/// the same layers in all functions.
void ModelBuilder::buildEncodingFunction(StringRef name) {
  batch = serving.rows;
  serving.encodes = true;
  layerPrefix = (name + "_").str();
  buildEncoderLayers();
  for (const ResolvedKind &each : layers.kinds()) {
    kind = &each;
    if (each.layers > 0)
      layerFunctions[kind] = buildCrossKeys();
  }
  kind = nullptr;

  Location location = at(name, "model.encoder");
  auto ids =
      RankedTensorType::get({batch, encoderSequence}, builder.getI32Type());
  auto function = builder.create<func::FuncOp>(
      location, name, builder.getFunctionType({ids, ids}, {}));
  OpBuilder::InsertionGuard guard(builder);
  xf::setHostInput(function, 0, xf::HostInput::EncoderTokens);
  xf::setHostInput(function, 1, xf::HostInput::KeyCounts);
  Block *body = builder.createBlock(&function.getBody(), {}, {ids, ids},
                                    {at("encoder_tokens", "model.encoder"),
                                     at("key_counts", "model.encoder")});
  keyCounts = body->getArgument(1);
  parameters.clear();
  readVariables(inputParameters(spec));
  Value made = buildEncoder(body->getArgument(0));
  serving.encodes = false;
  for (int64_t i = 0; i < model.layers(); ++i)
    callCrossKeys(i, made);
  builder.create<func::ReturnOp>(location);
  keyCounts = relativeBias = Value();
}

/// (the numbers of an image, of each row that is kept which of the image's
/// stands there from here on). One image at a time.
void ModelBuilder::buildImageFunction(StringRef name) {
  batch = 1;
  imagesOfSequence = 1;
  serving.encodes = true;
  layerPrefix = (name + "_").str();
  buildVisionLayers();
  kind = nullptr;

  Location location = at(name, "model.vision");
  int64_t kept = keptImageRows();
  RankedTensorType cache = tensor({1, kept, model.hidden()});
  RankedTensorType pixels = tensor({1, pixelsOfSequence()});
  auto rows = RankedTensorType::get({1, kept}, builder.getI32Type());
  auto function = builder.create<func::FuncOp>(
      location, name, builder.getFunctionType({pixels, rows}, {}));
  OpBuilder::InsertionGuard guard(builder);
  xf::setHostInput(function, 0, xf::HostInput::Pixels);
  xf::setHostInput(function, 1, xf::HostInput::ImageRows);
  Block *body = builder.createBlock(
      &function.getBody(), {}, {pixels, rows},
      {at("pixels", "model.vision"), at("image_rows", "model.image_token")});
  parameters.clear();
  Value seen = buildVision(body->getArgument(0));
  Value before = builder.create<xf::ReadOp>(at(keptImages, "model.vision"),
                                            cache, keptImages);
  Value after = builder.create<xf::PlaceRowsOp>(
      at("image_rows", "model.image_token"), cache, before,
      body->getArgument(1), seen);
  builder.create<xf::WriteOp>(at(keptImages, "model.vision"), after,
                              keptImages);
  builder.create<func::ReturnOp>(location);
  serving.encodes = false;
  imagesOfSequence = spec.training().images_per_sequence();
}

/// What evaluation tells of each label (xf-build-evaluate).
void ModelBuilder::outputLabels(Value input, Value labels) {
  Location location = at("loss", "model.vocab_size");
  Value logits = buildLogits(finalNorm(input));
  auto row = tensor({batch, sequence});
  auto loss = builder.create<xf::CrossEntropyOp>(
      location, tensor({}), row, row, logits, labels, /*count=*/Value(),
      builder.getI64IntegerAttr(model.vocab_size()));
  builder.create<xf::OutputOp>(location, logits, "logits");
  builder.create<xf::OutputOp>(location, loss.getLse(), "lse");
  builder.create<xf::OutputOp>(location, loss.getPicked(), "picked");
}

void ModelBuilder::buildServing() {
  FlatSymbolRefAttr functions[2], encode;
  if (entries.generate) {
    int64_t chunk = entries.prefillTokens > 0
                        ? entries.prefillTokens
                        : std::min(defaultPrefillTokens, sequence);
    serving.isOn = true;
    // Of each data rank (xf-size-microbatch).
    serving.rows = spec.training().micro_batch_size();
    serving.length = sequence;
    serving.tablePages = (sequence + pagePositions - 1) / pagePositions;
    declareCaches();
    if (hasVision()) {
      buildImageFunction("encode");
      encode = FlatSymbolRefAttr::get(builder.getContext(), "encode");
    }
    if (hasEncoder())
      buildEncodingFunction("prefill");
    else
      buildServingFunction("prefill", chunk);
    buildServingFunction("decode", serving.rows);
    for (auto [i, name] : {std::pair{0, "prefill"}, {1, "decode"}})
      functions[i] = FlatSymbolRefAttr::get(builder.getContext(), name);
  }
  builder.create<xf::ServeOp>(
      at("serve", "model"), encode, functions[0], functions[1],
      entries.train ? UnitAttr() : builder.getUnitAttr(), FlatSymbolRefAttr(),
      FlatSymbolRefAttr());
}
