//===- WriteFolding.cpp - Results that need no buffer of their own --------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// Three cases, in this order:
//   1. `accumulate %g, @v` where %g comes of an instruction that can add to
//      what its result holds, and nothing else reads %g;
//   2. `write %p, @v` where nothing needs the old value after %p's instruction;
//   3. a result of a kernel or matrix product over an operand that dies there.
//
//===----------------------------------------------------------------------===//

#include "passes/conversion/KernToExec/FlatProgram.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::kerntoexec;
using Kind = FlatInstruction::Kind;

namespace {

/// The kernel that a launch runs.
kern::KernelOp kernelOf(const FlatInstruction &instruction,
                        const SymbolTable &symbols) {
  if (auto launch = dyn_cast<kern::LaunchOp>(instruction.op))
    return symbols.lookup<kern::KernelOp>(launch.getKernel());
  return {};
}

/// The library's ops that heed `accumulate`, as in kernels/library/Library.h.
bool addsToResult(kern::LibraryOp library) {
  return library.getOp() == "embedding_gradient" ||
         library.getOp() == "grouped_linear_weight_gradient";
}

class Folder {
public:
  Folder(FlatProgram &program, FoldCounts &counts)
      : program(program), counts(counts), symbols(program.module) {}

  void run() {
    indexUses();
    for (FlatSequence &sequence : program.sequences) {
      foldAccumulations(sequence);
      for (size_t i = 0; i < sequence.instructions.size(); ++i)
        if (sequence.instructions[i].kind == Kind::Write)
          foldWrite(sequence, i);
    }
    overlapCollectives(program);
    findLifetimes(program);
    int64_t position = 0;
    for (FlatSequence &sequence : program.sequences)
      for (FlatInstruction &instruction : sequence.instructions)
        foldInPlace(instruction, position++);
  }

private:
  struct Definition {
    FlatSequence *sequence = nullptr;
    size_t index = 0;
  };

  void indexUses() {
    definitions.assign(program.buffers.size(), {});
    useCounts.assign(program.buffers.size(), 0);
    for (FlatSequence &sequence : program.sequences)
      for (auto [i, instruction] : llvm::enumerate(sequence.instructions)) {
        for (int input : instruction.inputs)
          ++useCounts[input];
        bool stores = instruction.kind == Kind::Accumulate ||
                      instruction.kind == Kind::Write;
        for (int output : instruction.outputs)
          if (!stores)
            definitions[output] = {&sequence, i};
      }
  }

  /// Whether `buffer` is a value of `sequence` that only one instruction reads.
  bool isSoleUse(const FlatSequence &sequence, int buffer) const {
    return !program.buffers[buffer].persistent() &&
           !program.buffers[buffer].isResidual && useCounts[buffer] == 1 &&
           definitions[buffer].sequence == &sequence &&
           program.buffers[buffer].mergedInto < 0;
  }

  //===--------------------------------------------------------------------===//
  // Accumulations
  //===--------------------------------------------------------------------===//

  /// The results that `producer` adds if it adds to what they hold: a product
  /// overwrites its bias gradient.
  static ArrayRef<int> addedResults(const FlatInstruction &producer) {
    ArrayRef<int> results = producer.outputs;
    auto gemm = dyn_cast<kern::GemmOp>(producer.op);
    return gemm && gemm.getBiasGradient() ? results.take_front(1) : results;
  }

  bool canAccumulate(const FlatInstruction &producer) const {
    if (producer.kind == Kind::Gemm)
      return addedResults(producer).size() == 1 &&
             !cast<kern::GemmOp>(producer.op).getResidual();
    if (producer.kind == Kind::Library)
      return addsToResult(cast<kern::LibraryOp>(producer.op));
    auto kernel = kernelOf(producer, symbols);
    return kernel && kernel.getByColumns();
  }

  void foldAccumulations(FlatSequence &sequence) {
    // By value, the accumulation that reads it; by variable, how many.
    llvm::DenseMap<int, size_t> readers;
    llvm::DenseMap<int, int> contributions;
    // Variables to which this sequence only ever adds: another one sets them.
    llvm::DenseSet<int> alwaysAdded, set;
    for (auto [i, instruction] : llvm::enumerate(sequence.instructions))
      if (instruction.kind == Kind::Accumulate) {
        readers[instruction.inputs[0]] = i;
        ++contributions[instruction.outputs[0]];
        (isAlways(instruction) ? alwaysAdded : set)
            .insert(instruction.outputs[0]);
      }
    for (int variable : set)
      alwaysAdded.erase(variable);
    // What an earlier sequence has set is only added to: sequences stand in the
    // order in which an entry first runs them.
    alwaysAdded.insert(setBefore.begin(), setBefore.end());
    setBefore.insert(set.begin(), set.end());
    for (FlatInstruction &producer : sequence.instructions) {
      if (canFold(sequence, producer, readers, contributions))
        for (int output : addedResults(producer)) {
          FlatInstruction &store = sequence.instructions[readers[output]];
          producer.accumulation = isAlways(store)
                                      ? Accumulation::Add
                                      : Accumulation::AddUnlessFirst;
          fold(output, store);
        }
      // A result that is overwritten is a whole gradient all the same where
      // nothing else is added to it.
      if (int output = overwrittenResult(producer);
          output >= 0 && storesFrom(sequence, output, readers)) {
        FlatInstruction &store = sequence.instructions[readers[output]];
        if (contributions[store.outputs[0]] == 1 &&
            !alwaysAdded.contains(store.outputs[0]))
          fold(output, store);
      }
    }
    orderContributions(sequence, alwaysAdded);
  }

  void fold(int output, FlatInstruction &store) {
    store.dead = true;
    program.buffers[output].mergedInto = store.outputs[0];
    ++counts.direct;
  }

  /// The bias gradient of a product, where one microbatch is all; else -1.
  int overwrittenResult(const FlatInstruction &producer) const {
    bool overwrites = addedResults(producer).size() < producer.outputs.size();
    return overwrites && program.microbatches == 1 ? producer.outputs.back()
                                                   : -1;
  }

  /// Whether `output` goes into a variable as it is, by an accumulation that
  /// is all that reads it.
  bool storesFrom(const FlatSequence &sequence, int output,
                  const llvm::DenseMap<int, size_t> &readers) const {
    auto reader = readers.find(output);
    if (reader == readers.end() || !isSoleUse(sequence, output))
      return false;
    const FlatBuffer &from = program.buffers[output];
    const FlatBuffer &to =
        program.buffers[sequence.instructions[reader->second].outputs[0]];
    return from.bytes == to.bytes &&
           from.type.getElementType() == to.type.getElementType();
  }

  static bool isAlways(const FlatInstruction &store) {
    auto accumulate = dyn_cast<kern::AccumulateOp>(store.op);
    return accumulate && accumulate.getAlways();
  }

  bool canFold(const FlatSequence &sequence, const FlatInstruction &producer,
               const llvm::DenseMap<int, size_t> &readers,
               const llvm::DenseMap<int, int> &contributions) const {
    if (producer.outputs.empty() || comesFromOutside(producer.kind) ||
        producer.kind == Kind::Accumulate || producer.kind == Kind::Write ||
        !canAccumulate(producer))
      return false;
    for (int output : addedResults(producer)) {
      if (!storesFrom(sequence, output, readers))
        return false;
      int variable = sequence.instructions[readers.lookup(output)].outputs[0];
      // One flag serves all results of a kernel: with several, each must be
      // the only contribution to its variable.
      if (addedResults(producer).size() > 1 &&
          contributions.lookup(variable) > 1)
        return false;
    }
    return true;
  }

  /// The first contribution to a variable, in the order in which instructions
  /// run, sets it in the first run; the later ones add. (Folding moves a
  /// contribution up to its producer, so this order need not be that of the
  /// `accumulate` ops.)
  void orderContributions(FlatSequence &sequence,
                          const llvm::DenseSet<int> &alwaysAdded) {
    llvm::DenseSet<int> seen = alwaysAdded;
    for (FlatInstruction &instruction : sequence.instructions) {
      bool stores = instruction.kind == Kind::Accumulate && !instruction.dead;
      if (!stores && instruction.accumulation == Accumulation::Overwrite)
        continue;
      bool first = true;
      for (int output : instruction.outputs)
        first &= seen.insert(program.find(output)).second;
      instruction.accumulation =
          first ? Accumulation::AddUnlessFirst : Accumulation::Add;
    }
  }

  //===--------------------------------------------------------------------===//
  // Writes
  //===--------------------------------------------------------------------===//

  void foldWrite(FlatSequence &sequence, size_t at) {
    FlatInstruction &store = sequence.instructions[at];
    int value = store.inputs[0], variable = store.outputs[0];
    if (canFoldWrite(sequence, at, value, variable)) {
      program.buffers[value].mergedInto = variable;
      store.dead = true;
      ++counts.direct;
    } else {
      store.kind = Kind::Copy;
    }
  }

  bool canFoldWrite(const FlatSequence &sequence, size_t at, int value,
                    int variable) const {
    const FlatBuffer &from = program.buffers[value];
    const FlatBuffer &to = program.buffers[variable];
    if (from.persistent() || from.isResidual || from.mergedInto >= 0 ||
        definitions[value].sequence != &sequence || from.bytes != to.bytes ||
        from.type.getElementType() != to.type.getElementType())
      return false;
    size_t defined = definitions[value].index;
    const FlatInstruction &producer = sequence.instructions[defined];
    if (comesFromOutside(producer.kind) ||
        !mayOverwrite(producer, value, variable))
      return false;
    for (size_t i = defined + 1; i < sequence.instructions.size(); ++i) {
      const FlatInstruction &other = sequence.instructions[i];
      if (i < at && readsVariable(other, variable))
        return false;
      if (i != at && writesVariable(other, variable))
        return false;
    }
    return true;
  }

  bool readsVariable(const FlatInstruction &instruction, int variable) const {
    return !instruction.dead &&
           llvm::any_of(instruction.inputs, [&](int input) {
             return program.find(input) == variable;
           });
  }

  bool writesVariable(const FlatInstruction &instruction, int variable) const {
    return !instruction.dead &&
           llvm::any_of(instruction.outputs, [&](int output) {
             return program.find(output) == variable;
           });
  }

  /// Whether `producer` may write `value` over what it reads of `variable`.
  bool mayOverwrite(const FlatInstruction &producer, int value,
                    int variable) const {
    if (!readsVariable(producer, variable))
      return true;
    auto kernel = kernelOf(producer, symbols);
    if (!kernel || kernel.getByColumns())
      return false;
    size_t result =
        llvm::find(producer.outputs, value) - producer.outputs.begin();
    for (auto [i, input] : llvm::enumerate(producer.inputs))
      if (program.find(input) == variable && !sameElements(kernel, i, result))
        return false;
    return true;
  }

  /// Whether input `i` and result `r` of a kernel meet element by element.
  bool sameElements(kern::KernelOp kernel, size_t i, size_t r) const {
    kern::Access access = kernel.getInputAccess(i);
    return access == kernel.getResultAccess(r) &&
           access != kern::Access::Tiled && access != kern::Access::Col &&
           kernel.getInputType(i).getElementTypeBitWidth() ==
               kernel.getResultType(r).getElementTypeBitWidth() &&
           kernel.getInputType(i).getNumElements() ==
               kernel.getResultType(r).getNumElements();
  }

  //===--------------------------------------------------------------------===//
  // In place
  //===--------------------------------------------------------------------===//

  void foldInPlace(FlatInstruction &instruction, int64_t position) {
    if (instruction.dead || instruction.outputs.empty())
      return;
    llvm::SmallDenseSet<int> claimed;
    for (auto [r, output] : llvm::enumerate(instruction.outputs)) {
      if (program.buffers[output].mergedInto >= 0 ||
          program.buffers[output].persistent())
        continue;
      for (size_t i = 0; i < instruction.inputs.size(); ++i)
        if (mayReplace(instruction, position, i, r, claimed)) {
          merge(output, program.find(instruction.inputs[i]));
          claimed.insert(program.find(instruction.inputs[i]));
          ++counts.inPlace;
          break;
        }
    }
  }

  void merge(int output, int root) {
    FlatBuffer &from = program.buffers[output];
    FlatBuffer &to = program.buffers[root];
    from.mergedInto = root;
    to.last = std::max(to.last, from.last);
    to.isResidual |= from.isResidual;
    to.isLink |= from.isLink;
    to.copies = std::max(to.copies, from.copies);
  }

  bool mayReplace(const FlatInstruction &instruction, int64_t position,
                  size_t i, size_t r,
                  const llvm::SmallDenseSet<int> &claimed) const {
    int root = program.find(instruction.inputs[i]);
    const FlatBuffer &input = program.buffers[root];
    const FlatBuffer &output = program.buffers[instruction.outputs[r]];
    if (input.persistent() || input.last != position ||
        input.bytes != output.bytes ||
        input.type.getElementType() != output.type.getElementType() ||
        claimed.contains(root) ||
        llvm::count_if(instruction.inputs,
                       [&](int b) { return program.find(b) == root; }) > 1)
      return false;
    if (auto kernel = kernelOf(instruction, symbols))
      return !kernel.getByColumns() && sameElements(kernel, i, r);
    if (auto library = dyn_cast<kern::LibraryOp>(instruction.op)) {
      auto inPlace = library.getInPlace();
      return inPlace && r < inPlace->size() &&
             (*inPlace)[r] == static_cast<int64_t>(i);
    }
    return false;
  }

  FlatProgram &program;
  FoldCounts &counts;
  SymbolTable symbols;
  std::vector<Definition> definitions;
  std::vector<int> useCounts;
  llvm::DenseSet<int> setBefore;
};

} // namespace

void hocket::kerntoexec::findLifetimes(FlatProgram &program) {
  for (FlatBuffer &buffer : program.buffers)
    buffer.first = buffer.last = -1;
  int64_t position = 0;
  auto touch = [&](int buffer) {
    FlatBuffer &b = program.buffers[program.find(buffer)];
    if (b.first < 0)
      b.first = position;
    b.last = position;
  };
  auto touchAll = [&](const FlatInstruction &instruction) {
    llvm::for_each(instruction.inputs, touch);
    llvm::for_each(instruction.outputs, touch);
  };
  for (const FlatSequence &sequence : program.sequences) {
    ArrayRef<FlatInstruction> list = sequence.instructions;
    std::vector<std::vector<size_t>> joined(list.size() + 1);
    for (auto [i, instruction] : llvm::enumerate(list)) {
      if (!instruction.dead)
        touchAll(instruction);
      if (!instruction.dead && !instruction.lane.empty())
        joined[std::min(instruction.join, list.size() - 1)].push_back(i);
      for (size_t other : joined[i])
        touchAll(list[other]);
      ++position;
    }
  }
}

LogicalResult hocket::kerntoexec::foldWrites(FlatProgram &program,
                                             FoldCounts &counts) {
  Folder(program, counts).run();
  for (FlatSequence &sequence : program.sequences)
    llvm::erase_if(sequence.instructions,
                   [](const FlatInstruction &i) { return i.dead; });
  return success();
}
