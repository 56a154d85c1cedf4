//===- Sizes.h - What a model's sizes add up to -----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Sizes that follow from a resolved model, in arithmetic that cannot
/// overflow unnoticed.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_FRONTENDS_SPEC_MODEL_SIZES_H
#define HOCKET_FRONTENDS_SPEC_MODEL_SIZES_H

#include "base/SpanLengths.h"
#include "frontends/spec/spec.pb.h"

#include <cstdint>
#include <optional>

namespace hocket::spec {

/// A number that remembers whether it ever left int64_t's range.
class CheckedSize {
public:
  CheckedSize(int64_t value) : value(value) {}

  CheckedSize operator+(const CheckedSize &other) const;
  CheckedSize operator*(const CheckedSize &other) const;

  /// The number, or nothing if it overflowed on the way.
  std::optional<int64_t> get() const { return value; }

private:
  CheckedSize() = default;
  std::optional<int64_t> value;
};

/// Whether the MLP has a gate: SWIGLU, GEGLU and GEGLU_TANH.
bool isGated(Model::Activation activation);

/// The most tokens of a sequence that one expert takes: capacity_factor *
/// sequence * top_k / experts, rounded up, but no more than there are and at
/// least 1. 0 without a capacity factor. For a resolved spec with experts.
int64_t expertCapacity(const Spec &spec);

/// The tokens of a microbatch that a rank orders by its experts alone.
int64_t tokensOfRank(const Spec &spec);

/// How many rows of experts a rank has room for that shares them out with
/// others and has `tokens` tokens of its own: `expert_capacity_bound` times the
/// even share, rounded up, but no more than the ranks' tokens can choose. For a
/// resolved spec whose plan keeps S35.
int64_t expertRowsBound(const Spec &spec, int64_t tokens);

/// Whether a step may find no room for rows of experts, and is run again then.
bool runsAgain(const Spec &spec);

/// Whether branches have a norm of their own name, before them or, with POST,
/// behind the sum; and whether they have one on their result.
bool hasNormBefore(const Model &model);
bool hasPostNorm(const Model &model);
/// Whether both branches of a layer read the result of attention's norm.
bool hasOneNorm(const Model &model);

/// Whether a norm follows the last layer.
bool hasFinalNorm(const Model &model);

/// What a sequence's first token tells, behind a pooler.
struct SequenceHead {
  const char *name;  ///< Of its last layer's parameters.
  int64_t outputs;   ///< That it has.
  const char *field; ///< Of the model that asks for it.
};
/// The head of the model: of the order of two texts (2 outputs, 1 for swapped
/// ones), or of classes, which is in place of the head of tokens.
std::optional<SequenceHead> sequenceHeadOf(const Model &model);

/// Whether first tokens tell classes of sequences, or which of several choices
/// is right, and no token others.
inline bool tellsClasses(const Model &model) {
  return model.has_classes() || model.has_choices();
}
/// Sequences of a question: one, or as many as it has choices.
inline int64_t sequencesOfQuestion(const Model &model) {
  return model.has_choices() ? model.choices() : 1;
}
/// The values of a label where tellsClasses().
inline int64_t classValues(const Model &model) {
  return model.has_choices() ? model.choices() : model.classes();
}

/// How many numbers have a scale in 8 bits, along what a GEMM sums over; 0
/// where none do, or all of a tensor.
int64_t fp8Block(const Training &training);

/// vocab_size rounded up to a multiple of vocab_padding: the rows stored.
CheckedSize paddedVocabSize(const Model &model);

/// Trained numbers of a resolved model, padded rows included.
CheckedSize parameterCount(const Model &model);

/// The longest sequence of an encoder.
inline constexpr int64_t mostEncoderTokens = 1 << 20;

/// What a sample of corrupted spans is made of, where the encoder's length and
/// the shares are in range.
bool hasSpanLengths(const Training &training);
SpanLengths spanLengthsOf(const Training &training);

/// The encoder of a model as a model of its own: its layers, which see all of
/// their sequence, and nothing beside them.
Model encoderOf(const Model &model);

} // namespace hocket::spec

#endif // HOCKET_FRONTENDS_SPEC_MODEL_SIZES_H
