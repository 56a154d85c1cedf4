//===- NormalValues.h - Normally distributed numbers ------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The first values of weights, many at a time. They take nothing but IEEE 754
/// additions, multiplications, divisions and square roots in an order that is
/// written down, no functions of a C library, and no contractions: so the bits
/// are the same on every processor, whatever it computes at once.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TRAIN_VALUES_NORMALVALUES_H
#define HOCKET_RUNTIME_TRAIN_VALUES_NORMALVALUES_H

#include "kernels/reference/Philox.h"

#include <cstdint>
#include <span>

namespace hocket {

/// Element i of a stream, i in [first, first + values.size()), with mean 0 and
/// variance 1: elements 2j and 2j + 1 are a pair by Box and Muller ("A note on
/// the generation of random normal deviates", 1958) from the block j of the
/// stream, of which 64 bits are the radius and 64 the angle. Errors are within
/// a few units of the last place.
void standardNormalValues(const kernels::RandomStream &stream, uint64_t first,
                          std::span<double> values);

} // namespace hocket

#endif // HOCKET_RUNTIME_TRAIN_VALUES_NORMALVALUES_H
