//===- BuildModel.cpp - From a spec to the transformer dialect ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/build/BuildModel.h"

#include "dialects/plan/IR/Plan.h"
#include "dialects/xf/IR/HostInputs.h"
#include "dialects/xf/IR/Stream.h"
#include "frontends/spec/build/BuildTraining.h"
#include "frontends/spec/build/ModelBuilder.h"
#include "frontends/spec/model/PlanMessage.h"
#include "frontends/spec/model/RopeFrequencies.h"
#include "frontends/spec/model/Sizes.h"
#include "frontends/spec/model/Vision.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Verifier.h"

#include <vector>

using namespace mlir;
using namespace hocket;
using namespace hocket::spec;

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

Value ModelBuilder::linear(Value input, const std::string &name, int64_t out) {
  SmallVector<int64_t> shape(
      cast<RankedTensorType>(input.getType()).getShape());
  shape.back() = out;
  Value weight = parameters.lookup(name + ".weight");
  return builder.create<xf::LinearOp>(
      at(name, "model.hidden"), tensor(shape), input, weight,
      parameters.lookup(name + ".bias"),
      /*scales=*/ValueRange(), xf::Fp8RecipeAttr());
}

Value ModelBuilder::norm(Value input, const std::string &name,
                         xf::NormKind kind, std::string_view field) {
  return builder.create<xf::NormOp>(
      at(name, field), input.getType(), input,
      parameters.lookup(name + ".weight"), parameters.lookup(name + ".bias"),
      xf::NormKindAttr::get(builder.getContext(), kind),
      real(part().norm_eps()),
      part().norm_zero_centered() ? builder.getUnitAttr() : UnitAttr());
}

Value ModelBuilder::norm(Value input, const std::string &name) {
  return norm(input, name,
              part().norm() == Model::RMS_NORM ? xf::NormKind::Rms
                                               : xf::NormKind::Layer,
              "model.norm");
}

Value ModelBuilder::scaled(Value input, double factor, StringRef name,
                           std::string_view field, int64_t perSequences) {
  if (factor == 1 && perSequences == 0)
    return input;
  Location location = at(name, field);
  Value constant =
      builder.create<xf::ConstantOp>(location, tensor({}), real(factor),
                                     builder.getI64IntegerAttr(perSequences));
  return builder.create<xf::MultiplyOp>(location, input.getType(), input,
                                        constant);
}

Value ModelBuilder::dropout(Value input, double probability,
                            DropoutStream stream, StringRef name) {
  if (probability == 0 || serving.isOn)
    return input;
  return builder.create<xf::DropoutOp>(at(name, "model.dropout"), input,
                                       instance, real(probability),
                                       builder.getI32IntegerAttr(stream));
}

Value ModelBuilder::residual(Value input, Value branch, StringRef name) {
  return builder.create<xf::AddOp>(at(name, "model.hidden"), input.getType(),
                                   input, branch);
}

//===----------------------------------------------------------------------===//
// The layer
//===----------------------------------------------------------------------===//

/// An RMS norm of `input`, if it is of the shape that is normalised.
Value ModelBuilder::qkNorm(Value input, StringRef name,
                           Model::QkNormScope scope) {
  if (!own().qk_norm() || own().qk_norm_scope() != scope || name == "v")
    return input;
  return norm(input, ("attention." + name + "_norm").str(), xf::NormKind::Rms,
              "model.qk_norm");
}

Value ModelBuilder::rotate(Value heads, StringRef name) {
  if (!ropeTable)
    return heads;
  return builder.create<xf::RopeOp>(
      at(("attention." + name + "_rope").str(), "model.rope"), heads.getType(),
      heads, ropeTable, UnitAttr());
}

Value ModelBuilder::projectHeads(Value input, const std::string &name,
                                 int64_t positions, int64_t heads) {
  StringRef part = StringRef(name).rsplit('.').second;
  Value flat = linear(input, name, heads * own().head_dim());
  flat = qkNorm(flat, part, Model::ALL_HEADS);
  Value split = builder.create<xf::ReshapeOp>(
      at(name, "model.head_dim"),
      tensor({batch, positions, heads, own().head_dim()}), flat);
  return qkNorm(split, part, Model::HEAD);
}

Value ModelBuilder::mergeHeads(Value heads, const std::string &name) {
  Value merged = builder.create<xf::ReshapeOp>(
      at(name, "model.heads"),
      tensor({batch, sequence, own().heads() * own().head_dim()}), heads);
  return linear(merged, name + ".o", own().hidden());
}

Value ModelBuilder::buildAttentionBranch(Value input) {
  if (own().has_latent_attention())
    return buildLatentAttentionBranch(input);
  auto project = [&](const char *name, int64_t heads) {
    return projectHeads(input, std::string("attention.") + name, sequence,
                        heads);
  };
  Value query = rotate(project("q", own().heads()), "q");
  Value key = rotate(project("k", own().kv_heads()), "k");
  Value value = project("v", own().kv_heads());

  return mergeHeads(keepsCaches() ? buildCachedAttention(query, key, value)
                                  : buildAttention(query, key, value),
                    "attention");
}

double ModelBuilder::scoreScale() const {
  return own().attention_scale() *
         (kind->isRotary() ? ropeScoreFactor(own().rope()) : 1);
}

UnitAttr ModelBuilder::alibi() {
  return own().position() == Model::ALIBI ? builder.getUnitAttr() : UnitAttr();
}

Value ModelBuilder::buildAttention(Value query, Value key, Value value) {
  AttentionForm form;
  form.causal = own().attention_mask() == Model::CAUSAL;
  // A window that holds the whole sequence is none.
  form.window = kind->window() < sequence ? kind->window() : 0;
  form.positions = isOfTower()         ? Value()
                   : takesKeyCounts()  ? keyCounts
                   : resetsAttention() ? positions
                                       : Value();
  form.bias = relativeBias;
  return createAttention(query, key, value, form);
}

Value ModelBuilder::createAttention(Value query, Value key, Value value,
                                    const AttentionForm &form) {
  double drop =
      serving.isOn ? 0 : form.dropout.value_or(own().dropout().attention());
  auto queries = cast<RankedTensorType>(query.getType());
  return builder
      .create<xf::AttentionOp>(
          at(form.name, "model.heads"), query.getType(),
          tensor({queries.getDimSize(0), own().heads(), queries.getDimSize(1)}),
          query, key, value, form.positions, form.bias,
          drop > 0 ? instance : Value(), ValueRange(),
          form.causal ? builder.getUnitAttr() : UnitAttr(),
          builder.getI64IntegerAttr(form.window), real(scoreScale()),
          real(own().attention_softcap()), alibi(), real(drop),
          builder.getI32IntegerAttr(drop > 0 ? form.stream : 0),
          builder.getI64IntegerAttr(0), builder.getI64IntegerAttr(1),
          DenseI64ArrayAttr(), builder.getI64IntegerAttr(0))
      .getResult();
}

xf::ActivationKind hocket::spec::activationOf(Model::Activation activation) {
  switch (activation) {
  case Model::SWIGLU:
  case Model::SILU:
    return xf::ActivationKind::Silu;
  case Model::GEGLU:
  case Model::GELU:
    return xf::ActivationKind::Gelu;
  case Model::GEGLU_TANH:
  case Model::GELU_TANH:
    return xf::ActivationKind::GeluTanh;
  case Model::QUICK_GELU:
    return xf::ActivationKind::QuickGelu;
  case Model::RELU_SQUARED:
    return xf::ActivationKind::ReluSquared;
  case Model::RELU:
    return xf::ActivationKind::Relu;
  }
}

Value ModelBuilder::activate(Value input, StringRef name,
                             xf::ActivationKind kind, std::string_view field) {
  return builder.create<xf::ActivationOp>(
      at(name, field), input.getType(), input,
      xf::ActivationKindAttr::get(builder.getContext(), kind));
}

Value ModelBuilder::buildMlp(Value input, LinearFn linear) {
  xf::ActivationKind activation = activationOf(own().activation());
  auto down = [&](Value activated) { // S99: there is none within experts.
    return linear(dropout(activated, own().dropout().mlp(), MlpStream,
                          "mlp.activation.dropout"),
                  "down");
  };
  if (!isGated(own().activation()))
    return down(activate(linear(input, "up"), "mlp.activation", activation,
                         "model.activation"));
  Location location = at("mlp.activation", "model.activation");
  auto kind = xf::ActivationKindAttr::get(builder.getContext(), activation);
  Value gate = linear(input, "gate");
  Value up = linear(input, "up");
  return down(
      builder.create<xf::GatedOp>(location, up.getType(), gate, up, kind));
}

Value ModelBuilder::buildDenseMlp(Value input) {
  return buildMlp(input, [&](Value x, StringRef name) {
    int64_t out = name == "down" ? own().hidden() : own().ffn();
    return linear(x, ("mlp." + name).str(), out);
  });
}

/// The arguments of a layer that writes.
void ModelBuilder::takeCache(
    llvm::function_ref<void(Type, StringRef, std::string_view)> take,
    ArrayRef<LayerCache> caches) {
  auto ids = RankedTensorType::get({batch, 1}, builder.getI32Type());
  take(ids, "positions", "training.sequence_length");
  take(ids, "rows", "training.sequence_length");
  take(RankedTensorType::get({serving.rows, serving.tablePages},
                             builder.getI32Type()),
       "table", "training.sequence_length");
  for (const LayerCache &cache : caches)
    take(cache.type, cache.name, cache.field);
}

func::FuncOp ModelBuilder::buildLayer() {
  SmallVector<Type> types{tensor({batch, sequence, own().hidden()})};
  SmallVector<Location> places{at("input", "model.hidden")};
  auto take = [&](Type type, StringRef name, std::string_view field) {
    types.push_back(type);
    places.push_back(at(name, field));
  };
  bool rotary = kind->isRotary();
  bool biased = kind->hasExperts() && balances();
  if (usesInstance(own()))
    take(builder.getI32Type(), "instance", "model.dropout");
  SmallVector<int64_t> angles{
      sequence, rotatedDim(own().rope(), ropeHeadDim(own())) / 2, 2};
  if (takesPositions())
    angles.insert(angles.begin(), batch);
  if (rotary)
    take(tensor(angles), "rope_table", "model.rope");
  if (biased)
    take(tensor({model.moe().experts()}), "mlp.router.bias", "model.moe");
  bool documents = kind->attention && resetsAttention() && !isOfTower();
  if (documents)
    take(RankedTensorType::get({batch, sequence}, builder.getI32Type()),
         "positions", "training.data.reset_attention_mask");
  bool padded = kind->attention && takesKeyCounts() && !isOfTower();
  if (padded)
    take(RankedTensorType::get({batch, sequence}, builder.getI32Type()),
         "key_counts", "model.attention_mask");
  bool relative = kind->attention && isRelative() && !isOfTower();
  if (relative)
    take(relativeBiasType(), "relative_bias", "model.relative_position");
  bool isDecoder = own().has_encoder() && !serving.isOn;
  if (isDecoder)
    take(tensor({batch, encoderSequence, model.hidden()}), "encoded",
         "model.encoder");
  std::optional<unsigned> retrieved; // The number of the argument.
  if (kind->retrieves) {
    retrieved = types.size();
    take(tensor({batch, neighborLength(), model.hidden()}),
         kind->encodes ? "neighbors" : "encoded", "model.retrieval");
  }
  const SmallVector<LayerCache> crossCaches = crossCachesOf(*kind);
  for (const LayerCache &cache : crossCaches)
    take(cache.type, cache.name, cache.field);
  if (!crossCaches.empty())
    take(RankedTensorType::get({batch, 1}, builder.getI32Type()), "key_counts",
         "model.encoder");
  const SmallVector<LayerCache> caches = cachesOf(*kind);
  if (!caches.empty())
    takeCache(take, caches);
  const std::vector<Parameter> list = layerParameters(spec, *kind);
  for (const Parameter &parameter : list)
    take(tensor(parameter.shape), parameter.name, parameter.field);

  Location location = at("layer", "model.layers");
  auto layer = builder.create<func::FuncOp>(
      location, layerPrefix + kind->function,
      builder.getFunctionType(types, types.front()));
  layer.setPrivate();
  xf::markStream(layer, 0, /*ofSequences=*/isOfTower());
  if (retrieved)
    xf::markStream(layer, *retrieved);
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&layer.getBody(), {}, types, places);
  unsigned next = 1;
  instance = usesInstance(own()) ? body->getArgument(next++) : Value();
  ropeTable = rotary ? body->getArgument(next++) : Value();
  routerBias = biased ? body->getArgument(next++) : Value();
  if (documents)
    positions = body->getArgument(next++);
  if (padded)
    keyCounts = body->getArgument(next++);
  relativeBias = relative ? body->getArgument(next++) : Value();
  encoded = isDecoder ? body->getArgument(next++) : Value();
  if (retrieved)
    (kind->encodes ? neighbors : encoded) = body->getArgument(next++);
  if (!crossCaches.empty())
    for (Value *value : {&serving.crossKeys, &serving.crossValues, &keyCounts})
      *value = body->getArgument(next++);
  if (!caches.empty())
    for (Value *value : {&positions, &serving.places, &serving.table})
      *value = body->getArgument(next++);
  for (const LayerCache &cache : caches)
    serving.caches[cache.name] = body->getArgument(next++);
  parameters.clear();
  for (const Parameter &parameter : list)
    parameters[parameter.name] = body->getArgument(next++);
  SmallVector<Value> results{buildBranches(body->getArgument(0))};
  for (Value extra :
       {routerLoss, expertCounts, sharesEncoded(*kind) ? encoded : Value()})
    if (extra)
      results.push_back(extra);
  for (const LayerCache &cache : caches)
    results.push_back(serving.caches[cache.name]);
  builder.create<func::ReturnOp>(location, results);
  layer.setFunctionType(
      builder.getFunctionType(types, ValueRange(results).getTypes()));
  instance = ropeTable = positions = keyCounts = Value();
  routerBias = routerLoss = expertCounts = relativeBias = Value();
  encoded = neighbors = Value();
  return layer;
}

void ModelBuilder::buildLayers() {
  // What a plan takes from attention, it takes from that of the last layers.
  if (hasVision() && !serving.isOn)
    buildVisionLayers();
  for (const ResolvedKind &each : layers.kinds()) {
    kind = &each;
    if (each.layers > 0)
      layerFunctions[kind] = buildLayer();
  }
  if (hasEncoder() && !serving.isOn)
    buildEncoderLayers();
  kind = nullptr;
}

//===----------------------------------------------------------------------===//
// The forward pass
//===----------------------------------------------------------------------===//

void ModelBuilder::readVariables(const std::vector<Parameter> &list) {
  for (const Parameter &parameter : list)
    parameters[parameter.name] =
        builder.create<xf::ReadOp>(at(parameter.name, parameter.field),
                                   tensor(parameter.shape), parameter.name);
}

/// Rotary positions have no table that ends; what an export says does.
static void warnOfLength(const Model &model, int64_t sequence,
                         Location location) {
  if (model.position() != Model::ROTARY || sequence <= model.max_positions())
    return;
  emitWarning(location)
      << "training.sequence_length is " << sequence
      << ", longer than model.max_positions (" << model.max_positions()
      << "); rotary positions go on beyond that, but an export tells other "
         "tools that the model ends there: write model.max_positions: "
      << sequence;
}

Value ModelBuilder::embed(Value tokens, DropoutStream stream) {
  if (!serving.isOn)
    warnOfLength(model, sequence, at("embedding", "training.sequence_length"));
  RankedTensorType type = tensor({batch, sequence, model.hidden()});
  Value x =
      builder.create<xf::EmbeddingOp>(at("embedding", "model.vocab_size"), type,
                                      tokens, parameters["embedding.weight"],
                                      /*first_row=*/Value());
  x = scaled(x, model.embedding_scale(), "embedding.scale",
             "model.embedding_scale");
  if (imageFeatures)
    x = placeImages(x);
  if (model.position() == Model::LEARNED)
    x = builder.create<xf::AddOp>(
        at("position_embedding", "model.max_positions"), type, x,
        learnedPositions(type));
  if (model.token_types() > 0) {
    Location location = at("token_type_embedding", "model.token_types");
    Value added = builder.create<xf::EmbeddingOp>(
        location, type, tokenTypes, parameters["token_type_embedding.weight"],
        /*first_row=*/Value());
    x = builder.create<xf::AddOp>(location, type, x, added);
  }
  if (model.embedding_norm())
    x = norm(x, "embedding_norm");
  return dropout(x, model.dropout().embedding(), stream, "embedding.dropout");
}

Value ModelBuilder::callLayer(const Stack &stack, int64_t index, Value input) {
  auto nameOf = [&](const std::string &name) {
    return stack.prefix + layerName(index, name);
  };
  Location location = at(nameOf("layer"), "model.layers");
  const ResolvedKind &called = stack.layers[index];
  SmallVector<Value> operands{input};
  bool isTower = &stack.layers == &visionLayers;
  if (usesInstance(called.model))
    operands.push_back(builder.create<arith::ConstantOp>(
        location, builder.getI32IntegerAttr(
                      static_cast<int32_t>(stack.firstInstance + index))));
  if (Value table = ropeTables.lookup(&called))
    operands.push_back(table);
  auto read = [&](const std::string &name, ArrayRef<int64_t> shape,
                  const char *field) {
    operands.push_back(
        builder.create<xf::ReadOp>(at(name, field), tensor(shape), name));
  };
  if (called.hasExperts() && balances())
    read(routerState(index, "bias"), model.moe().experts(), "model.moe");
  if (called.attention && resetsAttention() && !isTower)
    operands.push_back(positions);
  if (called.attention && takesKeyCounts() && !isTower)
    operands.push_back(keyCounts);
  if (called.attention && isRelative() && !isTower)
    operands.push_back(relativeBias);
  if (called.model.has_encoder() && !serving.isOn)
    operands.push_back(encoded);
  if (called.retrieves)
    operands.push_back(called.encodes ? neighbors : encoded);
  const SmallVector<LayerCache> crossCaches = crossCachesOf(called);
  for (const LayerCache &cache : crossCaches)
    read(cacheName(index, cache.name), cache.type.getShape(), cache.field);
  if (!crossCaches.empty())
    operands.push_back(keyCounts);
  const SmallVector<LayerCache> caches = cachesOf(called);
  if (!caches.empty())
    operands.append({positions, serving.places, serving.table});
  for (const LayerCache &cache : caches)
    read(cacheName(index, cache.name), cache.type.getShape(), cache.field);
  for (const Parameter &parameter : layerParameters(spec, called))
    read(nameOf(parameter.name), parameter.shape, parameter.field);
  auto call = builder.create<func::CallOp>(
      location, layerFunctions.lookup(&called), operands);
  if (called.hasExperts())
    collectExpertResults(call, index);
  if (sharesEncoded(called))
    encoded = call.getResult(1);
  for (auto [i, cache] : llvm::enumerate(caches))
    builder.create<xf::WriteOp>(location, call.getResult(1 + i),
                                cacheName(index, cache.name));
  return call.getResult(0);
}

Value ModelBuilder::finalNorm(Value input) {
  if (!hasFinalNorm(model))
    return input;
  return dropout(norm(input, "final_norm"), model.dropout().final_norm(),
                 FinalNormStream, "final_norm.dropout");
}

Value ModelBuilder::buildLogits(Value input) {
  Value x = input;
  if (model.head_transform())
    x = norm(activate(linear(x, "head_transform", model.hidden()),
                      "head_transform.activation",
                      activationOf(model.activation()), "model.activation"),
             "head_norm");
  // Of the head's operand, which is smaller than its result.
  x = scaled(x, model.logit_scale(), "head.scale", "model.logit_scale");
  Value head = parameters.lookup("head.weight");
  if (!head)
    head = parameters["embedding.weight"];
  int64_t rows = cast<RankedTensorType>(head.getType()).getDimSize(0);
  Value logits = builder.create<xf::LinearOp>(
      at("head", "model.vocab_size"), tensor({batch, sequence, rows}), x, head,
      parameters.lookup("head.bias"), ValueRange(), xf::Fp8RecipeAttr());
  if (!model.has_logit_softcap())
    return logits;
  return builder.create<xf::SoftcapOp>(
      at("head.softcap", "model.logit_softcap"), logits.getType(), logits,
      real(model.logit_softcap()));
}

Value ModelBuilder::crossEntropy(Value logits, Value labels, Value count,
                                 int64_t classes, Location location) {
  return builder
      .create<xf::CrossEntropyOp>(location, tensor({}),
                                  tensor({batch, sequence}),
                                  /*picked=*/Type(), logits, labels, count,
                                  builder.getI64IntegerAttr(classes))
      .getLoss();
}

/// Every token goes through the pooler, and only the first of a sequence has a
/// label: so it is where the sequence's other rows are.
Value ModelBuilder::buildSequenceLoss(Value input, const SequenceHead &head,
                                      Value labels, Value count,
                                      Location location) {
  Value pooled =
      activate(linear(input, "pooler", model.hidden()), "pooler.activation",
               xf::ActivationKind::Tanh, head.field);
  if (tellsClasses(model)) // Pretraining has none.
    pooled = dropout(pooled, model.dropout().residual(), SequenceHeadStream,
                     "pooler.dropout");
  Value logits = linear(pooled, head.name, head.outputs);
  int64_t values = head.outputs;
  if (model.has_choices()) {
    values = model.choices();
    logits = builder.create<xf::GatherChoicesOp>(
        at("choices", head.field), tensor({batch, sequence, values}), logits);
  }
  return crossEntropy(logits, labels, count, values, location);
}

/// Of what the model tells: tokens and the order of two texts, or classes.
Value ModelBuilder::buildModelLoss(Value input, Value labels) {
  std::optional<SequenceHead> head = sequenceHeadOf(model);
  if (tellsClasses(model))
    return buildSequenceLoss(input, *head, labels, labelCount,
                             at("loss", head->field));
  Value loss = crossEntropy(buildLogits(input), labels, labelCount,
                            model.vocab_size(), at("loss", "model.vocab_size"));
  if (!head)
    return loss;
  Location location = at("sentence_loss", head->field);
  return builder.create<xf::AddOp>(
      location, loss.getType(), loss,
      buildSequenceLoss(input, *head, sentenceLabels, /*count=*/Value(),
                        location));
}

Value ModelBuilder::buildLoss(Value input, Value labels) {
  Location location = at("loss", "model.vocab_size");
  Value loss = buildModelLoss(finalNorm(input), labels);
  if (!routerLoss)
    return loss;
  // The host sees the loss of the text alone.
  builder.create<xf::OutputOp>(location, loss, "loss");
  return builder.create<xf::AddOp>(location, loss.getType(), loss, routerLoss);
}

/// (tokens, labels, what documents that share a sequence and encoders need) ->
/// loss.
void ModelBuilder::buildForward() {
  Location location = at("forward", "model");
  auto ids = RankedTensorType::get({batch, sequence}, builder.getI32Type());
  SmallVector<Type> types{ids, ids};
  SmallVector<Location> places{at("tokens", "training.sequence_length"),
                               at("labels", "training.sequence_length")};
  SmallVector<xf::HostInput> inputs{xf::HostInput::Tokens,
                                    xf::HostInput::Labels};
  auto take = [&](xf::HostInput input, Type type, std::string_view field) {
    types.push_back(type);
    places.push_back(at(xf::stringifyHostInput(input), field));
    inputs.push_back(input);
  };
  const Training &training = spec.training();
  if (masksLabels())
    take(xf::HostInput::LabelCount, tensor({}),
         tellsClasses(model)        ? "training.classification"
         : training.has_prefix_lm() ? "training.prefix_lm"
         : seesBehind()             ? "training.masked_lm"
         : hasEncoder()             ? "training.span_corruption"
         : hasVision()              ? "model.vision"
                                    : "training.data.eod_mask_loss");
  if (takesPositions() || resetsAttention())
    take(xf::HostInput::Positions, ids,
         takesPositions() ? "training.data.reset_position_ids"
                          : "training.data.reset_attention_mask");
  if (model.token_types() > 0)
    take(xf::HostInput::TokenTypes, ids, "model.token_types");
  if (seesBehind())
    take(xf::HostInput::KeyCounts, ids, "model.attention_mask");
  if (model.sentence_head())
    take(xf::HostInput::SentenceLabels, ids, "model.sentence_head");
  if (hasEncoder())
    take(xf::HostInput::EncoderTokens,
         RankedTensorType::get({batch, encoderSequence}, builder.getI32Type()),
         "model.encoder");
  if (hasVision()) {
    take(xf::HostInput::Pixels, tensor({batch, pixelsOfSequence()}),
         "training.images_per_sequence");
    take(xf::HostInput::ImageRows, ids, "model.image_token");
  }
  if (hasRetrieval())
    take(xf::HostInput::Neighbors,
         RankedTensorType::get({batch, neighborLength()}, builder.getI32Type()),
         "model.retrieval");
  auto forward = builder.create<func::FuncOp>(
      location, "forward", builder.getFunctionType(types, {tensor({})}));
  for (auto [i, input] : llvm::enumerate(inputs))
    xf::setHostInput(forward, i, input);
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&forward.getBody(), {}, types, places);
  labelCount = xf::findHostInput(forward, xf::HostInput::LabelCount);
  positions = xf::findHostInput(forward, xf::HostInput::Positions);
  tokenTypes = xf::findHostInput(forward, xf::HostInput::TokenTypes);
  keyCounts = xf::findHostInput(forward, xf::HostInput::KeyCounts);
  sentenceLabels = xf::findHostInput(forward, xf::HostInput::SentenceLabels);
  parameters.clear();
  readVariables(inputParameters(spec));
  if (hasEncoder())
    encoded =
        buildEncoder(xf::findHostInput(forward, xf::HostInput::EncoderTokens));
  if (hasVision()) {
    imageRows = xf::findHostInput(forward, xf::HostInput::ImageRows);
    imageFeatures =
        buildVision(xf::findHostInput(forward, xf::HostInput::Pixels));
  }
  if (hasRetrieval())
    neighbors =
        embedNeighbors(xf::findHostInput(forward, xf::HostInput::Neighbors));
  Value x = embed(body->getArgument(0));
  buildRopeTables();
  relativeBias = buildRelativeBias(seesBehind());
  for (int64_t i = 0; i < model.layers(); ++i)
    x = callLayer(decoder(), i, x);
  readVariables(outputParameters(spec));
  if (entries.embed)
    builder.create<xf::OutputOp>(at("hidden", "model.hidden"), finalNorm(x),
                                 "hidden");
  Value loss = buildLoss(x, body->getArgument(1));
  builder.create<func::ReturnOp>(location, loss);
  positions = labelCount = Value();
  tokenTypes = keyCounts = sentenceLabels = relativeBias = encoded = Value();
  imageRows = imageFeatures = neighbors = Value();
}

OwningOpRef<ModuleOp> ModelBuilder::build() {
  auto module = ModuleOp::create(at(spec.name(), "name"), spec.name());
  OwningOpRef<ModuleOp> owner(module);
  builder.setInsertionPointToStart(module.getBody());
  plan::setPlan(module, planOf(spec));
  buildTraining(spec, builder, at("training", "training"));
  declareVariables();
  buildLayers();
  buildForward();
  if (entries.generate || !entries.train)
    buildServing();
  if (failed(verify(module)))
    return nullptr;
  return owner;
}

OwningOpRef<ModuleOp> spec::buildModel(const LoadedSpec &loaded,
                                       MLIRContext &context,
                                       const Entries &entries) {
  context.loadDialect<plan::PlanDialect, xf::XfDialect, func::FuncDialect,
                      arith::ArithDialect>();
  return ModelBuilder(loaded, context, entries).build();
}
