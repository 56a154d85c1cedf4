//===- LocalCommunicator.cpp - A group of one rank ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/local/LocalCommunicator.h"

#include "base/Format.h"

#include <cstring>
#include <vector>

using namespace hocket;
using namespace hocket::comm;

static Status copyElements(const void *from, void *to, uint64_t count,
                           DType dtype) {
  if (count > 0 && from != to)
    std::memcpy(to, from, count * uint64_t(kernels::bytesOf(dtype)));
  return okStatus();
}

namespace {
class LocalCommunicator : public Communicator {
public:
  unsigned rank() const override { return 0; }
  unsigned size() const override { return 1; }
  Status barrier() override { return okStatus(); }

protected:
  Status doAllReduce(const void *from, void *to, uint64_t count, DType dtype,
                     Reduction) override {
    return copyElements(from, to, count, dtype);
  }
  Status doAllGather(const void *from, void *to, uint64_t count,
                     DType dtype) override {
    return copyElements(from, to, count, dtype);
  }
  Status doReduceScatter(const void *from, void *to, uint64_t count,
                         DType dtype, Reduction) override {
    return copyElements(from, to, count, dtype);
  }
  Status doAllToAll(const void *from, void *to, uint64_t count,
                    DType dtype) override {
    return copyElements(from, to, count, dtype);
  }
  Status doAllToAllV(const void *from, PeerCounts sends, void *to,
                     PeerCounts receives, DType dtype) override {
    uint64_t bytes = uint64_t(kernels::bytesOf(dtype));
    return copyElements(static_cast<const char *>(from) +
                            sends.offsets[0] * bytes,
                        static_cast<char *>(to) + receives.offsets[0] * bytes,
                        sends.counts[0], dtype);
  }
  Status doBroadcast(void *, uint64_t, DType, unsigned) override {
    return okStatus();
  }
  Status doExchange(std::span<const Transfer> transfers) override;
};
} // namespace

/// Matches every receive with the first unused send of its tag.
Status LocalCommunicator::doExchange(std::span<const Transfer> transfers) {
  std::vector<bool> used(transfers.size());
  size_t sends = 0, matched = 0;
  for (const Transfer &transfer : transfers)
    sends += transfer.send;
  for (const Transfer &receive : transfers) {
    if (receive.send)
      continue;
    size_t at = 0;
    while (at < transfers.size() && (used[at] || !transfers[at].send ||
                                     transfers[at].tag != receive.tag))
      ++at;
    if (at == transfers.size() || transfers[at].count != receive.count ||
        transfers[at].dtype != receive.dtype)
      return invalidArgument(
          formatText("receive with tag %u: no send of the same size and type",
                     receive.tag));
    used[at] = true;
    ++matched;
    HOCKET_RETURN_IF_ERROR(copyElements(transfers[at].data, receive.data,
                                        receive.count, receive.dtype));
  }
  if (matched != sends)
    return invalidArgument(
        formatText("%zu sends have no receive", sends - matched));
  return okStatus();
}

std::unique_ptr<Communicator> comm::createLocalCommunicator() {
  return std::make_unique<LocalCommunicator>();
}
