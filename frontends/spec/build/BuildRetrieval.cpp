//===- BuildRetrieval.cpp - Attention to neighbours of chunks -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Retro (Borgeaud et al., arXiv 2112.04426), as Megatron-Core trains it. For S
/// tokens of L chunks of m, with k neighbours of r tokens for each chunk:
///
///   encoder    each neighbour sees itself; in the first layer it attends to
///              the chunk it belongs to. There, the sum is of what the norm
///              has made.
///   decoder    token p attends to the k r rows of the neighbours of chunk
///              (p + 1) / m - 1; the first m - 1 tokens to nothing, and get
///              zeros
///
/// All of it is attention within parts of equal length: sequences are split
/// into parts (xf.split_chunks), which queries of the decoder begin m - 1 rows
/// behind the beginning.
///
//===----------------------------------------------------------------------===//

#include "frontends/spec/build/ModelBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/SaveAndRestore.h"

#include <utility>

using namespace mlir;
using namespace hocket;
using namespace hocket::spec;

/// The learned positions of each neighbour, one behind the other.
Value ModelBuilder::neighborPositions() {
  Location location = at("neighbor_positions", "model.max_positions");
  int64_t length = model.retrieval().retrieved_length();
  // Devices share the positions of a sequence, and not these.
  Value each =
      builder.create<xf::PrefixOp>(location, tensor({length, model.hidden()}),
                                   parameters["position_embedding.weight"]);
  Value zeros = builder.create<xf::ConstantOp>(
      location, tensor({sequence / length, length, model.hidden()}), real(0),
      builder.getI64IntegerAttr(0));
  Value all = builder.create<xf::AddOp>(location, zeros.getType(), zeros, each);
  return builder.create<xf::ReshapeOp>(location,
                                       tensor({sequence, model.hidden()}), all);
}

Value ModelBuilder::embedNeighbors(Value tokens) {
  llvm::SaveAndRestore length(sequence, neighborLength());
  RankedTensorType type = tensor({batch, sequence, model.hidden()});
  Value x = builder.create<xf::EmbeddingOp>(
      at("neighbor_embedding", "model.retrieval"), type, tokens,
      parameters["embedding.weight"], /*first_row=*/Value());
  x = scaled(x, model.embedding_scale(), "neighbor_embedding.scale",
             "model.embedding_scale");
  if (model.position() == Model::LEARNED)
    x = builder.create<xf::AddOp>(
        at("neighbor_positions", "model.max_positions"), type, x,
        neighborPositions());
  if (model.embedding_norm())
    x = norm(x, "embedding_norm");
  return dropout(x, model.dropout().embedding(), EncoderEmbeddingStream,
                 "neighbor_embedding.dropout");
}

Value ModelBuilder::chunkedAttention(Value from, Value to,
                                     const ChunkedForm &form) {
  const std::string name = form.attention.name;
  auto project = [&](Value input, const char *part, int64_t heads,
                     int64_t shift) -> Value {
    auto type = cast<RankedTensorType>(input.getType());
    int64_t length = type.getDimSize(1);
    Value all = projectHeads(input, name + part, length, heads);
    return builder.create<xf::SplitChunksOp>(
        at(name + part, "model.retrieval"),
        tensor(
            {batch * form.parts, length / form.parts, heads, own().head_dim()}),
        all, builder.getI64IntegerAttr(shift));
  };
  Value query = project(from, ".q", own().heads(), form.shift);
  Value key = project(to, ".k", own().kv_heads(), 0);
  Value value = project(to, ".v", own().kv_heads(), 0);
  Value result = createAttention(query, key, value, form.attention);
  auto parts = cast<RankedTensorType>(result.getType());
  int64_t rows = parts.getDimSize(1), length = rows * form.parts;
  int64_t width = own().heads() * own().head_dim();
  auto join = [&](Value split, ArrayRef<int64_t> shape) -> Value {
    return builder.create<xf::JoinChunksOp>(
        at(name, "model.retrieval"), tensor(shape), split,
        builder.getI64IntegerAttr(form.shift));
  };
  auto flat = [&](Value heads, ArrayRef<int64_t> shape) -> Value {
    return builder.create<xf::ReshapeOp>(at(name, "model.heads"), tensor(shape),
                                         heads);
  };
  if (form.shift == 0)
    return linear(
        flat(join(result, {batch, length, own().heads(), own().head_dim()}),
             {batch, length, width}),
        name + ".o", own().hidden());
  // Of the rows before the first part there is no bias either.
  return join(linear(flat(result, {batch * form.parts, rows, width}),
                     name + ".o", own().hidden()),
              {batch, length, own().hidden()});
}

Value ModelBuilder::buildRetrieverLayer(Value x, Value chunks) {
  int64_t parts = sequence / model.retrieval().retrieved_length();
  x = addBranch(x, "attention", AttentionBranchStream, [&](Value in) {
    AttentionForm form;
    form.causal = false;
    return chunkedAttention(in, in, {parts, 0, form});
  });
  if (kind->retrieves) {
    AttentionForm form;
    form.name = "cross_attention";
    form.causal = false;
    form.stream = CrossAttentionStream;
    form.dropout = model.dropout().attention(); // As Megatron-Core has it.
    Value normed = norm(x, "cross_attention_norm");
    Value branch = chunkedAttention(
        normed, chunks, {parts / model.retrieval().neighbors(), 0, form});
    x = residual(
        normed,
        scaledBranch(branch, "cross_attention", CrossAttentionBranchStream),
        "cross_attention.residual");
  }
  return addBranch(x, "mlp", MlpBranchStream,
                   [&](Value in) { return buildDenseMlp(in); });
}

Value ModelBuilder::encodeNeighbors(Value input) {
  llvm::SaveAndRestore length(sequence, neighborLength());
  llvm::SaveAndRestore own(kind);
  llvm::SaveAndRestore number(instance);
  llvm::SaveAndRestore<std::string> prefix(partPrefix);
  // Of the decoder's layer there are parameters of the same names.
  llvm::StringMap<Value> decoders = parameters;
  Value x = neighbors;
  for (int64_t i = 0; i < model.retrieval().encoder_layers(); ++i) {
    const ResolvedKind each = retrieverKind(model, i);
    kind = &each;
    partPrefix = retrieverPrefix + layerName(i, "");
    parameters.clear();
    for (const Parameter &parameter : layerParameters(spec, each))
      parameters[parameter.name] = decoders.lookup(partPrefix + parameter.name);
    if (usesInstance(each.model) || usesInstance(model))
      instance = builder.create<arith::ConstantOp>(
          at("instance", "model.dropout"),
          builder.getI32IntegerAttr(static_cast<int32_t>(model.layers() + i)));
    x = buildRetrieverLayer(x, input);
  }
  parameters = std::move(decoders);
  return x;
}

Value ModelBuilder::buildRetrievalBranch(Value input) {
  if (kind->encodes)
    encoded = encodeNeighbors(input);
  AttentionForm form;
  form.name = "cross_attention";
  form.causal = false;
  form.stream = CrossAttentionStream;
  return chunkedAttention(
      input, encoded,
      {chunksOf(spec), model.retrieval().chunk_length() - 1, form});
}
