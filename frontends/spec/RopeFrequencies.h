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
/// wavelength is long against the original context.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_FRONTENDS_SPEC_ROPEFREQUENCIES_H
#define HOCKET_FRONTENDS_SPEC_ROPEFREQUENCIES_H

#include "frontends/spec/spec.pb.h"

#include <vector>

namespace hocket::spec {

/// theta^(-2i / head_dim) for i in [0, head_dim / 2), scaled as `rope` says:
/// radians a position. `rope` is resolved, `headDim` even.
std::vector<double> inverseFrequencies(const Rope &rope, int64_t headDim);

} // namespace hocket::spec

#endif // HOCKET_FRONTENDS_SPEC_ROPEFREQUENCIES_H
