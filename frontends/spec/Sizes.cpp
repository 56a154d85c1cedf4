//===- Sizes.cpp - What a model's sizes add up to -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/Sizes.h"

using namespace hocket::spec;

CheckedSize CheckedSize::operator+(const CheckedSize &other) const {
  CheckedSize sum;
  int64_t result;
  if (value && other.value &&
      !__builtin_add_overflow(*value, *other.value, &result))
    sum.value = result;
  return sum;
}

CheckedSize CheckedSize::operator*(const CheckedSize &other) const {
  CheckedSize product;
  int64_t result;
  if (value && other.value &&
      !__builtin_mul_overflow(*value, *other.value, &result))
    product.value = result;
  return product;
}

bool hocket::spec::isGated(Model::Activation activation) {
  return activation == Model::SWIGLU || activation == Model::GEGLU;
}

CheckedSize hocket::spec::paddedVocabSize(const Model &model) {
  CheckedSize blocks = (model.vocab_size() - 1) / model.vocab_padding() + 1;
  return blocks * model.vocab_padding();
}

/// A linear layer's weight and, with one, its bias.
static CheckedSize linear(CheckedSize in, CheckedSize out, bool bias) {
  return in * out + (bias ? out : CheckedSize(0));
}

CheckedSize hocket::spec::parameterCount(const Model &model) {
  CheckedSize hidden = model.hidden(), ffn = model.ffn();
  CheckedSize norm = hidden * (model.norm_bias() ? 2 : 1);
  CheckedSize q = CheckedSize(model.heads()) * model.head_dim();
  CheckedSize kv = CheckedSize(model.kv_heads()) * model.head_dim();
  CheckedSize layer = norm * 2 + linear(hidden, q, model.attention_qkv_bias()) +
                      linear(hidden, kv, model.attention_qkv_bias()) * 2 +
                      linear(q, hidden, model.attention_out_bias()) +
                      linear(hidden, ffn, model.mlp_bias()) *
                          (isGated(model.activation()) ? 2 : 1) +
                      linear(ffn, hidden, model.mlp_bias());
  if (model.qk_norm())
    layer = layer + CheckedSize(model.head_dim()) * 2;
  CheckedSize total = layer * model.layers() + norm;
  CheckedSize table = paddedVocabSize(model) * hidden;
  total = total + table * (model.tied_embeddings() ? 1 : 2);
  if (model.position() == Model::LEARNED)
    total = total + hidden * model.max_positions();
  return total;
}
