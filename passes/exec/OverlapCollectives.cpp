//===- OverlapCollectives.cpp - Which collectives leave stream 0 ----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// Collectives that something is computed beside get the stream of their first
// mesh axis (streamBeside() in Lifetimes.h says which), and buckets of
// gradients a stream of their own. Streams are numbered in the order of the
// mesh's axes, that of gradients behind them.
//
//===----------------------------------------------------------------------===//

#include "passes/exec/Instructions.h"
#include "passes/exec/Lifetimes.h"
#include "passes/exec/Passes.h"

#include <set>
#include <utility>

namespace hocket::exec {
#define GEN_PASS_DEF_EXECOVERLAPCOLLECTIVES
#include "passes/exec/Passes.h.inc"
} // namespace hocket::exec

using namespace mlir;
using namespace hocket;
using namespace hocket::exec;

static constexpr StringLiteral gradients = "gradients";

/// The stream that a collective has beside stream 0; empty: none.
static StringRef nameOf(CollectiveOp collective) {
  if (cast<SequenceOp>(collective->getParentOp()).getBucket())
    return gradients;
  return streamBeside(collective);
}

/// Those that are used: axes in the order of the mesh, then the rest.
static SmallVector<StringRef> order(ModuleOp module, std::set<StringRef> used) {
  SmallVector<StringRef> streams;
  for (auto mesh : module.getOps<step::MeshOp>())
    for (auto name : mesh.getAxes().getAsRange<StringAttr>())
      if (used.erase(name.getValue()))
        streams.push_back(name.getValue());
  streams.append(used.begin(), used.end());
  return streams;
}

namespace {

struct OverlapCollectives
    : exec::impl::ExecOverlapCollectivesBase<OverlapCollectives> {
  void runOnOperation() override {
    for (auto role : getOperation().getOps<RoleOp>())
      overlap(role);
  }

private:
  void overlap(RoleOp role) {
    // 1. Who leaves stream 0, and for which.
    SmallVector<std::pair<CollectiveOp, StringRef>> beside;
    std::set<StringRef> used;
    role.walk([&](CollectiveOp collective) {
      if (StringRef name = nameOf(collective); !name.empty()) {
        beside.emplace_back(collective, name);
        used.insert(name);
      }
    });
    // 2. Their numbers.
    SmallVector<StringRef> streams = order(getOperation(), std::move(used));
    for (auto [collective, name] : beside) {
      collective.setStream(llvm::find(streams, name) - streams.begin() + 1);
      ++overlapped;
    }
    if (!streams.empty())
      role.setStreamsAttr(Builder(&getContext()).getStrArrayAttr(streams));
  }
};

} // namespace
