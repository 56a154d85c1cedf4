//===- Rope.h - Rotary position embedding -----------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Rotary position embedding (Su et al., "RoFormer", 2021) in the rotate-half
/// convention of Hugging Face's Llama: element i of the first half of a head
/// is paired with element i of its second half, and the pair is turned by
/// angle s * frequency[i] at position s:
///   y[i]       = x[i] cos - x[i + r/2] sin
///   y[i + r/2] = x[i + r/2] cos + x[i] sin
/// where r of a head's d elements are turned, the first ones (GPT-NeoX, arXiv
/// 2204.06745, section 2.1.1); the others stay as they are. The gradient turns
/// the other way (`inverse`).
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_REFERENCE_ROPE_H
#define HOCKET_KERNELS_REFERENCE_ROPE_H

#include "kernels/reference/Element.h"
#include "kernels/reference/Positions.h"

namespace hocket::kernels {

struct RopeTableArguments {
  int64_t sequence = 0, headDim = 0;   ///< headDim is even
  const double *frequencies = nullptr; ///< [headDim / 2], radians per position
  View table;                          ///< [sequence, headDim / 2, (cos, sin)]
  /// Row r has the position that is stored at first + r of `whole` in parts of
  /// `part`, dealt out in `rounds` (Positions.h).
  int64_t first = 0, part = 0, rounds = 1, whole = 0;
  const int32_t *positions = nullptr; ///< [sequence]; not null: the rows'
};

/// The position of row `row`.
[[gnu::always_inline]] inline int64_t
tablePosition(const RopeTableArguments &args, int64_t row) {
  return args.positions ? args.positions[row]
                        : storedPosition(args.first + row, args.part,
                                         args.rounds, args.whole);
}

struct RopeArguments {
  int64_t batch = 0, sequence = 0, heads = 0, headDim = 0;
  int64_t rotated = 0; ///< Of headDim, even.
  bool inverse = false;
  ConstView x;     ///< [batch, sequence, heads, headDim]
  ConstView table; ///< [sequence, rotated / 2, 2]; cpu: f32
  View y;          ///< as x; may be x itself
};

namespace reference {
[[nodiscard]] KernelError ropeTable(const RopeTableArguments &args);
[[nodiscard]] KernelError rope(const RopeArguments &args);
} // namespace reference

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_REFERENCE_ROPE_H
