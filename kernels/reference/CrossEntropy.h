//===- CrossEntropy.h - Softmax cross-entropy -------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Mean cross-entropy of `tokens` rows of logits. Columns from validVocab on
/// are padding: they count as -infinity and get gradient 0. Rows whose label
/// is -1 are ignored; with no other row the loss and all gradients are 0.
///   lse[t] = log sum_{c < validVocab} exp(logits[t, c])
///   loss   = mean over labels[t] >= 0 of lse[t] - logits[t, labels[t]]
///   dlogits[t, c] = dloss / count * (exp(logits[t, c] - lse[t]) - [c ==
///   label])
///
/// Where devices hold shards of the vocabulary, column c of a shard is column
/// firstColumn + c, and the loss is formed of what each row gives:
///   lse[t, p]  of the p-th of `parts` parts of ceil(vocab / parts) columns
///   picked[t]  logits[t, labels[t]], 0 if that is elsewhere or ignored
///   loss       sum over labels[t] >= 0 of lse[t] - picked[t], over `count`
///
/// Where dloss and count are known, what the rows give and the gradient come
/// of one walk over each row.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_REFERENCE_CROSSENTROPY_H
#define HOCKET_KERNELS_REFERENCE_CROSSENTROPY_H

#include "kernels/reference/Element.h"

namespace hocket::kernels {

struct CrossEntropyForwardArguments {
  int64_t tokens = 0, vocab = 0, validVocab = 0; ///< 0 < validVocab <= vocab
  ConstView logits;                              ///< [tokens, vocab]
  const int32_t *labels = nullptr; ///< [tokens], in [-1, validVocab)
  View loss;                       ///< [1]; cpu: f32
  View lse;                        ///< [tokens]; cpu: f32
};

struct CrossEntropyRowsArguments {
  int64_t tokens = 0, vocab = 0, validVocab = 0, parts = 1;
  int64_t firstColumn = 0;         ///< of the shard
  ConstView logits;                ///< [tokens, vocab]
  const int32_t *labels = nullptr; ///< [tokens], in [-1, validVocab)
  View lse;                        ///< [tokens, parts]; cpu: f32
  View picked;                     ///< [tokens]; cpu: f32
};

struct MeanLossArguments {
  int64_t tokens = 0;
  ConstView lse, picked;           ///< [tokens]
  const int32_t *labels = nullptr; ///< [tokens], in [-1, ..)
  double count = 0;                ///< 0: the loss is 0
  View loss;                       ///< [1]
};

struct CrossEntropyBackwardArguments {
  int64_t tokens = 0, vocab = 0, validVocab = 0;
  ConstView logits;                ///< [tokens, vocab]
  const int32_t *labels = nullptr; ///< [tokens], in [-1, validVocab)
  ConstView lse;                   ///< [tokens]; cpu: f32
  ConstView dloss;                 ///< [1]; cpu: f32
  View dlogits; ///< [tokens, vocab], of logits' type; may be logits itself
  int64_t firstColumn = 0; ///< of the shard
  ConstView count = {};    ///< [1], f32: labels that count; null: those here

  /// Columns that are no padding.
  int64_t validColumns() const {
    int64_t valid = validVocab - firstColumn;
    return valid < 0 ? 0 : valid < vocab ? valid : vocab;
  }
};

struct CrossEntropyJointArguments {
  int64_t tokens = 0, vocab = 0, validVocab = 0;
  ConstView logits;                ///< [tokens, vocab]
  const int32_t *labels = nullptr; ///< [tokens], in [-1, validVocab)
  ConstView dloss, count;          ///< [1]; cpu: f32
  View lse, picked;                ///< [tokens]; cpu: f32
  View dlogits; ///< [tokens, vocab], of logits' type; may be logits itself

  CrossEntropyRowsArguments rows() const {
    return {tokens, vocab, validVocab, 1, 0, logits, labels, lse, picked};
  }
  CrossEntropyBackwardArguments backward() const {
    return {tokens, vocab, validVocab, logits, labels,
            lse,    dloss, dlogits,    0,      count};
  }
};

/// Null, or that a label is outside [-1, validVocab).
[[nodiscard]] KernelError checkLabels(const int32_t *labels, int64_t tokens,
                                      int64_t validVocab);

/// How many labels are not -1.
int64_t countLabels(const int32_t *labels, int64_t tokens);

namespace reference {
[[nodiscard]] KernelError
crossEntropyForward(const CrossEntropyForwardArguments &args);
[[nodiscard]] KernelError
crossEntropyBackward(const CrossEntropyBackwardArguments &args);
[[nodiscard]] KernelError
crossEntropyRows(const CrossEntropyRowsArguments &args);
[[nodiscard]] KernelError
crossEntropyJoint(const CrossEntropyJointArguments &args);
/// Few numbers: the only version.
void meanLoss(const MeanLossArguments &args);
} // namespace reference

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_REFERENCE_CROSSENTROPY_H
