//===- FoldWrites.cpp - Results that need no buffer of their own ----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// Three cases, in this order:
//   1. `accumulate %g to @v` where %g comes of an instruction that can add to
//      what its result holds, and nothing else reads %g;
//   2. `copy %p to @v` where nothing needs the old value after %p's
//   instruction;
//   3. a result of a kernel or GEMM over an operand that dies there.
//
//===----------------------------------------------------------------------===//

#include "dialects/kern/IR/Kern.h"
#include "kernels/library/Library.h"
#include "passes/exec/Instructions.h"
#include "passes/exec/Lifetimes.h"
#include "passes/exec/Passes.h"
#include "passes/exec/StageCopies.h"

#include "llvm/ADT/DenseSet.h"

namespace hocket::exec {
#define GEN_PASS_DEF_EXECFOLDWRITES
#include "passes/exec/Passes.h.inc"
} // namespace hocket::exec

using namespace mlir;
using namespace hocket;
using namespace hocket::exec;

/// Whether the library's op heeds `accumulate`; of an op that the library does
/// not have, no.
static bool addsToResult(LibraryOp library) {
  const kernels::LibraryOp *op = kernels::findLibraryOp(library.getOp());
  return op && op->accumulates;
}

/// Whether a value of the one has the bytes of the other.
static bool isAlike(BufferOp from, BufferOp to) {
  return bytesOf(from) == bytesOf(to) &&
         cast<MemRefType>(from.getType()).getElementType() ==
             cast<MemRefType>(to.getType()).getElementType();
}

/// The instruction that makes a value; null for one that only stores write.
static Operation *producerOf(Value buffer) {
  Operation *producer = nullptr;
  for (Operation *user : buffer.getUsers())
    if (isa<InstructionOpInterface>(user) && !isStore(user) &&
        writes(user, buffer))
      producer = user;
  return producer;
}

/// Whether the library's op may write output `value` over input `variable`,
/// which it reads nowhere else.
static bool writesInPlace(LibraryOp library, Value value, Value variable) {
  auto inPlace = library.getInPlace();
  auto outputs = library.getOutputs(), inputs = library.getInputs();
  size_t r = llvm::find(outputs, value) - outputs.begin();
  return inPlace && r < inPlace->size() && (*inPlace)[r] >= 0 &&
         inputs[(*inPlace)[r]] == variable &&
         llvm::count(inputs, variable) == 1;
}

static bool isAlways(AccumulateOp store) {
  return store.getAccumulate() == Accumulation::Add;
}

/// Whether input `i` and result `r` of a kernel meet element by element.
static bool sameElements(kern::KernelOp kernel, size_t i, size_t r) {
  kern::Access access = kernel.getInputAccess(i);
  return access == kernel.getResultAccess(r) && access != kern::Access::Tiled &&
         access != kern::Access::Col &&
         kernel.getInputType(i).getElementTypeBitWidth() ==
             kernel.getResultType(r).getElementTypeBitWidth() &&
         kernel.getInputType(i).getNumElements() ==
             kernel.getResultType(r).getNumElements();
}

namespace {

/// Folds the writes of one role.
class Folder {
public:
  Folder(RoleOp role, const SymbolTable &symbols)
      : role(role), symbols(symbols) {}

  void run() {
    for (auto sequence : role.getOps<SequenceOp>()) {
      foldAccumulations(sequence);
      for (auto copy : llvm::make_early_inc_range(sequence.getOps<CopyOp>()))
        foldCopy(copy);
    }
    // What will run beside stream 0 keeps its buffers longer.
    Lifetimes lifetimes(
        role, [](CollectiveOp op) { return !streamBeside(op).empty(); });
    role.walk([&](InstructionOpInterface op) { foldInPlace(op, lifetimes); });
  }

  int64_t inPlace() const { return written; }
  int64_t direct() const { return stored; }

private:
  /// By value, the accumulation that reads it.
  using Readers = llvm::DenseMap<Value, AccumulateOp>;
  /// By variable, how many contributions it has.
  using Contributions = llvm::DenseMap<Value, int>;

  kern::KernelOp kernelOf(Operation *op) const {
    auto launch = dyn_cast<LaunchOp>(op);
    return launch ? symbols.lookup<kern::KernelOp>(launch.getKernel())
                  : kern::KernelOp();
  }

  SmallVector<Value> addedResults(Operation *producer) const;

  void replace(Value buffer, Value by) {
    buffer.replaceAllUsesWith(by);
    buffer.getDefiningOp()->erase();
  }

  bool isSoleUse(Value buffer) const;
  bool canAccumulate(Operation *producer) const;
  void foldAccumulations(SequenceOp sequence);
  void foldContribution(Operation *producer, const Readers &readers);
  void foldInto(Value output, AccumulateOp store);
  bool storesFrom(Value output, const Readers &readers) const;
  bool canFold(Operation *producer, const Readers &readers,
               const Contributions &contributions) const;
  void orderContributions(SequenceOp sequence,
                          const llvm::DenseSet<Value> &alwaysAdded) const;

  void foldCopy(CopyOp copy);
  bool canFoldCopy(CopyOp copy) const;
  bool mayOverwrite(Operation *producer, Value value, Value variable) const;

  void foldInPlace(InstructionOpInterface op, Lifetimes &lifetimes);
  bool mayReplace(InstructionOpInterface op, size_t i, size_t r,
                  const Lifetimes &lifetimes,
                  const llvm::SmallDenseSet<Value> &claimed) const;
  void merge(Value output, Value operand, Lifetimes &lifetimes);

  RoleOp role;
  const SymbolTable &symbols;
  llvm::DenseSet<Value> setBefore;
  int64_t written = 0, stored = 0;
};

} // namespace

//===----------------------------------------------------------------------===//
// Accumulations
//===----------------------------------------------------------------------===//

/// Whether `buffer` is a value that only one instruction reads.
bool Folder::isSoleUse(Value buffer) const {
  BufferOp value = bufferOf(buffer);
  if (value.getPersistent() || value.getResidual())
    return false;
  int64_t uses = 0;
  for (OpOperand &use : buffer.getUses())
    if (auto op = dyn_cast<InstructionOpInterface>(use.getOwner()))
      uses += op.writesOperand(use.getOperandNumber()) ? 0 : 1;
  return uses == 1;
}

/// The results that `producer` adds if it adds to what they hold: a GEMM
/// overwrites its bias gradient, a kernel all but sums over rows.
SmallVector<Value> Folder::addedResults(Operation *producer) const {
  auto results = cast<InstructionOpInterface>(producer).getWrites();
  if (auto gemm = dyn_cast<GemmOp>(producer); gemm && gemm.getBiasGradient())
    llvm::erase(results, gemm.getBiasGradient());
  kern::KernelOp kernel = kernelOf(producer);
  if (!kernel)
    return results;
  SmallVector<Value> sums;
  for (auto [i, result] : llvm::enumerate(results))
    if (kernel.getResultAccess(i) == kern::Access::Col)
      sums.push_back(result);
  return sums;
}

bool Folder::canAccumulate(Operation *producer) const {
  if (auto gemm = dyn_cast<GemmOp>(producer))
    return !gemm.getAuxiliary() && !gemm.getResidual();
  if (auto library = dyn_cast<LibraryOp>(producer))
    return addsToResult(library);
  return kernelOf(producer) && !addedResults(producer).empty();
}

void Folder::foldAccumulations(SequenceOp sequence) {
  Readers readers;
  Contributions contributions;
  // Variables to which this sequence only ever adds: another one sets them.
  llvm::DenseSet<Value> alwaysAdded, set;
  for (auto store : sequence.getOps<AccumulateOp>()) {
    readers[store.getFrom()] = store;
    ++contributions[store.getTo()];
    (isAlways(store) ? alwaysAdded : set).insert(store.getTo());
  }
  for (Value variable : set)
    alwaysAdded.erase(variable);
  // What an earlier sequence has set is only added to: sequences stand in the
  // order in which an entry first runs them.
  alwaysAdded.insert(setBefore.begin(), setBefore.end());
  setBefore.insert(set.begin(), set.end());
  for (Operation *producer : instructionsOf(sequence)) {
    if (isComputation(producer) && canFold(producer, readers, contributions))
      foldContribution(producer, readers);
    // A result that is overwritten is a whole gradient all the same where one
    // microbatch is all, and nothing else is added to it.
    auto gemm = dyn_cast<GemmOp>(producer);
    if (Value output = gemm ? gemm.getBiasGradient() : Value();
        output && microbatchesOf(role) == 1 && storesFrom(output, readers)) {
      AccumulateOp store = readers.lookup(output);
      if (contributions.lookup(store.getTo()) == 1 &&
          !alwaysAdded.contains(store.getTo()))
        foldInto(output, store);
    }
  }
  orderContributions(sequence, alwaysAdded);
}

void Folder::foldContribution(Operation *producer, const Readers &readers) {
  for (Value output : addedResults(producer)) {
    AccumulateOp store = readers.lookup(output);
    setAccumulation(producer, store.getAccumulate());
    foldInto(output, store);
  }
}

void Folder::foldInto(Value output, AccumulateOp store) {
  Value variable = store.getTo();
  store.erase();
  replace(output, variable);
  ++stored;
}

/// Whether `output` goes into a variable as it is, by an accumulation that is
/// all that reads it.
bool Folder::storesFrom(Value output, const Readers &readers) const {
  AccumulateOp store = readers.lookup(output);
  return store && isSoleUse(output) &&
         isAlike(bufferOf(output), bufferOf(store.getTo()));
}

bool Folder::canFold(Operation *producer, const Readers &readers,
                     const Contributions &contributions) const {
  if (!canAccumulate(producer))
    return false;
  SmallVector<Value> outputs = addedResults(producer);
  return !outputs.empty() && llvm::all_of(outputs, [&](Value output) {
    // One flag serves all results of a kernel: with several, each must be the
    // only contribution to its variable.
    return storesFrom(output, readers) &&
           (outputs.size() == 1 ||
            contributions.lookup(readers.lookup(output).getTo()) == 1);
  });
}

/// The first contribution to a variable, in the order in which instructions
/// run, sets it in the first run; the later ones add. (Folding moves a
/// contribution up to its producer, so this order need not be that of the
/// `exec.accumulate`s.)
void Folder::orderContributions(
    SequenceOp sequence, const llvm::DenseSet<Value> &alwaysAdded) const {
  llvm::DenseSet<Value> seen = alwaysAdded;
  for (auto op : sequence.getOps<InstructionOpInterface>()) {
    if (accumulationOf(op) == Accumulation::Overwrite)
      continue;
    bool first = true;
    for (Value output : addedResults(op))
      first &= seen.insert(output).second;
    setAccumulation(op,
                    first ? Accumulation::AddUnlessFirst : Accumulation::Add);
  }
}

//===----------------------------------------------------------------------===//
// Writes
//===----------------------------------------------------------------------===//

void Folder::foldCopy(CopyOp copy) {
  if (!canFoldCopy(copy))
    return;
  Value value = copy.getFrom(), variable = copy.getTo();
  copy.erase();
  replace(value, variable);
  ++stored;
}

bool Folder::canFoldCopy(CopyOp copy) const {
  Value value = copy.getFrom(), variable = copy.getTo();
  BufferOp from = bufferOf(value);
  Operation *producer = producerOf(value);
  if (from.getPersistent() || from.getResidual() || !producer ||
      producer->getBlock() != copy->getBlock() ||
      !isAlike(from, bufferOf(variable)) || comesFromOutside(producer) ||
      !mayOverwrite(producer, value, variable))
    return false;
  // Behind the producer nobody needs the old value, and no one else sets it.
  return llvm::none_of(variable.getUsers(), [&](Operation *user) {
    if (user == copy || user->getBlock() != copy->getBlock() ||
        !producer->isBeforeInBlock(user))
      return false;
    return writes(user, variable) ||
           (user->isBeforeInBlock(copy) && reads(user, variable));
  });
}

/// Whether `producer` may write `value` over what it reads of `variable`.
bool Folder::mayOverwrite(Operation *producer, Value value,
                          Value variable) const {
  if (!reads(producer, variable))
    return true;
  if (auto library = dyn_cast<LibraryOp>(producer))
    return writesInPlace(library, value, variable);
  auto kernel = kernelOf(producer);
  if (!kernel || kernel.getByColumns())
    return false;
  auto launch = cast<LaunchOp>(producer);
  auto result = static_cast<size_t>(llvm::find(launch.getOutputs(), value) -
                                    launch.getOutputs().begin());
  for (auto [i, input] : llvm::enumerate(launch.getInputs()))
    if (input == variable && !sameElements(kernel, i, result))
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// In place
//===----------------------------------------------------------------------===//

void Folder::foldInPlace(InstructionOpInterface op, Lifetimes &lifetimes) {
  if (!isa<LaunchOp, LibraryOp>(op))
    return;
  llvm::SmallDenseSet<Value> claimed;
  size_t inputs = op.getReads().size(), outputs = op.getWrites().size();
  for (size_t r = 0; r < outputs; ++r) {
    Value output = op.getWrites()[r];
    if (isPersistent(output))
      continue;
    for (size_t i = 0; i < inputs; ++i)
      if (mayReplace(op, i, r, lifetimes, claimed)) {
        Value operand = op.getReads()[i];
        merge(output, operand, lifetimes);
        claimed.insert(operand);
        ++written;
        break;
      }
  }
}

void Folder::merge(Value output, Value operand, Lifetimes &lifetimes) {
  BufferOp from = bufferOf(output), to = bufferOf(operand);
  lifetimes.of(operand).include(lifetimes.of(output).last);
  if (from.getResidual())
    to.setResidual(true);
  replace(output, operand);
}

bool Folder::mayReplace(InstructionOpInterface op, size_t i, size_t r,
                        const Lifetimes &lifetimes,
                        const llvm::SmallDenseSet<Value> &claimed) const {
  SmallVector<Value> reads = op.getReads();
  BufferOp input = bufferOf(reads[i]), output = bufferOf(op.getWrites()[r]);
  if (input.getPersistent() ||
      lifetimes.of(reads[i]).last != lifetimes.positionOf(op) ||
      !isAlike(input, output) || claimed.contains(reads[i]) ||
      llvm::count(reads, reads[i]) > 1)
    return false;
  if (auto kernel = kernelOf(op))
    return !kernel.getByColumns() && sameElements(kernel, i, r);
  if (auto library = dyn_cast<LibraryOp>(op.getOperation())) {
    auto inPlace = library.getInPlace();
    return inPlace && r < inPlace->size() &&
           (*inPlace)[r] == static_cast<int64_t>(i);
  }
  return false;
}

namespace {

struct FoldWrites : exec::impl::ExecFoldWritesBase<FoldWrites> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto role : getOperation().getOps<RoleOp>()) {
      Folder folder(role, symbols);
      folder.run();
      inPlace += folder.inPlace();
      direct += folder.direct();
    }
  }
};

} // namespace
