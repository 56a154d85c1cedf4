//===- JoinOwnTransfers.cpp - What a rank sends itself --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// Where a V turns, two stages of one rank follow each other. What the one sends
// and the other receives becomes one transfer, in the place of the receive:
// NCCL wants both ends of it in one call.
//
//===----------------------------------------------------------------------===//

#include "passes/exec/Instructions.h"
#include "passes/exec/Passes.h"

#include <deque>
#include <map>

namespace hocket::exec {
#define GEN_PASS_DEF_EXECJOINOWNTRANSFERS
#include "passes/exec/Passes.h.inc"
} // namespace hocket::exec

using namespace mlir;
using namespace hocket;
using namespace hocket::exec;

/// What a rank has sent itself, by tag, in order.
using SentBuffers = std::map<int64_t, std::deque<Value>>;

static bool isOwn(TransferOp transfer, int64_t rank) {
  return !transfer.getPeers().empty() && transfer.getPeers().front() == rank;
}

static SentBuffers takeSends(ArrayRef<TransferOp> sends) {
  SentBuffers sent;
  for (TransferOp transfer : sends) {
    for (auto [buffer, tag] :
         llvm::zip(transfer.getBuffers(), transfer.getTags()))
      sent[tag].push_back(buffer);
    transfer.erase();
  }
  return sent;
}

/// Puts what is sent before what is received.
static void addSends(TransferOp receive, SentBuffers &sent) {
  SmallVector<Value> buffers;
  SmallVector<int64_t> tags;
  for (int64_t tag : receive.getTags())
    // Without a sender the certificate finds it.
    if (auto &line = sent[tag]; !line.empty()) {
      buffers.push_back(line.front());
      tags.push_back(tag);
      line.pop_front();
    }
  SmallVector<bool> directions(buffers.size(), true);
  SmallVector<int64_t> peers(buffers.size(), receive.getPeers().front());
  llvm::append_range(buffers, receive.getBuffers());
  llvm::append_range(directions, receive.getSends());
  llvm::append_range(peers, receive.getPeers());
  llvm::append_range(tags, receive.getTags());
  receive.getBuffersMutable().assign(buffers);
  receive.setSends(directions);
  receive.setPeers(peers);
  receive.setTags(tags);
}

namespace {

struct JoinOwnTransfers
    : exec::impl::ExecJoinOwnTransfersBase<JoinOwnTransfers> {
  void runOnOperation() override {
    for (auto role : getOperation().getOps<RoleOp>())
      if (auto rank = role.getPipelineRank())
        join(role, static_cast<int64_t>(*rank));
  }

private:
  void join(RoleOp role, int64_t rank) {
    SmallVector<TransferOp> sends, receives;
    role.walk([&](TransferOp transfer) {
      if (isOwn(transfer, rank))
        (isSend(transfer) ? sends : receives).push_back(transfer);
    });
    SentBuffers sent = takeSends(sends);
    for (TransferOp receive : receives) {
      addSends(receive, sent);
      ++joined;
    }
  }
};

} // namespace
