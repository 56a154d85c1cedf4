//===- NcclConformance.cpp - Emulated GPUs for the suite ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The suite works on host memory and looks at results at once; here they go
/// to the GPU and back around every call.
///
//===----------------------------------------------------------------------===//

#include "test/runtime/comm/NcclRanks.h"

#include "test/runtime/comm/CommunicatorConformance.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::comm;
using Body = std::function<void(Communicator &)>;

namespace {

/// Memory of one call: chunks of the arena, one behind the other.
class Staging {
public:
  Staging(hal::Device &device, uint32_t stream)
      : device(device), stream(stream) {}

  /// Where host memory stands on the device; the same again for the same.
  void *place(const void *host, uint64_t bytes) {
    if (!host)
      return nullptr;
    for (const Chunk &chunk : chunks)
      if (chunk.host == host)
        return at(chunk);
    chunks.push_back({const_cast<void *>(host), {used, bytes}});
    used += (bytes + 255) / 256 * 256;
    EXPECT_TRUE(device.copyFromHost(stream, host, chunks.back().range).ok());
    return at(chunks.back());
  }

  /// Brings everything back, whatever the call has said.
  Status finish(Status status) {
    for (const Chunk &chunk : chunks)
      if (status.ok())
        status = device.copyToHost(stream, chunk.range, chunk.host);
    Status end = device.synchronize(stream);
    return status.ok() ? end : status;
  }

private:
  struct Chunk {
    void *host;
    hal::Range range;
  };
  void *at(const Chunk &chunk) const {
    return static_cast<char *>(device.arenaAddress()) + chunk.range.offset;
  }

  hal::Device &device;
  uint32_t stream;
  uint64_t used = 0;
  std::vector<Chunk> chunks;
};

class StagedCommunicator : public Communicator {
public:
  StagedCommunicator(Communicator &inner, hal::Device &device, uint32_t stream)
      : inner(inner), device(device), stream(stream) {}
  unsigned rank() const override { return inner.rank(); }
  unsigned size() const override { return inner.size(); }
  Status barrier() override { return inner.barrier(); }

protected:
  Status doAllReduce(const void *from, void *to, uint64_t count, DType dtype,
                     Reduction reduction) override {
    Staging staging(device, stream);
    uint64_t bytes = count * size_t(kernels::bytesOf(dtype));
    void *sent = staging.place(from, bytes);
    return staging.finish(inner.allReduce(sent, staging.place(to, bytes), count,
                                          dtype, reduction));
  }
  Status doAllGather(const void *from, void *to, uint64_t count,
                     DType dtype) override {
    Staging staging(device, stream);
    uint64_t bytes = count * size_t(kernels::bytesOf(dtype));
    void *sent = staging.place(from, bytes);
    return staging.finish(
        inner.allGather(sent, staging.place(to, bytes * size()), count, dtype));
  }
  Status doReduceScatter(const void *from, void *to, uint64_t count,
                         DType dtype, Reduction reduction) override {
    Staging staging(device, stream);
    uint64_t bytes = count * size_t(kernels::bytesOf(dtype));
    void *sent = staging.place(from, bytes * size());
    return staging.finish(inner.reduceScatter(sent, staging.place(to, bytes),
                                              count, dtype, reduction));
  }
  Status doAllToAll(const void *from, void *to, uint64_t count,
                    DType dtype) override {
    Staging staging(device, stream);
    uint64_t bytes = count * size() * size_t(kernels::bytesOf(dtype));
    void *sent = staging.place(from, bytes);
    return staging.finish(
        inner.allToAll(sent, staging.place(to, bytes), count, dtype));
  }
  Status doAllToAllV(const void *from, PeerCounts sends, void *to,
                     PeerCounts receives, DType dtype) override {
    Staging staging(device, stream);
    auto bytes = [&](PeerCounts part) {
      uint64_t end = 0;
      for (unsigned peer = 0; peer < size(); ++peer)
        end = std::max(end, part.offsets[peer] + part.counts[peer]);
      return end * size_t(kernels::bytesOf(dtype));
    };
    void *sent = staging.place(from, bytes(sends));
    return staging.finish(inner.allToAllV(
        sent, sends, staging.place(to, bytes(receives)), receives, dtype));
  }
  Status doBroadcast(void *data, uint64_t count, DType dtype,
                     unsigned root) override {
    Staging staging(device, stream);
    void *placed = staging.place(data, count * size_t(kernels::bytesOf(dtype)));
    return staging.finish(inner.broadcast(placed, count, dtype, root));
  }
  Status doExchange(std::span<const Transfer> transfers) override {
    Staging staging(device, stream);
    std::vector<Transfer> placed(transfers.begin(), transfers.end());
    for (Transfer &transfer : placed)
      transfer.data = staging.place(
          transfer.data,
          transfer.count * size_t(kernels::bytesOf(transfer.dtype)));
    return staging.finish(inner.exchange(placed));
  }

private:
  Communicator &inner;
  hal::Device &device;
  uint32_t stream;
};

} // namespace

static void runGpus(unsigned size, bool sockets, const Body &body) {
  test::NcclRanks ranks;
  ranks.size = size;
  ranks.sockets = sockets;
  test::runNcclRanks(ranks, [&](test::NcclRank &rank) {
    StagedCommunicator group(*rank.communicators->find(0, 1), *rank.device, 1);
    body(group);
  });
}

std::vector<test::CommunicatorImplementation>
test::communicatorImplementations() {
  std::vector<CommunicatorImplementation> rows;
  for (unsigned size : {1u, 2u, 3u, 4u})
    rows.push_back({"nccl" + std::to_string(size),
                    [size](const Body &body) { runGpus(size, false, body); }});
  rows.push_back(
      {"ncclBySockets2", [](const Body &body) { runGpus(2, true, body); }});
  return rows;
}
