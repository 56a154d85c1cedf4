//===- ScheduleTransfers.cpp - Transfers and waits as runs ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// Takes transfers out of the fragments that they belong to, as sequences of
// their own on their streams, and writes into the entries when they run and
// what waits for what. TransferRuns.h says how that is found.
//
//===----------------------------------------------------------------------===//

#include "passes/exec/Passes.h"
#include "passes/exec/TransferRuns.h"

namespace hocket::exec {
#define GEN_PASS_DEF_EXECSCHEDULETRANSFERS
#include "passes/exec/Passes.h.inc"
} // namespace hocket::exec

using namespace mlir;
using namespace hocket;
using namespace hocket::exec;

namespace {

/// Schedules the transfers of one role.
class TransferScheduler {
public:
  explicit TransferScheduler(RoleOp role)
      : role(role), builder(role.getContext()), runs(role) {}

  void run() {
    // Before anything moves, so that all events are known.
    std::vector<std::vector<NamedRun>> plans;
    SmallVector<EntryOp> entries(role.getOps<EntryOp>());
    for (EntryOp entry : entries)
      plans.push_back(runs.plan(entry));
    for (auto sequence : llvm::make_early_inc_range(role.getOps<SequenceOp>()))
      takeTransfers(sequence);
    builder.setInsertionPointToEnd(&role.getBody().front());
    if (!entries.empty())
      builder.setInsertionPoint(entries.front());
    for (const auto &[name, sync] : runs.syncs())
      addSync(name, sync);
    for (auto [entry, plan] : llvm::zip(entries, plans))
      writeRuns(entry, plan);
  }

  int64_t transfers() const { return taken; }

private:
  /// A sequence that is no fragment, where the builder stands.
  SequenceOp addSequence(StringRef name) {
    auto sequence = builder.create<SequenceOp>(
        role.getLoc(), builder.getStringAttr(name), FragmentKindAttr(),
        IntegerAttr(), StringAttr(), UnitAttr());
    sequence.getBody().emplaceBlock();
    return sequence;
  }

  void takeTransfers(SequenceOp sequence) {
    Block &block = sequence.getBody().front();
    for (auto transfer :
         llvm::make_early_inc_range(block.getOps<TransferOp>())) {
      bool receives = transfer.receives();
      const TransferPart *part = runs.findPart(
          sequence, receives ? PartKind::Receive : PartKind::Send);
      if (receives)
        builder.setInsertionPoint(sequence);
      else
        builder.setInsertionPointAfter(sequence);
      Block &to = addSequence(part->name).getBody().front();
      transfer->moveBefore(&to, to.end());
      transfer.setStream(part->stream);
      ++taken;
    }
  }

  void addSync(StringRef name, const SyncSequence &sync) {
    SequenceOp sequence = addSequence(name);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&sequence.getBody().front());
    for (const SyncInstruction &instruction : sync)
      if (instruction.isRecord)
        builder.create<RecordOp>(role.getLoc(), instruction.event,
                                 instruction.stream);
      else
        builder.create<WaitOp>(role.getLoc(), instruction.event,
                               instruction.stream);
  }

  void writeRuns(EntryOp entry, ArrayRef<NamedRun> plan) {
    SmallVector<Attribute> sequences;
    SmallVector<int64_t> microbatches, slots;
    for (const NamedRun &run : plan) {
      sequences.push_back(
          FlatSymbolRefAttr::get(builder.getContext(), run.sequence));
      microbatches.push_back(run.microbatch);
      slots.push_back(run.slot);
    }
    entry.setSequencesAttr(builder.getArrayAttr(sequences));
    entry.setMicrobatches(microbatches);
    entry.setSlots(slots);
  }

  RoleOp role;
  OpBuilder builder;
  TransferRuns runs;
  int64_t taken = 0;
};

struct ScheduleTransfers
    : exec::impl::ExecScheduleTransfersBase<ScheduleTransfers> {
  void runOnOperation() override {
    for (auto role : getOperation().getOps<RoleOp>()) {
      TransferScheduler scheduler(role);
      scheduler.run();
      transfers += scheduler.transfers();
    }
  }
};

} // namespace
