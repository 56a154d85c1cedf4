//===- BucketGradients.cpp - Reduce gradients beside the last backward ----===//
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
//   update: all_reduce a, b, c   last microbatch:  backward.0,
//                                                  gradients0 (c, b),
//                                                  backward.1, gradients1 (a)
//
// A sum with as many elements takes the place of the gradient. A shard of one
// (ZeRO) has bytes of its own until the update. Shards need not lie side by
// side: ZeRO splits each tensor by itself, and a bucket of contiguous bytes
// whose parts are also contiguous is a layout that no GEMM writes.
//
// A gradient whose shards are not contiguous is packed first. What it is packed
// into is read by its bucket alone, so a bucket packs into what the last but
// one has packed: two buffers of each type, and not one for each gradient, are
// there until the update. A pack waits for the bucket that reads its bytes,
// which is no more than two behind.
//
//===----------------------------------------------------------------------===//

#include "dialects/plan/IR/Plan.h"
#include "passes/exec/Instructions.h"
#include "passes/exec/Passes.h"
#include "passes/exec/StepMoments.h"

#include <map>

namespace hocket::exec {
#define GEN_PASS_DEF_EXECBUCKETGRADIENTS
#include "passes/exec/Passes.h.inc"
} // namespace hocket::exec

using namespace mlir;
using namespace hocket;
using namespace hocket::exec;

namespace {

/// A reduction that can leave the update.
struct Reduction {
  Operation *pack = nullptr; ///< splits the gradient into shards
  CollectiveOp collective;
  Moment ready;
};

struct Bucket {
  SmallVector<Operation *> packs;
  SmallVector<CollectiveOp> collectives;
  int64_t bytes = 0;
  Moment ready;
};

/// Part of what was one sequence.
struct Section {
  StringAttr name;
  bool lastOnly = false; ///< runs with the last run of a step
};

/// Buckets the gradients of one role.
class GradientBuckets {
public:
  GradientBuckets(RoleOp role, int64_t limit)
      : role(role), limit(limit), builder(role.getContext()), moments(role) {}

  void run();
  size_t count() const { return buckets.size(); }

private:
  SequenceOp findUpdate();
  /// Finds what of the update only works on gradients.
  void findReductions(SequenceOp update);
  void deal();
  void sharePacked();
  void cut(SequenceOp sequence);
  SequenceOp addSection(SequenceOp whole, const Twine &name);
  void addBucket(SequenceOp whole, Bucket &bucket,
                 std::vector<Section> &sections);
  void addBucketSequence(SequenceOp whole, const Twine &name,
                         ArrayRef<Operation *> instructions,
                         std::vector<Section> &sections);
  CollectiveOp together(const Bucket &bucket);
  void rewrite(EntryOp entry);

  RoleOp role;
  int64_t limit;
  OpBuilder builder;
  StepMoments moments;
  std::vector<Reduction> reductions;
  std::vector<Bucket> buckets;
  std::map<std::string, std::vector<Section>> cuts; ///< by sequence before
  int64_t named = 0;
};

} // namespace

//===----------------------------------------------------------------------===//
// What can move
//===----------------------------------------------------------------------===//

SequenceOp GradientBuckets::findUpdate() {
  for (auto sequence : role.getOps<SequenceOp>())
    if (sequence.isFragment(FragmentKind::Update))
      return sequence;
  return {};
}

static bool isGradient(Value buffer) {
  BufferOp root = bufferOf(buffer);
  return root.getPersistent() && root.getKind() == MemoryKind::Gradients;
}

/// Pipeline ranks do not complete a gradient at one place of their schedules.
static bool isReduction(CollectiveOp op) {
  return op.getFrom().size() == 1 && !isBetweenStages(op) &&
         (op.getKind() == CollectiveKind::AllReduce ||
          op.getKind() == CollectiveKind::ReduceScatter);
}

static bool isPack(InstructionOpInterface op) {
  if (!isa<LibraryOp, LaunchOp>(op))
    return false;
  SmallVector<Value> from = op.getReads(), to = op.getWrites();
  return from.size() == 1 && to.size() == 1 && isGradient(from[0]) &&
         !isGradient(to[0]);
}

/// A sum with as many bytes may take the place of the gradient.
static void reduceInPlace(CollectiveOp collective) {
  Value from = collective.getFrom().front(), to = collective.getTo().front();
  BufferOp sum = bufferOf(to);
  if (sum.getPersistent() || sum.getResidual() ||
      bytesOf(sum) != bytesOf(bufferOf(from)))
    return;
  to.replaceAllUsesWith(from);
  sum.erase();
}

void GradientBuckets::findReductions(SequenceOp update) {
  // By packed buffer, the instruction that fills it; by buffer, its uses.
  llvm::DenseMap<Value, Operation *> packs;
  llvm::DenseMap<Value, int> uses;
  for (auto op : update.getOps<InstructionOpInterface>()) {
    for (Value buffer : op->getOperands())
      ++uses[buffer];
    if (isPack(op))
      packs[op.getWrites().front()] = op;
  }
  for (auto collective : update.getOps<CollectiveOp>()) {
    if (!isReduction(collective))
      continue;
    Reduction reduction{nullptr, collective, {}};
    Value gradient = collective.getFrom().front();
    if (Operation *pack = packs.lookup(gradient); pack && uses[gradient] == 2) {
      reduction.pack = pack;
      gradient = cast<InstructionOpInterface>(pack).getReads().front();
    }
    // Nothing else of the update may use the gradient as it was.
    if (!isGradient(gradient) || uses[gradient] != 1)
      continue;
    std::optional<Moment> ready = moments.lastWrite(gradient);
    if (!ready)
      continue;
    reduction.ready = *ready;
    reduction.ready.order = reductions.size();
    if (!reduction.pack)
      reduceInPlace(collective);
    reductions.push_back(reduction);
  }
}

//===----------------------------------------------------------------------===//
// Buckets
//===----------------------------------------------------------------------===//

void GradientBuckets::deal() {
  llvm::sort(reductions, [](const Reduction &a, const Reduction &b) {
    return a.ready < b.ready;
  });
  // The open bucket of each kind and axes.
  std::map<std::pair<CollectiveKind, const void *>, size_t> open;
  for (Reduction &reduction : reductions) {
    CollectiveOp op = reduction.collective;
    auto [at, isNew] = open.try_emplace(
        {op.getKind(), op.getAxes().getAsOpaquePointer()}, buckets.size());
    if (!isNew && (buckets[at->second].bytes >= limit ||
                   !moments.endsLast(reduction.ready.sequence,
                                     buckets[at->second].ready.sequence))) {
      at->second = buckets.size();
      isNew = true;
    }
    if (isNew)
      buckets.emplace_back();
    Bucket &bucket = buckets[at->second];
    if (reduction.pack)
      bucket.packs.push_back(reduction.pack);
    bucket.collectives.push_back(op);
    bucket.bytes += bytesOf(bufferOf(op.getFrom().front()));
    bucket.ready = reduction.ready;
  }
  llvm::sort(buckets, [](const Bucket &a, const Bucket &b) {
    return a.ready < b.ready;
  });
}

void GradientBuckets::sharePacked() {
  llvm::DenseMap<Type, SmallVector<Value>> free;
  SmallVector<Value> ofBucketBefore;
  for (Bucket &bucket : buckets) {
    SmallVector<Value> packed;
    for (Operation *pack : bucket.packs) {
      Value to = cast<InstructionOpInterface>(pack).getWrites().front();
      if (SmallVector<Value> &others = free[to.getType()]; !others.empty()) {
        BufferOp own = bufferOf(to);
        to.replaceAllUsesWith(others.back());
        own.erase();
        to = others.pop_back_val();
      }
      packed.push_back(to);
    }
    for (Value buffer : ofBucketBefore)
      free[buffer.getType()].push_back(buffer);
    ofBucketBefore = std::move(packed);
  }
}

/// An empty sequence, where the builder stands.
SequenceOp GradientBuckets::addSection(SequenceOp whole, const Twine &name) {
  auto section = builder.create<SequenceOp>(
      whole.getLoc(), builder.getStringAttr(name), whole.getFragmentAttr(),
      whole.getStageAttr(), builder.getStringAttr(whole.getFunctionName()),
      UnitAttr());
  section.getBody().emplaceBlock();
  return section;
}

void GradientBuckets::addBucketSequence(SequenceOp whole, const Twine &name,
                                        ArrayRef<Operation *> instructions,
                                        std::vector<Section> &sections) {
  SequenceOp sequence = addSection(whole, name);
  sequence.setBucket(true);
  reorder(sequence, instructions);
  for (Operation *op : instructions)
    for (Value buffer : op->getOperands())
      if (bufferOf(buffer).getKind() == MemoryKind::Activations)
        bufferOf(buffer).setKind(MemoryKind::Gradients);
  sections.push_back({sequence.getSymNameAttr(), /*lastOnly=*/true});
}

/// One collective in place of all of a bucket.
CollectiveOp GradientBuckets::together(const Bucket &bucket) {
  SmallVector<Value> from, to;
  for (CollectiveOp part : bucket.collectives) {
    llvm::append_range(from, part.getFrom());
    llvm::append_range(to, part.getTo());
  }
  CollectiveOp first = bucket.collectives.front();
  OpBuilder at(first);
  auto whole = at.create<CollectiveOp>(
      first.getLoc(), first.getKindAttr(), from, to, first.getAxesAttr(),
      first.getWhyAttr(), first.getLayerAttr(), first.getStreamAttr());
  for (CollectiveOp part : bucket.collectives)
    part.erase();
  return whole;
}

void GradientBuckets::addBucket(SequenceOp whole, Bucket &bucket,
                                std::vector<Section> &sections) {
  std::string name = "gradients" + std::to_string(named++);
  if (!bucket.packs.empty())
    addBucketSequence(whole, name + ".pack", bucket.packs, sections);
  addBucketSequence(whole, name, together(bucket).getOperation(), sections);
}

/// Cuts a sequence behind the instructions that complete a bucket. It becomes
/// the last section.
void GradientBuckets::cut(SequenceOp sequence) {
  std::vector<Operation *> list = instructionsOf(sequence);
  std::string name = sequence.getSymName().str();
  std::vector<Section> sections;
  // What is sent goes with the last section.
  size_t begin = 0, count = 0;
  size_t computed =
      list.size() - (!list.empty() && isSend(list.back()) ? 1 : 0);
  std::vector<Bucket *> last;
  builder.setInsertionPoint(sequence);
  for (Bucket &bucket : buckets) {
    if (bucket.ready.sequence != sequence)
      continue;
    size_t end = bucket.ready.instruction + 1;
    if (end >= computed) {
      last.push_back(&bucket);
      continue;
    }
    if (end > begin) {
      SequenceOp section = addSection(sequence, name + "." + Twine(count++));
      reorder(section, ArrayRef(list).slice(begin, end - begin));
      sections.push_back({section.getSymNameAttr()});
      begin = end;
    }
    addBucket(sequence, bucket, sections);
  }
  if (count > 0) {
    sequence.setFunctionAttr(builder.getStringAttr(name));
    sequence.setSymName((name + "." + Twine(count)).str());
  }
  sections.push_back({sequence.getSymNameAttr()});
  builder.setInsertionPointAfter(sequence);
  for (Bucket *bucket : last)
    addBucket(sequence, *bucket, sections);
  cuts[name] = std::move(sections);
}

/// Runs the sections of each sequence instead of it, buckets in its last run.
void GradientBuckets::rewrite(EntryOp entry) {
  llvm::DenseMap<Attribute, size_t> lastRuns;
  for (auto [i, name] : llvm::enumerate(entry.getSequences()))
    lastRuns[name] = i;
  SmallVector<Attribute> sequences;
  SmallVector<int64_t> microbatches, slots;
  for (auto [i, name] : llvm::enumerate(entry.getSequences()))
    for (const Section &section :
         cuts.at(cast<FlatSymbolRefAttr>(name).getValue().str())) {
      if (section.lastOnly && lastRuns.lookup(name) != i)
        continue;
      sequences.push_back(FlatSymbolRefAttr::get(section.name));
      microbatches.push_back(entry.getMicrobatches()[i]);
      slots.push_back(entry.getSlots()[i]);
    }
  entry.setSequencesAttr(builder.getArrayAttr(sequences));
  entry.setMicrobatches(microbatches);
  entry.setSlots(slots);
}

void GradientBuckets::run() {
  SequenceOp update = findUpdate();
  if (!update)
    return;
  findReductions(update);
  deal();
  if (buckets.empty())
    return;
  sharePacked();
  for (auto sequence : llvm::make_early_inc_range(role.getOps<SequenceOp>()))
    cut(sequence);
  for (auto entry : role.getOps<EntryOp>())
    rewrite(entry);
}

namespace {

struct BucketGradients : exec::impl::ExecBucketGradientsBase<BucketGradients> {
  using ExecBucketGradientsBase::ExecBucketGradientsBase;

  void runOnOperation() override {
    int64_t bytes = plan::planOf(getOperation()).bucketBytes;
    if (bytes == 0)
      return;
    for (auto role : getOperation().getOps<RoleOp>()) {
      GradientBuckets gradients(role, bytes);
      gradients.run();
      buckets += gradients.count();
    }
  }
};

} // namespace
