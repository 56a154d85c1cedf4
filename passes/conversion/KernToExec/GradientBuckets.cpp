//===- GradientBuckets.cpp - Reduce gradients beside the last backward ----===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// The update begins with the sum of each gradient over the data axes. Here
// these collectives move to where their gradients are complete, in the step's
// last runs of backward: in the order in which gradients become complete they
// are dealt to buckets, and a bucket runs, on a stream of its own, once its
// last gradient is there. For that, a fragment is cut where buckets start:
//
//   backward                     every microbatch: backward.0, backward.1
//   update: all_reduce a, b, c   last microbatch:  backward.0, gradients0 (c,
//   b),
//                                                  backward.1, gradients1 (a)
//
// A sum with as many elements takes the place of the gradient. A piece of one
// (ZeRO) has bytes of its own until the update. Pieces need not lie side by
// side: ZeRO splits each tensor by itself, and a bucket of contiguous bytes
// whose parts are also contiguous is a layout that no product writes.
//
//===----------------------------------------------------------------------===//

#include "passes/conversion/KernToExec/FlatProgram.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

#include <map>

using namespace mlir;
using namespace hocket;
using namespace hocket::kerntoexec;
using Kind = FlatInstruction::Kind;

namespace {

/// A moment of a step's schedule.
struct Moment {
  size_t run = 0, sequence = 0, instruction = 0;
  size_t order = 0; ///< of those of one instruction

  bool operator<(const Moment &other) const {
    return std::tie(run, instruction, order) <
           std::tie(other.run, other.instruction, other.order);
  }
};

/// A reduction taken out of the update.
struct Reduction {
  std::vector<FlatInstruction> packs; ///< bring the gradient into pieces
  FlatInstruction collective;
  Moment ready;
};

struct Bucket {
  std::vector<FlatInstruction> packs;
  FlatInstruction together;
  int64_t bytes = 0;
  Moment ready;
};

class GradientBuckets {
public:
  GradientBuckets(FlatProgram &program, int64_t limit)
      : program(program), limit(limit) {}

  void run();

private:
  FlatSequence *findUpdate();
  bool isGradient(int buffer) const;
  bool findReady(int gradient, Moment &moment) const;
  void noteRuns();
  /// Takes what only works on gradients out of the update.
  void takeReductions(FlatSequence &update);
  bool isPack(const FlatInstruction &instruction) const;
  bool isReduction(const FlatInstruction &instruction) const;
  /// Whether the sum may take the place of the gradient.
  void reduceInPlace(const FlatSequence &update, FlatInstruction &collective);
  void deal();
  void cut();
  FlatSequence piece(const FlatSequence &whole, size_t begin, size_t end) const;
  void addBucket(const FlatSequence &whole, Bucket &bucket,
                 std::vector<FlatSequence> &to);

  FlatProgram &program;
  int64_t limit;
  std::vector<size_t> runs; ///< sequences, as the step runs them
  std::vector<Reduction> reductions;
  std::vector<Bucket> buckets;
  int64_t count = 0;
};

} // namespace

//===----------------------------------------------------------------------===//
// What can move
//===----------------------------------------------------------------------===//

FlatSequence *GradientBuckets::findUpdate() {
  for (FlatSequence &sequence : program.sequences)
    if (sequence.fragment == 'U')
      return &sequence;
  return nullptr;
}

bool GradientBuckets::isGradient(int buffer) const {
  const FlatBuffer &root = program.buffers[program.find(buffer)];
  return root.variable && root.kind == "gradients";
}

void GradientBuckets::noteRuns() {
  llvm::StringMap<size_t> names;
  for (auto [s, sequence] : llvm::enumerate(program.sequences))
    names[sequence.name] = s;
  for (kern::ScheduleOp schedule : program.role.schedules) {
    if (schedule.getEntry() != "train_step")
      continue;
    for (auto action : schedule.getActions().getAsRange<ArrayAttr>()) {
      auto found = names.find(cast<FlatSymbolRefAttr>(action[0]).getValue());
      if (found != names.end())
        runs.push_back(found->second);
    }
  }
}

/// The last instruction of a step's backwards that writes `gradient`.
bool GradientBuckets::findReady(int gradient, Moment &moment) const {
  for (size_t run = runs.size(); run-- > 0;) {
    const FlatSequence &sequence = program.sequences[runs[run]];
    if (sequence.fragment != 'B' && sequence.fragment != 'W')
      continue;
    for (size_t i = sequence.instructions.size(); i-- > 0;)
      for (int output : sequence.instructions[i].outputs)
        if (program.find(output) == gradient) {
          moment = {run, runs[run], i};
          return true;
        }
  }
  return false;
}

bool GradientBuckets::isReduction(const FlatInstruction &instruction) const {
  if (instruction.kind != Kind::Collective || instruction.inputs.size() != 1)
    return false;
  auto op = cast<kern::CollectiveOp>(instruction.op);
  if (op.getKind() != "all_reduce" && op.getKind() != "reduce_scatter")
    return false;
  // Pipeline ranks do not complete a gradient at one place of their schedules.
  return llvm::none_of(
      op.getAxes().getAsRange<StringAttr>(),
      [](StringAttr axis) { return axis.getValue().starts_with("pp"); });
}

bool GradientBuckets::isPack(const FlatInstruction &instruction) const {
  return (instruction.kind == Kind::Library ||
          instruction.kind == Kind::Launch) &&
         instruction.inputs.size() == 1 && instruction.outputs.size() == 1 &&
         isGradient(instruction.inputs[0]) &&
         !isGradient(instruction.outputs[0]);
}

void GradientBuckets::takeReductions(FlatSequence &update) {
  // By packed buffer, the instruction that fills it; by buffer, its uses.
  llvm::DenseMap<int, size_t> packs;
  llvm::DenseMap<int, int> uses;
  std::vector<FlatInstruction> &list = update.instructions;
  for (auto [i, instruction] : llvm::enumerate(list)) {
    for (int input : instruction.inputs)
      ++uses[program.find(input)];
    for (int output : instruction.outputs)
      ++uses[program.find(output)];
    if (isPack(instruction))
      packs[program.find(instruction.outputs[0])] = i;
  }
  for (FlatInstruction &instruction : list) {
    if (!isReduction(instruction))
      continue;
    int from = program.find(instruction.inputs[0]);
    Reduction reduction{{}, instruction, {}};
    auto pack = packs.find(from);
    int gradient = from;
    if (pack != packs.end() && uses[from] == 2)
      gradient = program.find(list[pack->second].inputs[0]);
    // Nothing else of the update may use the gradient as it was.
    if (!isGradient(gradient) || uses[gradient] != 1 ||
        !findReady(gradient, reduction.ready))
      continue;
    if (gradient != from) {
      reduction.packs.push_back(list[pack->second]);
      list[pack->second].dead = true;
    } else {
      reduceInPlace(update, reduction.collective);
    }
    instruction.dead = true;
    reduction.ready.order = reductions.size();
    reductions.push_back(std::move(reduction));
  }
  llvm::erase_if(list, [](const FlatInstruction &i) { return i.dead; });
}

void GradientBuckets::reduceInPlace(const FlatSequence &update,
                                    FlatInstruction &collective) {
  int from = program.find(collective.inputs[0]);
  int output = collective.outputs[0];
  FlatBuffer &sum = program.buffers[output];
  if (sum.mergedInto < 0 && !sum.variable && !sum.isResidual &&
      sum.bytes == program.buffers[from].bytes)
    sum.mergedInto = from;
}

//===----------------------------------------------------------------------===//
// Buckets
//===----------------------------------------------------------------------===//

void GradientBuckets::deal() {
  llvm::sort(reductions, [](const Reduction &a, const Reduction &b) {
    return a.ready < b.ready;
  });
  // The open bucket of each kind and axes.
  std::map<std::pair<StringRef, const void *>, size_t> open;
  for (Reduction &reduction : reductions) {
    auto op = cast<kern::CollectiveOp>(reduction.collective.op);
    int64_t bytes =
        program.buffers[program.find(reduction.collective.inputs[0])].bytes;
    auto [at, isNew] = open.try_emplace(
        {op.getKind(), op.getAxes().getAsOpaquePointer()}, buckets.size());
    if (!isNew && buckets[at->second].bytes >= limit) {
      at->second = buckets.size();
      isNew = true;
    }
    if (isNew) {
      buckets.push_back({{}, reduction.collective, 0, {}});
      buckets.back().together.inputs.clear();
      buckets.back().together.outputs.clear();
    }
    Bucket &bucket = buckets[at->second];
    llvm::append_range(bucket.packs, reduction.packs);
    llvm::append_range(bucket.together.inputs, reduction.collective.inputs);
    llvm::append_range(bucket.together.outputs, reduction.collective.outputs);
    bucket.bytes += bytes;
    bucket.ready = reduction.ready;
  }
  llvm::sort(buckets, [](const Bucket &a, const Bucket &b) {
    return a.ready < b.ready;
  });
}

FlatSequence GradientBuckets::piece(const FlatSequence &whole, size_t begin,
                                    size_t end) const {
  FlatSequence result = whole;
  result.function = whole.functionName();
  result.instructions.assign(whole.instructions.begin() + begin,
                             whole.instructions.begin() + end);
  return result;
}

void GradientBuckets::addBucket(const FlatSequence &whole, Bucket &bucket,
                                std::vector<FlatSequence> &to) {
  std::string name = "gradients" + std::to_string(count++);
  auto add = [&](const std::string &suffix, const std::string &lane,
                 std::vector<FlatInstruction> instructions) {
    FlatSequence sequence = piece(whole, 0, 0);
    sequence.name = name + suffix;
    sequence.lastOnly = true;
    sequence.lane = lane;
    sequence.instructions = std::move(instructions);
    for (const FlatInstruction &instruction : sequence.instructions)
      for (auto *list : {&instruction.inputs, &instruction.outputs})
        for (int buffer : *list) {
          FlatBuffer &root = program.buffers[program.find(buffer)];
          root.isBucketed = true;
          if (root.kind == "activations")
            root.kind = "gradients";
        }
    to.push_back(std::move(sequence));
  };
  if (!bucket.packs.empty())
    add(".pack", "", std::move(bucket.packs));
  bucket.together.lane = "gradients";
  add("", "gradients", {std::move(bucket.together)});
}

/// Cuts every sequence behind the instructions that complete a bucket.
void GradientBuckets::cut() {
  std::vector<FlatSequence> result;
  for (auto [s, whole] : llvm::enumerate(program.sequences)) {
    size_t size = whole.instructions.size(), begin = 0, pieces = 0;
    size_t first = result.size();
    // What is sent goes with the last piece.
    size_t computed = size > 0 && whole.instructions.back().kind == Kind::Send
                          ? size - 1
                          : size;
    std::vector<Bucket *> last;
    for (Bucket &bucket : buckets) {
      if (bucket.ready.sequence != s)
        continue;
      size_t end = bucket.ready.instruction + 1;
      if (end >= computed) {
        last.push_back(&bucket);
        continue;
      }
      if (end > begin) {
        result.push_back(piece(whole, begin, end));
        result.back().name += "." + std::to_string(pieces++);
        begin = end;
      }
      addBucket(whole, bucket, result);
    }
    if (pieces == 0) {
      result.insert(result.begin() + first, whole);
    } else {
      result.push_back(piece(whole, begin, size));
      result.back().name += "." + std::to_string(pieces);
    }
    for (Bucket *bucket : last)
      addBucket(whole, *bucket, result);
  }
  program.sequences = std::move(result);
}

void GradientBuckets::run() {
  FlatSequence *update = findUpdate();
  if (!update)
    return;
  noteRuns();
  takeReductions(*update);
  deal();
  if (!buckets.empty())
    cut();
}

void hocket::kerntoexec::bucketGradients(FlatProgram &program,
                                         int64_t bucketBytes) {
  if (bucketBytes > 0)
    GradientBuckets(program, bucketBytes).run();
}
