//===- RelativeBuckets.h - Distances of tokens in buckets -------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// T5's relative positions (Raffel et al., arXiv 1910.10683, section 2.1): the
/// scores of attention have a number added that is learned of each head and of
/// each bucket of distances. Near distances have a bucket each; farther ones
/// share buckets that grow with the logarithm of the distance, up to a greatest
/// one, from which on all are in the last bucket.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_REFERENCE_RELATIVEBUCKETS_H
#define HOCKET_KERNELS_REFERENCE_RELATIVEBUCKETS_H

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace hocket::kernels {

/// The farthest that a distance may count; kernels hold a number for each.
inline constexpr int64_t kMostRelativeDistance = 1024;

struct RelativeBuckets {
  int64_t buckets = 0;
  int64_t maxDistance = 0;     ///< From here on all are in the last bucket.
  bool bothDirections = false; ///< Keys behind a query have half the buckets.

  /// Buckets of one direction, and how many of those have one distance.
  int64_t ofDirection() const { return bothDirections ? buckets / 2 : buckets; }
  int64_t exact() const { return ofDirection() / 2; }

  bool isSound() const {
    return buckets >= (bothDirections ? 4 : 2) &&
           (!bothDirections || buckets % 2 == 0) && maxDistance > exact() &&
           maxDistance <= kMostRelativeDistance;
  }

  /// The bucket of a key `behind` positions behind the query; negative: before
  /// it. In f32, so that no distance is in another bucket than transformers
  /// puts it in, whose weights are learned of those.
  int64_t of(int64_t behind) const {
    int64_t first = bothDirections && behind > 0 ? ofDirection() : 0;
    int64_t distance =
        bothDirections ? std::abs(behind) : -std::min<int64_t>(behind, 0);
    if (distance < exact())
      return first + distance;
    auto over = [](int64_t a, int64_t b) {
      return static_cast<double>(a) / static_cast<double>(b);
    };
    float ratio =
        std::log(static_cast<float>(distance) / static_cast<float>(exact())) /
        static_cast<float>(std::log(over(maxDistance, exact())));
    auto more = static_cast<int64_t>(
        ratio * static_cast<float>(ofDirection() - exact()));
    return first + std::min(exact() + more, ofDirection() - 1);
  }
};

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_REFERENCE_RELATIVEBUCKETS_H
