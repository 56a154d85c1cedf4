//===- CollectiveStreams.cpp - Which collectives leave stream 0 -----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// A collective has a stream to itself, that of the first mesh axis it runs
// over, if anything is computed between it and the first instruction that has
// to wait for it. Where its result is wanted at once it stays on stream 0,
// which costs no event and no second thread. Shifts all have their axis's
// stream: a send meets a receive by the order in which both were issued, which
// is only known of one stream.
//
//===----------------------------------------------------------------------===//

#include "passes/conversion/KernToExec/FlatProgram.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::kerntoexec;
using Kind = FlatInstruction::Kind;

bool hocket::kerntoexec::meet(const FlatProgram &program,
                              const FlatInstruction &a,
                              const FlatInstruction &b) {
  auto touches = [&](ArrayRef<int> buffers, int root) {
    return llvm::any_of(buffers,
                        [&](int b) { return program.find(b) == root; });
  };
  return llvm::any_of(a.outputs,
                      [&](int output) {
                        int root = program.find(output);
                        return touches(b.inputs, root) ||
                               touches(b.outputs, root);
                      }) ||
         llvm::any_of(a.inputs, [&](int input) {
           return touches(b.outputs, program.find(input));
         });
}

/// The first axis; none for groups of pipeline ranks, which do not all run the
/// same instructions.
static StringRef laneOf(const FlatInstruction &instruction) {
  auto collective = dyn_cast_or_null<kern::CollectiveOp>(instruction.op);
  if (!collective || collective.getAxes().empty())
    return {};
  for (auto axis : collective.getAxes().getAsRange<StringAttr>())
    if (axis.getValue().starts_with("pp"))
      return {};
  return cast<StringAttr>(collective.getAxes()[0]).getValue();
}

static bool computes(const FlatInstruction &instruction) {
  return !instruction.dead &&
         (instruction.kind == Kind::Launch || instruction.kind == Kind::Gemm ||
          instruction.kind == Kind::Library);
}

static void overlap(const FlatProgram &program, FlatSequence &sequence) {
  std::vector<FlatInstruction> &list = sequence.instructions;
  for (size_t i = 0; i < list.size(); ++i) {
    list[i].lane.clear();
    if (list[i].kind != Kind::Collective || list[i].dead)
      continue;
    bool passes = false;
    size_t join = i + 1;
    for (; join < list.size(); ++join) {
      if (list[join].dead)
        continue;
      if (list[join].kind == Kind::Send || meet(program, list[i], list[join]))
        break;
      passes |= computes(list[join]);
    }
    auto op = cast<kern::CollectiveOp>(list[i].op);
    if (passes || op.getKind() == "shift")
      list[i].lane = laneOf(list[i]).str();
    list[i].join = join;
  }
}

void hocket::kerntoexec::overlapCollectives(FlatProgram &program) {
  for (FlatSequence &sequence : program.sequences)
    if (sequence.lane.empty())
      overlap(program, sequence);
}
