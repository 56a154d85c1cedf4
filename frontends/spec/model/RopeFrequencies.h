//===- RopeFrequencies.h - Frequencies of the rotary embedding --*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Su et al., "RoFormer" (arXiv 2104.09864), equation 15, with the scalings
/// for longer contexts: position interpolation (arXiv 2306.15595), which
/// divides every frequency, and Llama 3's, which divides only those whose
/// wavelength is long against the original context; YaRN (arXiv 2309.00071);
/// and dynamic NTK scaling, with the formula of transformers.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_FRONTENDS_SPEC_MODEL_ROPEFREQUENCIES_H
#define HOCKET_FRONTENDS_SPEC_MODEL_ROPEFREQUENCIES_H

#include "frontends/spec/spec.pb.h"

#include <vector>

namespace hocket::spec {

/// Elements of a head that may turn: all, or with latent attention its part.
int64_t ropeHeadDim(const Model &model);

/// Elements of a head that turn: `rotary_percent` of them, rounded down.
int64_t rotatedDim(const Rope &rope, int64_t headDim);

/// theta^(-2i / r) for i in [0, r / 2), scaled as `rope` says: radians a
/// position, of the `r` elements that turn, an even number, in sequences of
/// `length` tokens. `rope` is resolved.
std::vector<double> inverseFrequencies(const Rope &rope, int64_t headDim,
                                       int64_t length);

/// Whether frequencies depend on how long sequences of `length` are.
bool scalesByLength(const Rope &rope, int64_t length);

/// What scores are multiplied by besides their scale: YaRN's attention_factor
/// of queries times that of keys.
double ropeScoreFactor(const Rope &rope);

} // namespace hocket::spec

#endif // HOCKET_FRONTENDS_SPEC_MODEL_ROPEFREQUENCIES_H
