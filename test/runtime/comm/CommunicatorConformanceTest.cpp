//===- CommunicatorConformanceTest.cpp - What every communicator does -----===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The contract of Communicator.h. An implementation joins by a row in
/// `implementations`: how to run a function as every rank of a group. The
/// expectations are computed from rank and size, so they hold for any size.
///
//===----------------------------------------------------------------------===//

#include "runtime/comm/local/LocalCommunicator.h"

#include <functional>
#include <gtest/gtest.h>
#include <vector>

using namespace hocket;
using namespace hocket::comm;

namespace {
struct Implementation {
  const char *name;
  /// Calls body once as each rank of one group, and waits for all.
  void (*runGroup)(const std::function<void(Communicator &)> &body);
};

void runLocal(const std::function<void(Communicator &)> &body) {
  body(*createLocalCommunicator());
}

const Implementation implementations[] = {{"local", runLocal}};

class CommunicatorConformance : public testing::TestWithParam<Implementation> {
protected:
  void onEveryRank(const std::function<void(Communicator &)> &body) {
    GetParam().runGroup(body);
  }
};

constexpr uint64_t count = 37;

/// Element i that `rank` contributes.
float value(unsigned rank, uint64_t i) {
  return float(rank * 1000 + i % 100) / 4;
}

std::vector<float> contribution(unsigned rank, uint64_t elements) {
  std::vector<float> values(elements);
  for (uint64_t i = 0; i < elements; ++i)
    values[i] = value(rank, i);
  return values;
}
} // namespace

TEST_P(CommunicatorConformance, AllReduce) {
  onEveryRank([](Communicator &group) {
    std::vector<float> from = contribution(group.rank(), count), to(count);
    for (Reduction reduction : {Reduction::Sum, Reduction::Max}) {
      ASSERT_TRUE(
          group.allReduce(from.data(), to.data(), count, DType::F32, reduction)
              .ok());
      for (uint64_t i = 0; i < count; ++i) {
        float expected = 0;
        for (unsigned r = 0; r < group.size(); ++r)
          expected = reduction == Reduction::Sum
                         ? expected + value(r, i)
                         : std::max(expected, value(r, i));
        EXPECT_EQ(to[i], expected);
      }
    }
    // In place.
    ASSERT_TRUE(group
                    .allReduce(from.data(), from.data(), count, DType::F32,
                               Reduction::Max)
                    .ok());
    EXPECT_EQ(from, to);
  });
}

TEST_P(CommunicatorConformance, AllGather) {
  onEveryRank([](Communicator &group) {
    std::vector<float> from = contribution(group.rank(), count);
    std::vector<float> to(count * group.size());
    ASSERT_TRUE(
        group.allGather(from.data(), to.data(), count, DType::F32).ok());
    for (unsigned r = 0; r < group.size(); ++r)
      for (uint64_t i = 0; i < count; ++i)
        EXPECT_EQ(to[r * count + i], value(r, i));
  });
}

TEST_P(CommunicatorConformance, ReduceScatter) {
  onEveryRank([](Communicator &group) {
    std::vector<float> from = contribution(group.rank(), count * group.size());
    std::vector<float> to(count);
    ASSERT_TRUE(group
                    .reduceScatter(from.data(), to.data(), count, DType::F32,
                                   Reduction::Sum)
                    .ok());
    for (uint64_t i = 0; i < count; ++i) {
      float expected = 0;
      for (unsigned r = 0; r < group.size(); ++r)
        expected += value(r, group.rank() * count + i);
      EXPECT_EQ(to[i], expected);
    }
  });
}

TEST_P(CommunicatorConformance, AllToAll) {
  onEveryRank([](Communicator &group) {
    std::vector<float> from = contribution(group.rank(), count * group.size());
    std::vector<float> to(count * group.size());
    ASSERT_TRUE(group.allToAll(from.data(), to.data(), count, DType::F32).ok());
    for (unsigned r = 0; r < group.size(); ++r)
      for (uint64_t i = 0; i < count; ++i)
        EXPECT_EQ(to[r * count + i], value(r, group.rank() * count + i));
  });
}

// Rank r sends p + 1 elements to every peer p, with a gap between the parts.
TEST_P(CommunicatorConformance, AllToAllV) {
  onEveryRank([](Communicator &group) {
    unsigned size = group.size(), me = group.rank();
    std::vector<uint64_t> sent(size), sentAt(size), got(size), gotAt(size);
    for (unsigned p = 0; p < size; ++p) {
      sent[p] = p + 1, sentAt[p] = p * (size + 2);
      got[p] = me + 1, gotAt[p] = p * (size + 3);
    }
    std::vector<float> from = contribution(me, size * (size + 2));
    std::vector<float> to(size * (size + 3), -1);
    ASSERT_TRUE(group
                    .allToAllV(from.data(), {sent, sentAt}, to.data(),
                               {got, gotAt}, DType::F32)
                    .ok());
    for (unsigned p = 0; p < size; ++p) {
      for (uint64_t i = 0; i < got[p]; ++i)
        EXPECT_EQ(to[gotAt[p] + i], value(p, me * (size + 2) + i));
      EXPECT_EQ(to[gotAt[p] + got[p]], -1) << "wrote behind its part";
    }
  });
}

TEST_P(CommunicatorConformance, Broadcast) {
  onEveryRank([](Communicator &group) {
    for (unsigned root = 0; root < group.size(); ++root) {
      std::vector<int32_t> data(count, int32_t(group.rank()));
      ASSERT_TRUE(group.broadcast(data.data(), count, DType::I32, root).ok());
      EXPECT_EQ(data, std::vector<int32_t>(count, int32_t(root)));
    }
  });
}

// A ring: to the next rank, from the previous one, two messages with one tag.
TEST_P(CommunicatorConformance, Exchange) {
  onEveryRank([](Communicator &group) {
    unsigned size = group.size(), me = group.rank();
    std::vector<float> first = contribution(me, count);
    std::vector<float> second = contribution(me + 7, count);
    std::vector<float> gotFirst(count), gotSecond(count);
    unsigned next = (me + 1) % size, previous = (me + size - 1) % size;
    Transfer transfers[] = {
        {false, previous, gotFirst.data(), count, DType::F32, 5},
        {true, next, first.data(), count, DType::F32, 5},
        {true, next, second.data(), count, DType::F32, 5},
        {false, previous, gotSecond.data(), count, DType::F32, 5}};
    ASSERT_TRUE(group.exchange(transfers).ok());
    EXPECT_EQ(gotFirst, contribution(previous, count));
    EXPECT_EQ(gotSecond, contribution(previous + 7, count));
    ASSERT_TRUE(group.barrier().ok());
  });
}

TEST_P(CommunicatorConformance, RefusesBadArguments) {
  onEveryRank([](Communicator &group) {
    float data[4] = {};
    EXPECT_EQ(
        group.allReduce(data, data, 4, DType::F64, Reduction::Sum).message(),
        "all_reduce: elements must be f32, bf16 or i32");
    EXPECT_EQ(group.allGather(nullptr, data, 4, DType::F32).message(),
              "all_gather: a null pointer");
    EXPECT_EQ(group.broadcast(data, 4, DType::F32, group.size()).code(),
              StatusCode::InvalidArgument);
    EXPECT_EQ(
        group.allToAll(data, data, ~uint64_t(0) / 2, DType::F32).message(),
        "all_to_all: too many elements");
    Transfer nobody[] = {{true, group.size(), data, 4, DType::F32, 0}};
    EXPECT_EQ(group.exchange(nobody).code(), StatusCode::InvalidArgument);
    std::vector<uint64_t> none;
    EXPECT_EQ(
        group.allToAllV(data, {none, none}, data, {none, none}, DType::F32)
            .code(),
        StatusCode::InvalidArgument);
  });
}

TEST_P(CommunicatorConformance, NothingIsFine) {
  onEveryRank([](Communicator &group) {
    EXPECT_TRUE(
        group.allReduce(nullptr, nullptr, 0, DType::BF16, Reduction::Sum).ok());
    EXPECT_TRUE(group.exchange({}).ok());
  });
}

INSTANTIATE_TEST_SUITE_P(Implementations, CommunicatorConformance,
                         testing::ValuesIn(implementations),
                         [](const auto &info) { return info.param.name; });

TEST(LocalCommunicator, ASendWithoutAReceiveIsRefused) {
  auto group = createLocalCommunicator();
  float data[2] = {};
  Transfer lonely[] = {{true, 0, data, 2, DType::F32, 3}};
  EXPECT_EQ(group->exchange(lonely).message(), "1 sends have no receive");
  Transfer different[] = {{true, 0, data, 2, DType::F32, 3},
                          {false, 0, data, 1, DType::F32, 3}};
  EXPECT_EQ(group->exchange(different).message(),
            "receive with tag 3: no send of the same size and type");
}
