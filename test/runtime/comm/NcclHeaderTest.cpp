//===- NcclHeaderTest.cpp - Our declarations against NVIDIA's -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compiled where the headers of NCCL and CUDA are: every number that we
/// declare is theirs, and every function has as many parameters, of the same
/// sizes.
///
//===----------------------------------------------------------------------===//

// Ours first, so that their macros do not rename what is declared here.
#include "runtime/comm/nccl/NcclApi.h"

#include <nccl.h>

#include <gtest/gtest.h>

#include <vector>

namespace {

/// Bytes of the result and of each parameter, pointers marked.
template <typename Result, typename... Parameters>
std::vector<size_t> shapeOf(Result (*)(Parameters...)) {
  // NOLINTBEGIN(bugprone-sizeof-expression): of pointers, where they are.
  return {sizeof(Result),
          (sizeof(Parameters) + 100 * std::is_pointer_v<Parameters>)...};
  // NOLINTEND(bugprone-sizeof-expression)
}

#define HOCKET_TEXT_OF(name) #name
#define HOCKET_SAME(name)                                                      \
  static_assert(static_cast<long long>(hocket::comm::nccl::name) ==            \
                static_cast<long long>(::name));

HOCKET_SAME(ncclSuccess)
HOCKET_SAME(ncclInvalidArgument)
HOCKET_SAME(ncclInvalidUsage)
HOCKET_SAME(ncclInProgress)
HOCKET_SAME(ncclUint8)
HOCKET_SAME(ncclInt32)
HOCKET_SAME(ncclFloat16)
HOCKET_SAME(ncclFloat32)
HOCKET_SAME(ncclBfloat16)
HOCKET_SAME(ncclSum)
HOCKET_SAME(ncclMax)

static_assert(sizeof(hocket::comm::nccl::ncclUniqueId) ==
              sizeof(::ncclUniqueId));
using Ours = hocket::comm::nccl::ncclConfig_t;
using Theirs = ::ncclConfig_t;
static_assert(offsetof(Ours, magic) == offsetof(Theirs, magic));
static_assert(offsetof(Ours, version) == offsetof(Theirs, version));
static_assert(offsetof(Ours, blocking) == offsetof(Theirs, blocking));
static_assert(offsetof(Ours, cgaClusterSize) ==
              offsetof(Theirs, cgaClusterSize));
static_assert(offsetof(Ours, minCTAs) == offsetof(Theirs, minCTAs));
static_assert(offsetof(Ours, maxCTAs) == offsetof(Theirs, maxCTAs));
static_assert(offsetof(Ours, netName) == offsetof(Theirs, netName));
static_assert(offsetof(Ours, splitShare) == offsetof(Theirs, splitShare));
static_assert(sizeof(Ours) <= sizeof(Theirs));

TEST(NcclHeader, TheConfigurationBeginsAsTheirs) {
  Theirs theirs = NCCL_CONFIG_INITIALIZER;
  Ours ours;
  EXPECT_EQ(ours.magic, theirs.magic);
  EXPECT_EQ(ours.cgaClusterSize, theirs.cgaClusterSize);
  EXPECT_EQ(ours.minCTAs, theirs.minCTAs);
  EXPECT_EQ(ours.maxCTAs, theirs.maxCTAs);
  EXPECT_EQ(ours.netName, theirs.netName);
  EXPECT_EQ(ours.splitShare, theirs.splitShare);
}

} // namespace

namespace hocket::comm::nccl {
namespace {

TEST(NcclHeader, TheFunctionsAreTheirs) {
#define HOCKET_COMPARE(name, parameters)                                       \
  EXPECT_EQ(shapeOf(static_cast<ncclResult_t(*) parameters>(nullptr)),         \
            shapeOf(static_cast<decltype(&::name)>(nullptr)))                  \
      << HOCKET_TEXT_OF(name);
  HOCKET_NCCL_FUNCTIONS(HOCKET_COMPARE)
  EXPECT_EQ(shapeOf(decltype(NcclApi::ncclCommSplit)(nullptr)),
            shapeOf(static_cast<decltype(&::ncclCommSplit)>(nullptr)));
  EXPECT_EQ(ncclSplitNoColor, NCCL_SPLIT_NOCOLOR);
}

} // namespace
} // namespace hocket::comm::nccl
