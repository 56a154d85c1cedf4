//===- BuildModel.cpp - From a spec to the transformer dialect ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/BuildModel.h"

#include "dialects/xf/IR/Xf.h"
#include "frontends/spec/BuildTraining.h"
#include "frontends/spec/Parameters.h"
#include "frontends/spec/RopeFrequencies.h"
#include "frontends/spec/Sizes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::spec;
using llvm::StringMap;

namespace {
/// Random streams of dropout, part of what a trained model is.
enum DropoutStream : int32_t {
  EmbeddingStream = 1,
  AttentionStream = 2,
  AttentionBranchStream = 3,
  MlpBranchStream = 4,
};

class ModelBuilder {
public:
  ModelBuilder(const LoadedSpec &loaded, MLIRContext &context)
      : spec(loaded.spec), model(loaded.spec.model()),
        locations(loaded.locations), builder(&context),
        f32(builder.getF32Type()),
        batch(loaded.spec.training().micro_batch_size() *
              loaded.spec.plan().data_parallel()),
        sequence(loaded.spec.training().sequence_length()) {}

  OwningOpRef<ModuleOp> build();

private:
  //===--- Variables ------------------------------------------------------===//
  void declareVariables();
  void declare(const Parameter &parameter, const std::string &name);

  //===--- The layer function ---------------------------------------------===//
  func::FuncOp buildLayer();
  Value buildBranches(Value input);
  Value buildAttention(Value input);
  Value buildMlp(Value input);
  Value headNorm(Value heads, StringRef name);
  Value rotate(Value heads, StringRef name);

  //===--- The forward function -------------------------------------------===//
  void buildForward(func::FuncOp layer);
  Value embed(Value tokens);
  Value callLayer(func::FuncOp layer, int64_t index, Value input);
  void readVariables(const std::vector<Parameter> &list);
  Value buildLoss(Value input, Value labels);

  //===--- Pieces of both -------------------------------------------------===//
  Value linear(Value input, const std::string &name, int64_t out);
  Value norm(Value input, const std::string &name);
  Value residual(Value input, Value branch, StringRef name);
  Value dropout(Value input, double probability, DropoutStream stream,
                StringRef name);

  RankedTensorType tensor(ArrayRef<int64_t> shape) const {
    return RankedTensorType::get(shape, f32);
  }
  FloatAttr real(double value) { return builder.getF64FloatAttr(value); }
  bool usesInstance() const {
    return model.dropout().attention() > 0 || model.dropout().residual() > 0;
  }

  /// The part `name` of the model, asked for by `field`.
  Location at(StringRef name, std::string_view field) {
    const SourcePlace &place = locations.find(field);
    return NameLoc::get(
        builder.getStringAttr(name),
        FileLineColLoc::get(builder.getContext(), place.file,
                            static_cast<unsigned>(place.line),
                            static_cast<unsigned>(place.column)));
  }

  const Spec &spec;
  const Model &model;
  const FieldLocations &locations;
  OpBuilder builder;
  Type f32;
  int64_t batch, sequence;
  int32_t nextRandomKey = 1;

  // Of the function being built: parameters by name within their scope, and
  // what layers get besides.
  StringMap<Value> parameters;
  Value ropeTable, instance;
};
} // namespace

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

void ModelBuilder::declare(const Parameter &parameter,
                           const std::string &name) {
  xf::InitAttr init;
  switch (parameter.initial) {
  case Parameter::Initial::Zeros:
    init = xf::InitAttr::get(builder.getContext(), "zeros", FloatAttr());
    break;
  case Parameter::Initial::Ones:
    init = xf::InitAttr::get(builder.getContext(), "ones", FloatAttr());
    break;
  case Parameter::Initial::Normal:
    init = xf::InitAttr::get(builder.getContext(), "normal",
                             real(parameter.stddev));
    break;
  }
  builder.create<xf::VariableOp>(
      at(name, parameter.field), name, tensor(parameter.shape),
      xf::VariableKind::Parameter, init, nextRandomKey++, parameter.decay,
      FlatSymbolRefAttr(), StringAttr());
}

void ModelBuilder::declareVariables() {
  for (const Parameter &parameter : inputParameters(spec))
    declare(parameter, parameter.name);
  const std::vector<Parameter> layer = layerParameters(spec);
  for (int64_t i = 0; i < model.layers(); ++i)
    for (const Parameter &parameter : layer)
      declare(parameter, layerName(i, parameter.name));
  for (const Parameter &parameter : outputParameters(spec))
    declare(parameter, parameter.name);
}

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

Value ModelBuilder::linear(Value input, const std::string &name, int64_t out) {
  SmallVector<int64_t> shape(
      cast<RankedTensorType>(input.getType()).getShape());
  shape.back() = out;
  Value weight = parameters.lookup(name + ".weight");
  return builder.create<xf::LinearOp>(at(name, "model.hidden"), tensor(shape),
                                      input, weight,
                                      parameters.lookup(name + ".bias"));
}

Value ModelBuilder::norm(Value input, const std::string &name) {
  xf::NormKind kind =
      model.norm() == Model::RMS_NORM ? xf::NormKind::Rms : xf::NormKind::Layer;
  return builder.create<xf::NormOp>(
      at(name, "model.norm"), input.getType(), input,
      parameters.lookup(name + ".weight"), parameters.lookup(name + ".bias"),
      xf::NormKindAttr::get(builder.getContext(), kind),
      real(model.norm_eps()));
}

Value ModelBuilder::dropout(Value input, double probability,
                            DropoutStream stream, StringRef name) {
  if (probability == 0)
    return input;
  return builder.create<xf::DropoutOp>(
      at(name, "model.dropout"), input.getType(), input, instance,
      real(probability), builder.getI32IntegerAttr(stream));
}

Value ModelBuilder::residual(Value input, Value branch, StringRef name) {
  return builder.create<xf::AddOp>(at(name, "model.hidden"), input.getType(),
                                   input, branch);
}

//===----------------------------------------------------------------------===//
// The layer
//===----------------------------------------------------------------------===//

/// An RMS norm of each head over its own dim.
Value ModelBuilder::headNorm(Value heads, StringRef name) {
  if (!model.qk_norm())
    return heads;
  std::string full = ("attention." + name + "_norm").str();
  return builder.create<xf::NormOp>(
      at(full, "model.qk_norm"), heads.getType(), heads,
      parameters.lookup(full + ".weight"), Value(),
      xf::NormKindAttr::get(builder.getContext(), xf::NormKind::Rms),
      real(model.norm_eps()));
}

Value ModelBuilder::rotate(Value heads, StringRef name) {
  if (!ropeTable)
    return heads;
  return builder.create<xf::RopeOp>(
      at(("attention." + name + "_rope").str(), "model.rope"), heads.getType(),
      heads, ropeTable, UnitAttr());
}

Value ModelBuilder::buildAttention(Value input) {
  auto project = [&](StringRef name, int64_t heads) -> Value {
    std::string full = ("attention." + name).str();
    Value flat = linear(input, full, heads * model.head_dim());
    return builder.create<xf::ReshapeOp>(
        at(full, "model.head_dim"),
        tensor({batch, sequence, heads, model.head_dim()}), flat);
  };
  Value query = rotate(headNorm(project("q", model.heads()), "q"), "q");
  Value key = rotate(headNorm(project("k", model.kv_heads()), "k"), "k");
  Value value = project("v", model.kv_heads());

  // A window that holds the whole sequence is none.
  bool windowed =
      model.has_sliding_window() && model.sliding_window() < sequence;
  double drop = model.dropout().attention();
  auto attention = builder.create<xf::AttentionOp>(
      at("attention", "model.heads"), query.getType(),
      tensor({batch, model.heads(), sequence}), query, key, value,
      drop > 0 ? instance : Value(), builder.getUnitAttr(),
      builder.getI64IntegerAttr(windowed ? model.sliding_window() : 0),
      real(model.attention_scale()), real(drop),
      builder.getI32IntegerAttr(drop > 0 ? AttentionStream : 0));
  Value merged = builder.create<xf::ReshapeOp>(
      at("attention", "model.heads"),
      tensor({batch, sequence, model.heads() * model.head_dim()}),
      attention.getResult());
  return linear(merged, "attention.o", model.hidden());
}

Value ModelBuilder::buildMlp(Value input) {
  Location location = at("mlp.activation", "model.activation");
  auto kind = [&](xf::ActivationKind value) {
    return xf::ActivationKindAttr::get(builder.getContext(), value);
  };
  auto gated = [&](xf::ActivationKind value) -> Value {
    Value gate = linear(input, "mlp.gate", model.ffn());
    Value up = linear(input, "mlp.up", model.ffn());
    return builder.create<xf::GatedOp>(location, up.getType(), gate, up,
                                       kind(value));
  };
  auto plain = [&](xf::ActivationKind value) -> Value {
    Value up = linear(input, "mlp.up", model.ffn());
    return builder.create<xf::ActivationOp>(location, up.getType(), up,
                                            kind(value));
  };
  Value inner;
  switch (model.activation()) {
  case Model::SWIGLU:
    inner = gated(xf::ActivationKind::Silu);
    break;
  case Model::GEGLU:
    inner = gated(xf::ActivationKind::Gelu);
    break;
  case Model::GELU:
    inner = plain(xf::ActivationKind::Gelu);
    break;
  case Model::GELU_TANH:
    inner = plain(xf::ActivationKind::GeluTanh);
    break;
  case Model::RELU_SQUARED:
    inner = plain(xf::ActivationKind::ReluSquared);
    break;
  case Model::SILU:
    inner = plain(xf::ActivationKind::Silu);
    break;
  case Model::RELU:
    inner = plain(xf::ActivationKind::Relu);
    break;
  }
  return linear(inner, "mlp.down", model.hidden());
}

/// Pre-norm: x + f(norm(x)). Post-norm: norm(x + f(x)).
Value ModelBuilder::buildBranches(Value input) {
  bool pre = model.norm_position() == Model::PRE;
  double drop = model.dropout().residual();
  Value x = input;
  Value branch = buildAttention(pre ? norm(x, "attention_norm") : x);
  branch = dropout(branch, drop, AttentionBranchStream, "attention.dropout");
  x = residual(x, branch, "attention.residual");
  if (!pre)
    x = norm(x, "attention_norm");
  branch = buildMlp(pre ? norm(x, "mlp_norm") : x);
  branch = dropout(branch, drop, MlpBranchStream, "mlp.dropout");
  x = residual(x, branch, "mlp.residual");
  return pre ? x : norm(x, "mlp_norm");
}

func::FuncOp ModelBuilder::buildLayer() {
  SmallVector<Type> types{tensor({batch, sequence, model.hidden()})};
  SmallVector<Location> places{at("input", "model.hidden")};
  if (usesInstance()) {
    types.push_back(builder.getI32Type());
    places.push_back(at("instance", "model.dropout"));
  }
  bool rotary = model.position() == Model::ROTARY;
  if (rotary) {
    types.push_back(tensor({sequence, model.head_dim() / 2, 2}));
    places.push_back(at("rope_table", "model.rope"));
  }
  const std::vector<Parameter> list = layerParameters(spec);
  for (const Parameter &parameter : list) {
    types.push_back(tensor(parameter.shape));
    places.push_back(at(parameter.name, parameter.field));
  }

  Location location = at("layer", "model.layers");
  auto layer = builder.create<func::FuncOp>(
      location, "layer", builder.getFunctionType(types, types.front()));
  layer.setPrivate();
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&layer.getBody(), {}, types, places);
  unsigned next = 1;
  instance = usesInstance() ? body->getArgument(next++) : Value();
  ropeTable = rotary ? body->getArgument(next++) : Value();
  parameters.clear();
  for (const Parameter &parameter : list)
    parameters[parameter.name] = body->getArgument(next++);
  Value result = buildBranches(body->getArgument(0));
  builder.create<func::ReturnOp>(location, result);
  instance = ropeTable = Value();
  return layer;
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

Value ModelBuilder::embed(Value tokens) {
  RankedTensorType type = tensor({batch, sequence, model.hidden()});
  Value x =
      builder.create<xf::EmbeddingOp>(at("embedding", "model.vocab_size"), type,
                                      tokens, parameters["embedding.weight"]);
  if (model.position() == Model::LEARNED) {
    Location location = at("position_embedding", "model.max_positions");
    Value positions = parameters["position_embedding.weight"];
    if (sequence < model.max_positions())
      positions = builder.create<xf::PrefixOp>(
          location, tensor({sequence, model.hidden()}), positions);
    x = builder.create<xf::AddOp>(location, type, x, positions);
  }
  return dropout(x, model.dropout().embedding(), EmbeddingStream,
                 "embedding.dropout");
}

Value ModelBuilder::callLayer(func::FuncOp layer, int64_t index, Value input) {
  Location location = at(layerName(index, "layer"), "model.layers");
  SmallVector<Value> operands{input};
  if (usesInstance())
    operands.push_back(builder.create<arith::ConstantOp>(
        location, builder.getI32IntegerAttr(static_cast<int32_t>(index))));
  if (ropeTable)
    operands.push_back(ropeTable);
  for (const Parameter &parameter : layerParameters(spec)) {
    std::string name = layerName(index, parameter.name);
    operands.push_back(builder.create<xf::ReadOp>(
        at(name, parameter.field), tensor(parameter.shape), name));
  }
  return builder.create<func::CallOp>(location, layer, operands).getResult(0);
}

Value ModelBuilder::buildLoss(Value input, Value labels) {
  Value x = norm(input, "final_norm");
  Value head = parameters.lookup("head.weight");
  if (!head)
    head = parameters["embedding.weight"];
  int64_t rows = cast<RankedTensorType>(head.getType()).getDimSize(0);
  Value logits = builder.create<xf::LinearOp>(at("head", "model.vocab_size"),
                                              tensor({batch, sequence, rows}),
                                              x, head, Value());
  auto loss = builder.create<xf::CrossEntropyOp>(
      at("loss", "model.vocab_size"), tensor({}), tensor({batch, sequence}),
      logits, labels, builder.getI64IntegerAttr(model.vocab_size()));
  return loss.getLoss();
}

void ModelBuilder::buildForward(func::FuncOp layer) {
  Location location = at("forward", "model");
  auto ids = RankedTensorType::get({batch, sequence}, builder.getI32Type());
  auto forward = builder.create<func::FuncOp>(
      location, "forward", builder.getFunctionType({ids, ids}, {tensor({})}));
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&forward.getBody(), {}, {ids, ids},
                                    {at("tokens", "training.sequence_length"),
                                     at("labels", "training.sequence_length")});
  parameters.clear();
  readVariables(inputParameters(spec));
  Value x = embed(body->getArgument(0));
  if (model.position() == Model::ROTARY)
    ropeTable = builder.create<xf::RopeTableOp>(
        at("rope_table", "model.rope"),
        tensor({sequence, model.head_dim() / 2, 2}),
        builder.getDenseF64ArrayAttr(
            inverseFrequencies(model.rope(), model.head_dim())));
  for (int64_t i = 0; i < model.layers(); ++i)
    x = callLayer(layer, i, x);
  readVariables(outputParameters(spec));
  Value loss = buildLoss(x, body->getArgument(1));
  builder.create<func::ReturnOp>(location, loss);
}

OwningOpRef<ModuleOp> ModelBuilder::build() {
  auto module = ModuleOp::create(at(spec.name(), "name"), spec.name());
  OwningOpRef<ModuleOp> owner(module);
  builder.setInsertionPointToStart(module.getBody());
  buildTraining(spec, builder, at("training", "training"));
  declareVariables();
  buildForward(buildLayer());
  if (failed(verify(module)))
    return nullptr;
  return owner;
}

OwningOpRef<ModuleOp> spec::buildModel(const LoadedSpec &loaded,
                                       MLIRContext &context) {
  context.loadDialect<xf::XfDialect, func::FuncDialect, arith::ArithDialect>();
  return ModelBuilder(loaded, context).build();
}
