//===- Compare.cpp - What two checkpoints differ in -----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/Compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

using namespace hocket;
using namespace hocket::checkpoint;

static constexpr uint64_t kWindowBytes = uint64_t{4} << 20;

/// Calls `use` with the bytes of each window of a tensor, in order.
static Status forEachWindow(
    const Checkpoint &checkpoint, const TensorSpec &spec,
    const ReadProgress &progress,
    const std::function<Status(const SliceBounds &window,
                               std::span<const uint8_t> bytes)> &use) {
  std::vector<uint8_t> bytes;
  uint64_t each = elementBytes(spec.type);
  for (const SliceBounds &window :
       windowsOf(wholeOf(spec.shape), each, kWindowBytes)) {
    bytes.resize(elementsOf(window) * each);
    HOCKET_RETURN_IF_ERROR(checkpoint.read(spec, window, bytes));
    HOCKET_RETURN_IF_ERROR(use(window, bytes));
    progress(bytes.size());
  }
  return okStatus();
}

/// As toFloats(), but an F64 keeps its bits.
static std::optional<std::vector<double>>
toDoubles(std::span<const uint8_t> bytes, ElementType type) {
  std::vector<double> values;
  if (type == ElementType::F64) {
    values.resize(bytes.size() / sizeof(double));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  auto floats = toFloats(bytes, type);
  if (!floats)
    return std::nullopt;
  values.assign(floats->begin(), floats->end());
  return values;
}

StatusOr<std::optional<TensorStatistics>>
checkpoint::statisticsOf(const Checkpoint &checkpoint, const TensorSpec &spec,
                         const ReadProgress &progress) {
  std::optional<TensorStatistics> result;
  if (!toFloats({}, spec.type))
    return result;
  TensorStatistics all;
  double sum = 0, squares = 0;
  uint64_t finite = 0;
  auto add = [&](const SliceBounds &, std::span<const uint8_t> bytes) {
    std::vector<double> values = *toDoubles(bytes, spec.type);
    for (double value : values) {
      ++all.elements;
      if (!std::isfinite(value)) {
        ++all.notFinite;
        continue;
      }
      all.minimum = finite ? std::min(all.minimum, value) : value;
      all.maximum = finite ? std::max(all.maximum, value) : value;
      sum += value;
      squares += value * value;
      ++finite;
    }
    return okStatus();
  };
  HOCKET_RETURN_IF_ERROR(forEachWindow(checkpoint, spec, progress, add));
  if (finite > 0) {
    all.mean = sum / double(finite);
    all.rms = std::sqrt(squares / double(finite));
  }
  result = all;
  return result;
}

//===----------------------------------------------------------------------===//
// Two of them
//===----------------------------------------------------------------------===//

namespace {
/// Adds up what differs in the windows of one tensor.
class Differences {
public:
  explicit Differences(const TensorSpec &spec) : type(spec.type) {
    result.key = spec.key;
  }

  void add(std::span<const uint8_t> a, std::span<const uint8_t> b) {
    uint64_t each = elementBytes(type);
    result.elements += a.size() / each;
    auto ours = toDoubles(a, type), theirs = toDoubles(b, type);
    if (!ours) {
      for (size_t at = 0; at < a.size(); at += each)
        result.unequal += std::memcmp(&a[at], &b[at], each) != 0;
      return;
    }
    for (size_t i = 0; i < ours->size(); ++i) {
      double x = (*ours)[i], y = (*theirs)[i];
      bool sameBits = std::memcmp(&a[i * each], &b[i * each], each) == 0;
      result.unequal += !sameBits && x != y;
      if (!std::isfinite(x) || !std::isfinite(y))
        continue;
      result.largest = std::max(result.largest, std::abs(x - y));
      squares += x * x;
      gaps += (x - y) * (x - y);
    }
  }

  TensorDifference take() {
    if (gaps > 0)
      result.relative = squares > 0 ? std::sqrt(gaps / squares)
                                    : std::numeric_limits<double>::infinity();
    return result;
  }

private:
  ElementType type;
  TensorDifference result;
  double squares = 0, gaps = 0;
};
} // namespace

static std::string describe(const TensorSpec &spec) {
  return std::string(elementName(spec.type)) + " " + shapeText(spec.shape);
}

using SpecsByKey = std::map<TensorKey, TensorSpec>;

static SpecsByKey specsOf(const Checkpoint &checkpoint, bool slots) {
  SpecsByKey specs;
  for (TensorSpec &spec : checkpoint.tensors())
    if (slots || spec.key.slot.empty())
      specs.emplace(spec.key, std::move(spec));
  return specs;
}

/// Takes out of both what cannot be compared, and says so.
static std::vector<std::string> takeMismatches(SpecsByKey &a, SpecsByKey &b) {
  std::vector<std::string> texts;
  for (const auto &[key, spec] : b)
    if (!a.contains(key))
      texts.push_back(key.text() + ": in the second alone");
  std::erase_if(a, [&](const auto &item) {
    const auto &[key, spec] = item;
    auto other = b.find(key);
    if (other == b.end())
      texts.push_back(key.text() + ": in the first alone");
    else if (describe(other->second) != describe(spec))
      texts.push_back(key.text() + ": " + describe(spec) + " in the first, " +
                      describe(other->second) + " in the second");
    else
      return false;
    return true;
  });
  std::ranges::sort(texts);
  return texts;
}

StatusOr<Comparison> checkpoint::compare(const Checkpoint &a,
                                         const Checkpoint &b, bool slots,
                                         const ReadProgress &progress) {
  SpecsByKey ours = specsOf(a, slots), theirs = specsOf(b, slots);
  Comparison result;
  result.mismatches = takeMismatches(ours, theirs);
  std::vector<uint8_t> other;
  for (const auto &[key, spec] : ours) {
    Differences differences(spec);
    auto add = [&](const SliceBounds &window, std::span<const uint8_t> bytes) {
      other.resize(bytes.size());
      HOCKET_RETURN_IF_ERROR(b.read(spec, window, other));
      differences.add(bytes, other);
      return okStatus();
    };
    HOCKET_RETURN_IF_ERROR(forEachWindow(a, spec, progress, add));
    TensorDifference difference = differences.take();
    if (difference.unequal > 0)
      result.different.push_back(std::move(difference));
    else
      ++result.equal;
  }
  return result;
}
