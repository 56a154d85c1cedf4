//===- RowsTest.cpp - Ops on rows against the reference -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cpu/CrossEntropy.h"
#include "kernels/cpu/Embedding.h"
#include "kernels/cpu/GlobalNorm.h"
#include "kernels/cpu/Rope.h"
#include "test/kernels/AllWorkers.h"

#include <gtest/gtest.h>

#include <limits>
#include <utility>

namespace hocket::kernels::test {
namespace {

std::vector<int32_t> someIds(int64_t tokens, int64_t vocab) {
  std::vector<int32_t> ids(tokens);
  for (int64_t t = 0; t < tokens; ++t)
    ids[t] = static_cast<int32_t>(randomWord({3, 0, 0}, t) % vocab);
  return ids;
}

TEST(Embedding, CopiesRows) {
  constexpr int64_t tokens = 150, vocab = 37, hidden = 21;
  std::vector<int32_t> ids = someIds(tokens, vocab);
  for (DType from : kTypes)
    for (DType to : kTypes)
      forAllWorkers([&](Workers &workers) {
        Array table = randomArray(from, vocab * hidden, 1);
        Array out(to, tokens * hidden), expected(to, tokens * hidden);
        EmbeddingArguments args{tokens,     vocab,        hidden,
                                ids.data(), table.view(), out.view()};
        EXPECT_EQ(embedding(args, workers), nullptr);
        args.out = expected.view();
        EXPECT_EQ(reference::embedding(args), nullptr);
        EXPECT_TRUE(out.sameBits(expected)) << nameOf(from) << nameOf(to);
        return out;
      });
}

TEST(Embedding, SumsGradientsInOrder) {
  constexpr int64_t tokens = 300, vocab = 97, hidden = 35;
  std::vector<int32_t> ids = someIds(tokens, vocab);
  for (DType dtype : kTypes)
    for (bool accumulate : {false, true})
      forAllWorkers([&](Workers &workers) {
        Array dy = randomArray(dtype, tokens * hidden, 1);
        Array got = randomArray(DType::F32, vocab * hidden, 2);
        Array expected = randomArray(DType::F32, vocab * hidden, 2);
        EmbeddingGradientArguments args{tokens,     vocab,     hidden,
                                        ids.data(), dy.view(), got.view(),
                                        accumulate};
        EXPECT_EQ(embeddingGradient(args, workers), nullptr);
        args.dtable = expected.view();
        EXPECT_EQ(reference::embeddingGradient(args), nullptr);
        EXPECT_TRUE(got.sameBits(expected)) << nameOf(dtype);
        return got;
      });
}

TEST(Embedding, ReportsIdsOutsideTheVocabulary) {
  TestWorkers workers(1);
  Array table(DType::F32, 8), out(DType::F32, 4);
  for (int32_t id : {-1, 4, std::numeric_limits<int32_t>::max()}) {
    EmbeddingArguments args{1, 4, 2, &id, table.view(), out.view()};
    EXPECT_STREQ(embedding(args, workers),
                 "embedding: a token id is outside the vocabulary");
    EmbeddingGradientArguments gradient{1, 4, 2, &id, out.view(), table.view()};
    EXPECT_STREQ(embeddingGradient(gradient, workers),
                 "embedding: a token id is outside the vocabulary");
  }
}

Array makeRopeTable(int64_t sequence, int64_t headDim, DType dtype) {
  std::vector<double> frequencies;
  for (int64_t i = 0; i < headDim / 2; ++i)
    frequencies.push_back(
        std::pow(10000.0, -2.0 * static_cast<double>(i) / headDim));
  Array table(dtype, sequence * headDim);
  RopeTableArguments args{sequence, headDim, frequencies.data(), table.view()};
  TestWorkers workers(2);
  EXPECT_EQ(dtype == DType::F32 ? ropeTable(args, workers)
                                : reference::ropeTable(args),
            nullptr);
  return table;
}

TEST(Rope, TableIsRoundedFromDouble) {
  EXPECT_LT(relativeError(makeRopeTable(1000, 64, DType::F32),
                          makeRopeTable(1000, 64, DType::F64)),
            5e-8);
}

TEST(Rope, TurnsAndTurnsBack) {
  constexpr int64_t batch = 2, sequence = 37, heads = 3;
  for (DType dtype : kTypes)
    for (auto [d, rotated] : {std::pair<int64_t, int64_t>{2, 2},
                              {8, 8},
                              {26, 26},
                              {64, 64},
                              {64, 16},
                              {29, 10}}) {
      Array table = makeRopeTable(sequence, rotated, DType::F32);
      forAllWorkers([&, d = d, rotated = rotated](Workers &workers) {
        int64_t count = batch * sequence * heads * d;
        Array x = randomArray(dtype, count, 1), y(dtype, count);
        Array wide = x.wide(), expected(DType::F64, count);
        RopeArguments args{batch, sequence, heads,        d,       rotated,
                           false, x.view(), table.view(), y.view()};
        EXPECT_EQ(rope(args, workers), nullptr);
        RopeArguments exact = args;
        exact.x = wide.view(), exact.y = expected.view();
        EXPECT_EQ(reference::rope(exact), nullptr);
        EXPECT_LT(relativeError(y, expected), tolerance(dtype));
        args.x = y.view(), args.inverse = true; // in place
        EXPECT_EQ(rope(args, workers), nullptr);
        EXPECT_LT(relativeError(y, wide), 2 * tolerance(dtype));
        return y;
      });
    }
}

/// One cross-entropy, forward and backward.
struct CrossEntropy {
  int64_t tokens, vocab, valid;
  std::vector<int32_t> labels;
  Array logits, loss, lse, dloss, dlogits;

  CrossEntropy(int64_t tokens, int64_t vocab, int64_t valid, DType dtype)
      : tokens(tokens), vocab(vocab), valid(valid),
        labels(someIds(tokens, valid)),
        logits(randomArray(dtype, tokens * vocab, 1, 8)),
        loss(statistic(dtype), 1), lse(statistic(dtype), tokens),
        dloss(statistic(dtype), 1), dlogits(dtype, tokens * vocab) {
    dloss.set(0, 0.75);
    for (size_t t = 2; t < labels.size(); t += 5)
      labels[t] = -1;
  }
  static DType statistic(DType dtype) {
    return dtype == DType::F64 ? DType::F64 : DType::F32;
  }
  CrossEntropyForwardArguments forward() {
    return {tokens,        vocab,       valid,     logits.view(),
            labels.data(), loss.view(), lse.view()};
  }
  CrossEntropyBackwardArguments backward() {
    return {tokens,        vocab,      valid,        logits.view(),
            labels.data(), lse.view(), dloss.view(), dlogits.view()};
  }
};

TEST(CrossEntropy, MatchesTheReference) {
  constexpr int64_t shapes[][3] = {
      {1, 1, 1}, {5, 17, 17}, {7, 100, 93}, {3, 1000, 1000}, {40, 64, 3}};
  for (DType dtype : kTypes)
    for (auto [tokens, vocab, valid] : shapes)
      forAllWorkers([&, t = tokens, v = vocab, n = valid](Workers &workers) {
        CrossEntropy got(t, v, n, dtype), exact(t, v, n, DType::F64);
        exact.logits = got.logits.wide();
        EXPECT_EQ(crossEntropyForward(got.forward(), workers), nullptr);
        EXPECT_EQ(reference::crossEntropyForward(exact.forward()), nullptr);
        EXPECT_NEAR(got.loss[0], exact.loss[0], 1e-6 * exact.loss[0] + 1e-6);
        EXPECT_LT(relativeError(got.lse, exact.lse), 1e-6);
        EXPECT_EQ(crossEntropyBackward(got.backward(), workers), nullptr);
        EXPECT_EQ(reference::crossEntropyBackward(exact.backward()), nullptr);
        EXPECT_LT(relativeError(got.dlogits, exact.dlogits), tolerance(dtype));
        // In place.
        CrossEntropyBackwardArguments args = got.backward();
        args.dlogits = got.logits.view();
        EXPECT_EQ(crossEntropyBackward(args, workers), nullptr);
        EXPECT_TRUE(got.logits.sameBits(got.dlogits));
        return std::move(got.dlogits);
      });
}

/// To the bit, in place too.
TEST(CrossEntropy, JointIsRowsAndTheirGradient) {
  constexpr int64_t tokens = 7, vocab = 100, valid = 93;
  for (DType dtype : kTypes)
    forAllWorkers([&](Workers &workers) {
      CrossEntropy each(tokens, vocab, valid, dtype);
      Array count(DType::F32, 1), picked(DType::F32, tokens);
      count.set(0, 4);
      CrossEntropyRowsArguments rows{tokens,
                                     vocab,
                                     valid,
                                     1,
                                     0,
                                     each.logits.view(),
                                     each.labels.data(),
                                     each.lse.view(),
                                     picked.view()};
      EXPECT_EQ(crossEntropyRows(rows, workers), nullptr);
      CrossEntropyBackwardArguments backward = each.backward();
      backward.count = count.view();
      EXPECT_EQ(crossEntropyBackward(backward, workers), nullptr);

      CrossEntropy joint(tokens, vocab, valid, dtype);
      Array hit(DType::F32, tokens);
      EXPECT_EQ(crossEntropyJoint({tokens, vocab, valid, joint.logits.view(),
                                   joint.labels.data(), joint.dloss.view(),
                                   count.view(), joint.lse.view(), hit.view(),
                                   joint.logits.view()},
                                  workers),
                nullptr);
      EXPECT_TRUE(joint.lse.sameBits(each.lse));
      EXPECT_TRUE(hit.sameBits(picked));
      EXPECT_TRUE(joint.logits.sameBits(each.dlogits));
      return std::move(joint.logits);
    });
}

TEST(CrossEntropy, PaddingGetsNoGradient) {
  TestWorkers workers(1);
  CrossEntropy c(4, 50, 41, DType::F32);
  ASSERT_EQ(crossEntropyForward(c.forward(), workers), nullptr);
  ASSERT_EQ(crossEntropyBackward(c.backward(), workers), nullptr);
  for (int64_t i = 0; i < c.dlogits.size(); ++i)
    if (i % 50 >= 41) {
      EXPECT_EQ(c.dlogits[i], 0);
    }
}

TEST(CrossEntropy, NoLabelsGiveZero) {
  TestWorkers workers(1);
  CrossEntropy c(4, 10, 10, DType::F32);
  c.labels.assign(4, -1);
  ASSERT_EQ(crossEntropyForward(c.forward(), workers), nullptr);
  ASSERT_EQ(crossEntropyBackward(c.backward(), workers), nullptr);
  EXPECT_EQ(c.loss[0], 0);
  for (int64_t i = 0; i < c.dlogits.size(); ++i)
    EXPECT_EQ(c.dlogits[i], 0);
}

TEST(CrossEntropy, ReportsLabelsOutsideTheVocabulary) {
  TestWorkers workers(1);
  for (int32_t label : {-2, 9, 10}) {
    CrossEntropy c(4, 10, 9, DType::F32);
    c.labels[3] = label;
    EXPECT_STREQ(crossEntropyForward(c.forward(), workers),
                 "cross_entropy: a label is outside the vocabulary");
    EXPECT_STREQ(crossEntropyBackward(c.backward(), workers),
                 "cross_entropy: a label is outside the vocabulary");
  }
}

TEST(CrossEntropy, ReferenceGradientIsTheDerivative) {
  CrossEntropy c(5, 7, 6, DType::F64);
  ASSERT_EQ(reference::crossEntropyForward(c.forward()), nullptr);
  ASSERT_EQ(reference::crossEntropyBackward(c.backward()), nullptr);
  for (int64_t i = 0; i < c.logits.size(); ++i) {
    double x = c.logits[i], step = 1e-5;
    c.logits.set(i, x + step);
    ASSERT_EQ(reference::crossEntropyForward(c.forward()), nullptr);
    double above = c.loss[0];
    c.logits.set(i, x - step);
    ASSERT_EQ(reference::crossEntropyForward(c.forward()), nullptr);
    EXPECT_NEAR(c.dlogits[i], 0.75 * (above - c.loss[0]) / (2 * step), 1e-8);
    c.logits.set(i, x);
  }
}

TEST(GlobalNorm, SumsAllTensors) {
  forAllWorkers([&](Workers &workers) {
    std::vector<Array> arrays;
    arrays.push_back(randomArray(DType::F32, 300000, 1));
    arrays.push_back(randomArray(DType::BF16, 16385, 2, 1e10));
    arrays.push_back(randomArray(DType::F16, 7, 3));
    arrays.push_back(randomArray(DType::F32, 0, 4));
    std::vector<GlobalNormArguments::Tensor> tensors;
    for (Array &array : arrays)
      tensors.push_back({array.view(), array.size()});
    Array norm(DType::F32, 1), nonfinite(DType::F32, 1), exact(DType::F64, 1);
    GlobalNormArguments args{tensors, norm.view(), nonfinite.view()};
    EXPECT_EQ(globalNorm(args, workers), nullptr);
    EXPECT_EQ(nonfinite[0], 0);
    args.norm = exact.view();
    EXPECT_EQ(reference::globalNorm(args), nullptr);
    EXPECT_LT(relativeError(norm, exact), 1e-7);
    return norm;
  });
}

TEST(GlobalNorm, FindsWhatIsNotFinite) {
  for (DType dtype : kTypes)
    for (double bad : {double(INFINITY), -double(INFINITY), double(NAN)}) {
      TestWorkers workers(2);
      Array values = randomArray(dtype, 100001, 1);
      values.set(99999, bad);
      Array norm(DType::F32, 1), nonfinite(DType::F32, 1);
      GlobalNormArguments::Tensor tensor{values.view(), values.size()};
      GlobalNormArguments args{{&tensor, 1}, norm.view(), nonfinite.view()};
      ASSERT_EQ(globalNorm(args, workers), nullptr);
      EXPECT_EQ(nonfinite[0], 1) << nameOf(dtype) << " " << bad;
    }
}

TEST(GlobalNorm, LargeFiniteNumbersAreFinite) {
  TestWorkers workers(1);
  Array values(DType::F32, 4);
  for (int64_t i = 0; i < 4; ++i)
    values.set(i, 3e38);
  Array norm(DType::F32, 1), nonfinite(DType::F32, 1);
  GlobalNormArguments::Tensor tensor{values.view(), 4};
  GlobalNormArguments args{{&tensor, 1}, norm.view(), nonfinite.view()};
  ASSERT_EQ(globalNorm(args, workers), nullptr);
  EXPECT_EQ(nonfinite[0], 0);
}

TEST(Element, HalvesRoundAsTheyShould) {
  // Every finite f16 and bf16 survives, and midpoints go to even.
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float half = f16ToFloat(uint16_t(bits)),
          brain = bf16ToFloat(uint16_t(bits));
    if (half == half) {
      EXPECT_EQ(floatToF16(half), bits);
    }
    if (brain == brain) {
      EXPECT_EQ(floatToBf16(brain), bits);
    }
  }
  EXPECT_EQ(floatToF16(1 + 0x1p-11f), 0x3c00);
  EXPECT_EQ(floatToF16(1 + 3 * 0x1p-11f), 0x3c02);
  EXPECT_EQ(floatToF16(65519.0f), 0x7bff);
  EXPECT_EQ(floatToF16(65520.0f), 0x7c00);
  EXPECT_EQ(floatToBf16(1 + 0x1p-8f), 0x3f80);
  EXPECT_EQ(floatToBf16(1 + 3 * 0x1p-8f), 0x3f82);
  EXPECT_EQ(floatToBf16(3.4e38f), 0x7f80);
}

/// A code of an 8-bit format by its definition; NaN for all that is not finite.
double decoded(uint32_t code, F8Format format) {
  uint32_t magnitude = code & 0x7f;
  if (magnitude > format.largest)
    return NAN;
  auto fraction = double(magnitude % (1u << format.mantissa));
  int exponent = int(magnitude >> format.mantissa);
  double hidden = exponent ? 1 : 0;
  double value =
      std::ldexp(hidden + std::ldexp(fraction, -int(format.mantissa)),
                 std::max(exponent, 1) - int(format.bias));
  return code & 0x80 ? -value : value;
}

/// The finite code of `value`'s sign that lies nearest to it, of two the even.
uint32_t nearestCode(double value, F8Format format) {
  uint32_t best = 0;
  double size = std::min(std::abs(value), decoded(format.largest, format));
  for (uint32_t code = 1; code <= format.largest; ++code) {
    double error = std::abs(decoded(code, format) - size);
    double least = std::abs(decoded(best, format) - size);
    if (error < least || (error == least && code % 2 == 0))
      best = code;
  }
  return best | (std::signbit(value) ? 0x80 : 0);
}

TEST(Element, EightBitsAreWhatTheyMean) {
  for (uint32_t code = 0; code < 256; ++code) {
    double e4m3 = decoded(code, kE4M3), e5m2 = decoded(code, kE5M2);
    float wide = e4m3ToFloat(uint8_t(code)), other = e5m2ToFloat(uint8_t(code));
    EXPECT_TRUE(wide == e4m3 || (wide != wide && e4m3 != e4m3)) << code;
    bool infinite = (code & 0x7f) == 0x7c;
    EXPECT_TRUE(other == e5m2 || (other != other && !infinite) ||
                (std::isinf(other) && infinite))
        << code;
    EXPECT_EQ(floatToE4m3(wide), wide == wide ? code : 0x7f);
    if (!std::isinf(other)) {
      EXPECT_EQ(floatToE5m2(other), other == other ? code : 0x7f);
    }
  }
  EXPECT_EQ(e4m3ToFloat(0x7e), 448);
  EXPECT_EQ(e5m2ToFloat(0x7b), 57344);
  for (float sign : {1.0f, -1.0f}) {
    uint8_t bit = sign < 0 ? 0x80 : 0;
    EXPECT_EQ(floatToE4m3(sign * 1e9f), bit | 0x7e);
    EXPECT_EQ(floatToE5m2(sign * 1e9f), bit | 0x7b);
    EXPECT_EQ(floatToE4m3(sign * INFINITY), bit | 0x7e);
    EXPECT_EQ(floatToE5m2(sign * INFINITY), bit | 0x7b);
    EXPECT_EQ(floatToE4m3(sign * 0.0f), bit);
  }
  EXPECT_EQ(floatToE4m3(NAN), 0x7f);
  EXPECT_EQ(floatToE5m2(-NAN), 0x7f);
}

TEST(Element, EightBitsRoundToTheNearest) {
  for (F8Format format : {kE4M3, kE5M2}) {
    // Codes, the middle between two, and floats beside both.
    for (uint32_t code = 0; code < format.largest; ++code) {
      float low = float(decoded(code, format));
      float middle = (low + float(decoded(code + 1, format))) / 2;
      for (float at : {low, middle})
        for (float x :
             {std::nextafter(at, -1.0f), at, std::nextafter(at, INFINITY), -at})
          ASSERT_EQ(floatToF8(x, format), nearestCode(x, format)) << x;
    }
    // And any.
    for (uint32_t i = 0; i < 200000; ++i) {
      auto x = std::bit_cast<float>(randomWord({3, 5, 0}, i));
      if (x == x) {
        ASSERT_EQ(floatToF8(x, format), nearestCode(x, format)) << x;
      }
    }
  }
}

} // namespace
} // namespace hocket::kernels::test
