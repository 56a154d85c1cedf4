//===- CollectiveOrder.cpp - Collectives early, what waits late -----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// Within each sequence, before anything is folded:
//
//   1. Gathers of variables (sharded parameters) of one layer go together, and
//      stand before the first use of the gather before: a layer's parameters
//      come while the layer before computes.
//   2. Reduced gradients and updated parameters that are only stored go
//      together; the stores come behind the next bucket, or at the end.
//   3. Every collective moves up to what it needs, so that what does not need
//      it (the gradient of a weight, beside that of its input) runs beside it.
//
// A bucket ends where the layer does, or when it has the bytes of a full one.
// Stores keep their order, so sums are what they were.
//
//===----------------------------------------------------------------------===//

#include "passes/conversion/KernToExec/FlatProgram.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::kerntoexec;
using Kind = FlatInstruction::Kind;

namespace {

kern::CollectiveOp collectiveOf(const FlatInstruction &instruction) {
  return instruction.kind == Kind::Collective
             ? cast<kern::CollectiveOp>(instruction.op)
             : kern::CollectiveOp();
}

/// Whether pipeline ranks meet here: their programs differ but for the order of
/// these.
bool isBetweenRoles(kern::CollectiveOp op) {
  return llvm::any_of(
      op.getAxes().getAsRange<StringAttr>(),
      [](StringAttr axis) { return axis.getValue().starts_with("pp"); });
}

bool isStore(const FlatInstruction &instruction) {
  return instruction.kind == Kind::Accumulate ||
         instruction.kind == Kind::Write;
}

/// Orders the instructions of one sequence.
class SequenceOrder {
public:
  SequenceOrder(const FlatProgram &program, FlatSequence &sequence,
                int64_t limit)
      : program(program), list(sequence.instructions), limit(limit),
        updates(sequence.fragment == 'U') {}

  void run() {
    if (limit > 0) {
      gatherAhead();
      storeTogether();
    }
    startEarly();
  }

private:
  struct Bucket {
    FlatInstruction together;
    int64_t bytes = 0;
    size_t firstUse = 0; ///< in what is left of the list
  };

  /// Bytes of the larger ends of a collective's pieces.
  int64_t bytesOf(const FlatInstruction &collective) const;
  /// Adds a collective to a bucket if it may go with it.
  bool join(Bucket &bucket, const FlatInstruction &collective) const;

  bool readsVariableOnly(const FlatInstruction &instruction) const;
  void gatherAhead();
  void indexReaders();
  bool isOnlyStored(int buffer, int depth) const;
  bool isStored(const FlatInstruction &instruction, int depth) const;

  void storeTogether();
  bool waits(const FlatInstruction &instruction) const;
  void close(size_t bucket);
  void flush();
  void startEarly();

  const FlatProgram &program;
  std::vector<FlatInstruction> &list;
  int64_t limit;
  bool updates;
  llvm::DenseMap<int, SmallVector<const FlatInstruction *, 2>> readers;

  // While stores go together:
  std::vector<FlatInstruction> result;
  std::vector<Bucket> open;          ///< one for each kind and axes
  std::vector<FlatInstruction> late; ///< what takes results of buckets
  llvm::DenseSet<int> pending;       ///< results of all buckets
};

} // namespace

int64_t SequenceOrder::bytesOf(const FlatInstruction &collective) const {
  int64_t bytes = 0;
  for (auto [input, output] : llvm::zip(collective.inputs, collective.outputs))
    bytes +=
        std::max(program.buffers[input].bytes, program.buffers[output].bytes);
  return bytes;
}

bool SequenceOrder::join(Bucket &bucket,
                         const FlatInstruction &collective) const {
  auto op = collectiveOf(collective), other = collectiveOf(bucket.together);
  if (op.getKind() != other.getKind() || op.getAxes() != other.getAxes() ||
      collective.place != bucket.together.place || bucket.bytes >= limit)
    return false;
  llvm::append_range(bucket.together.inputs, collective.inputs);
  llvm::append_range(bucket.together.outputs, collective.outputs);
  bucket.bytes += bytesOf(collective);
  return true;
}

//===----------------------------------------------------------------------===//
// Gathers of parameters
//===----------------------------------------------------------------------===//

bool SequenceOrder::readsVariableOnly(
    const FlatInstruction &instruction) const {
  auto op = collectiveOf(instruction);
  if (!op || op.getKind() != "all_gather")
    return false;
  int variable = instruction.inputs[0];
  return program.buffers[variable].persistent() &&
         llvm::none_of(list, [&](const FlatInstruction &other) {
           return llvm::is_contained(other.outputs, variable);
         });
}

void SequenceOrder::gatherAhead() {
  std::vector<Bucket> buckets;
  std::vector<FlatInstruction> rest;
  for (FlatInstruction &instruction : list)
    if (!readsVariableOnly(instruction))
      rest.push_back(instruction);
    else if (buckets.empty() || !join(buckets.back(), instruction))
      buckets.push_back({instruction, bytesOf(instruction)});
  if (buckets.empty())
    return;
  for (Bucket &bucket : buckets)
    while (bucket.firstUse < rest.size() &&
           !meet(program, bucket.together, rest[bucket.firstUse]))
      ++bucket.firstUse;
  list.clear();
  size_t next = 0;
  auto issueTo = [&](size_t count) {
    for (; next < std::min(count, buckets.size()); ++next)
      list.push_back(buckets[next].together);
  };
  for (auto [i, instruction] : llvm::enumerate(rest)) {
    if (instruction.kind != Kind::Receive)
      issueTo(1);
    for (auto [b, bucket] : llvm::enumerate(buckets))
      if (bucket.firstUse == i)
        issueTo(b + 2);
    list.push_back(std::move(instruction));
  }
}

//===----------------------------------------------------------------------===//
// What is only stored
//===----------------------------------------------------------------------===//

void SequenceOrder::indexReaders() {
  readers.clear();
  for (const FlatInstruction &instruction : list)
    for (int input : instruction.inputs)
      readers[input].push_back(&instruction);
}

/// Whether `instruction` is a store, or makes only what is stored.
bool SequenceOrder::isStored(const FlatInstruction &instruction,
                             int depth) const {
  if (isStore(instruction))
    return true;
  bool computes =
      instruction.kind == Kind::Library || instruction.kind == Kind::Launch;
  return computes && depth > 0 &&
         llvm::all_of(instruction.outputs, [&](int output) {
           return isOnlyStored(output, depth - 1);
         });
}

bool SequenceOrder::isOnlyStored(int buffer, int depth) const {
  const FlatBuffer &value = program.buffers[buffer];
  auto found = readers.find(buffer);
  return !value.persistent() && !value.isResidual && !value.isLink &&
         found != readers.end() &&
         llvm::all_of(found->second, [&](const FlatInstruction *reader) {
           return isStored(*reader, depth);
         });
}

/// Whether `instruction` cannot stand before what is late or in open buckets.
bool SequenceOrder::waits(const FlatInstruction &instruction) const {
  auto meets = [&](const FlatInstruction &other) {
    return meet(program, other, instruction);
  };
  return llvm::any_of(instruction.inputs,
                      [&](int input) { return pending.contains(input); }) ||
         llvm::any_of(late, meets) ||
         llvm::any_of(open, [&](const Bucket &bucket) {
           return meets(bucket.together);
         });
}

/// Issues a bucket, and behind it what waits for earlier ones alone.
void SequenceOrder::close(size_t bucket) {
  FlatInstruction together = std::move(open[bucket].together);
  open.erase(open.begin() + bucket);
  llvm::DenseSet<int> later(together.outputs.begin(), together.outputs.end());
  for (const Bucket &other : open)
    later.insert(other.together.outputs.begin(), other.together.outputs.end());
  result.push_back(std::move(together));
  std::vector<FlatInstruction> stay;
  for (FlatInstruction &instruction : late) {
    auto isLater = [&](int b) { return later.contains(b); };
    if (llvm::none_of(instruction.inputs, isLater) &&
        llvm::none_of(instruction.outputs, isLater)) {
      result.push_back(std::move(instruction));
      continue;
    }
    later.insert(instruction.outputs.begin(), instruction.outputs.end());
    stay.push_back(std::move(instruction));
  }
  late = std::move(stay);
}

void SequenceOrder::flush() {
  while (!open.empty())
    close(0);
  std::move(late.begin(), late.end(), std::back_inserter(result));
  late.clear();
}

void SequenceOrder::storeTogether() {
  indexReaders();
  std::vector<bool> grouped, stored;
  for (const FlatInstruction &instruction : list) {
    auto op = collectiveOf(instruction);
    // The update's sums are gradients', which GradientBuckets.cpp deals with.
    bool goes = op && !isBetweenRoles(op) &&
                (op.getKind() == "all_gather" ||
                 (op.getKind() == "reduce_scatter" && !updates));
    grouped.push_back(goes && isOnlyStored(instruction.outputs[0], 1));
    stored.push_back(isStored(instruction, 1));
  }
  if (!llvm::is_contained(grouped, true))
    return;
  for (auto [i, instruction] : llvm::enumerate(list)) {
    if (!waits(instruction)) {
      // Goes where it stands, or into a bucket.
    } else if (stored[i] && !grouped[i]) {
      late.push_back(instruction);
      continue;
    } else {
      flush();
    }
    if (!grouped[i]) {
      bool ends = instruction.kind == Kind::Send;
      if (ends)
        flush();
      result.push_back(instruction);
      continue;
    }
    size_t bucket = 0;
    auto op = collectiveOf(instruction);
    while (bucket < open.size() &&
           (collectiveOf(open[bucket].together).getKind() != op.getKind() ||
            collectiveOf(open[bucket].together).getAxes() != op.getAxes()))
      ++bucket;
    pending.insert(instruction.outputs[0]);
    if (bucket < open.size() && join(open[bucket], instruction))
      continue;
    if (bucket < open.size())
      close(bucket);
    open.push_back({instruction, bytesOf(instruction)});
  }
  flush();
  list = std::move(result);
}

//===----------------------------------------------------------------------===//
// Early
//===----------------------------------------------------------------------===//

void SequenceOrder::startEarly() {
  for (size_t i = 1; i < list.size(); ++i) {
    // What comes of variables alone stands where memory allows.
    auto op = collectiveOf(list[i]);
    if (!op || isBetweenRoles(op) ||
        llvm::all_of(list[i].inputs, [&](int input) {
          return program.buffers[input].persistent();
        }))
      continue;
    size_t to = i;
    while (to > 0 && list[to - 1].kind != Kind::Collective &&
           list[to - 1].kind != Kind::Receive &&
           !meet(program, list[to - 1], list[i]))
      --to;
    std::rotate(list.begin() + to, list.begin() + i, list.begin() + i + 1);
  }
}

void hocket::kerntoexec::orderCollectives(FlatProgram &program,
                                          int64_t bucketBytes) {
  for (FlatSequence &sequence : program.sequences)
    SequenceOrder(program, sequence, bucketBytes).run();
}
