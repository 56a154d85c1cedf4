//===- KernelPlan.cpp - How a fused region becomes loops ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/targets/loops/KernelPlan.h"

#include "compiler/targets/loops/ScalarOps.h"
#include "compiler/targets/loops/WholeElements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace hocket::loops {

/// Elements of a task where rows are split; a multiple of every vector step.
static constexpr int64_t elementsPerChunk = 4096;
/// Fewer rows than this are not enough tasks.
static constexpr int64_t fewRows = 64;
/// Bytes of traffic worth waking a thread for.
static constexpr double bytesPerGrain = 32768;
/// What a Philox word costs, in operations.
static constexpr unsigned randomFlops = 20;

double KernelPlan::flops() const {
  double total = 0;
  for (const PlanNode &node : nodes) {
    if (!node.live)
      continue;
    double each = 0;
    if (node.kind == PlanNode::Kind::Operation)
      each = findScalarOp(*node.op)->flops;
    else if (node.kind == PlanNode::Kind::KeepScale)
      each = randomFlops;
    Level level = node.level;
    if (node.kind == PlanNode::Kind::Reduction)
      each = 1, level = Level::Full;
    bool byRow = static_cast<int>(level) & static_cast<int>(Level::Row);
    bool byColumn = static_cast<int>(level) & static_cast<int>(Level::Column);
    total += each * (byRow ? rows : 1) * (byColumn ? cols : 1);
  }
  int64_t summed = form == Form::Columns ? results.size() : sums();
  return total + static_cast<double>(summed) * points();
}

int64_t KernelPlan::sums() const {
  return llvm::count_if(
      results, [&](const PlanResult &result) { return isSum(result); });
}

uint64_t KernelPlan::bytes() const {
  uint64_t total = 0;
  for (const PlanBuffer &input : inputs)
    total += input.elements * bytesOf(input.element);
  for (const PlanResult &result : results)
    total += result.buffer.elements * bytesOf(result.buffer.element);
  return total;
}

int64_t KernelPlan::grain() const {
  // Four operations take about as long as a byte.
  double work = std::max<double>(bytes(), flops() / 4) / tasks();
  double least = std::ceil(bytesPerGrain / std::max(work, 1.0));
  return std::clamp<int64_t>(static_cast<int64_t>(least), 1, tasks());
}

namespace {

class Planner {
public:
  Planner(kern::KernelOp kernel, int64_t rowBufferBytes)
      : rowBufferBytes(rowBufferBytes) {
    plan.kernel = kernel;
  }

  FailureOr<KernelPlan> run();

private:
  FailureOr<PlanBuffer> planBuffer(Type type, kern::Access access,
                                   const Twine &what);
  LogicalResult planBuffers();
  void turnSingleColumn();
  void simplifyAccesses();
  LogicalResult buildNodes();
  LogicalResult buildNode(Operation &op);
  unsigned addNode(PlanNode node);
  void markLive();
  void chooseTasks();
  LogicalResult computeLevels();
  LogicalResult checkResults();
  void planPasses();
  void collect(unsigned node, unsigned stage, PlanPass &pass,
               llvm::SmallVectorImpl<bool> &seen);
  bool hasReductions() const;
  bool drawsInOneRun() const;

  const int64_t rowBufferBytes;
  KernelPlan plan;
  llvm::DenseMap<Value, unsigned> ids;
  /// Whether each node was computed in an earlier pass.
  llvm::SmallVector<int> computedIn;
  bool columnWasRow = false;
};

} // namespace

/// The symbol of a kernel: letters and digits stay, any other byte is `$xx`.
static std::string symbolOf(StringRef name) {
  std::string symbol = "hocket_kernel_";
  for (char c : name) {
    if (llvm::isAlnum(c) || c == '_') {
      symbol += c;
      continue;
    }
    symbol += '$';
    symbol += llvm::hexdigit(static_cast<unsigned char>(c) >> 4, true);
    symbol += llvm::hexdigit(static_cast<unsigned char>(c) & 15, true);
  }
  return symbol;
}

//===----------------------------------------------------------------------===//
// Buffers and the iteration space
//===----------------------------------------------------------------------===//

FailureOr<PlanBuffer> Planner::planBuffer(Type type, kern::Access access,
                                          const Twine &what) {
  auto tensor = cast<RankedTensorType>(type);
  PlanBuffer buffer{Element::F32, access, plan.rows, 0};
  buffer.elements = tensor.getNumElements();
  Type element = tensor.getElementType();
  if (element.isBF16())
    buffer.element = Element::BF16;
  else if (element.isF16())
    buffer.element = Element::F16;
  else if (element.isInteger(32))
    buffer.element = Element::I32;
  else if (isa<Float8E4M3FNType>(element))
    buffer.element = Element::F8E4M3;
  else if (isa<Float8E5M2Type>(element))
    buffer.element = Element::F8E5M2;
  else if (!element.isF32())
    return plan.kernel.emitOpError(what)
           << " has element type " << element
           << "; kernels know f32, bf16, f16, i32, f8E4M3FN and f8E5M2";
  if (access == kern::Access::Tiled)
    buffer.rows = static_cast<int64_t>(buffer.elements) / plan.cols;
  return buffer;
}

LogicalResult Planner::planBuffers() {
  kern::KernelOp kernel = plan.kernel;
  for (auto [i, type] : llvm::enumerate(kernel.getInputTypes())) {
    auto access = cast<kern::AccessAttr>(kernel.getInputAccesses()[i]);
    auto buffer = planBuffer(cast<TypeAttr>(type).getValue(), access.getValue(),
                             "operand " + Twine(i));
    if (failed(buffer))
      return failure();
    plan.inputs.push_back(*buffer);
  }
  for (auto [i, type] : llvm::enumerate(kernel.getResultTypes())) {
    auto access = cast<kern::AccessAttr>(kernel.getResultAccesses()[i]);
    auto buffer = planBuffer(cast<TypeAttr>(type).getValue(), access.getValue(),
                             "result " + Twine(i));
    if (failed(buffer))
      return failure();
    if (buffer->element == Element::I32)
      return kernel.emitOpError("result ") << i << " has element type i32";
    plan.results.push_back({*buffer, 0});
  }
  return success();
}

/// Names accesses by what they mean in this space: a tile of all rows is full,
/// of one row a column; the one row's elements are full.
void Planner::simplifyAccesses() {
  using kern::Access;
  for (PlanBuffer &input : plan.inputs) {
    if (input.access == Access::Tiled && input.rows == plan.rows)
      input.access = Access::Full;
    if (input.access == Access::Tiled && input.rows == 1)
      input.access = Access::Col;
    if (plan.form != KernelPlan::Form::Rows || plan.rows != 1)
      continue;
    if (input.access == Access::Row)
      input.access = Access::Scalar;
    if (input.access == Access::Col)
      input.access = Access::Full;
  }
  for (PlanResult &result : plan.results)
    if (result.buffer.access == Access::Scalar)
      result.buffer.access = Access::Row;
}

/// A space of one column becomes one of one row, so that there is something to
/// vectorise; a sum over rows becomes a reduction over that row.
void Planner::turnSingleColumn() {
  using kern::Access;
  bool tiled = llvm::any_of(plan.inputs, [](const PlanBuffer &input) {
    return input.access == Access::Tiled;
  });
  if (plan.cols != 1 || plan.rows == 1 || tiled || plan.sums() > 0)
    return;
  columnWasRow = true;
  std::swap(plan.rows, plan.cols);
  for (PlanBuffer &input : plan.inputs)
    input.access = input.access == Access::Full || input.access == Access::Row
                       ? Access::Full
                       : Access::Scalar;
  bool sums = plan.form == KernelPlan::Form::Columns;
  for (PlanResult &result : plan.results)
    result.buffer.access = sums ? Access::Row : Access::Full;
  plan.form = KernelPlan::Form::Rows;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

unsigned Planner::addNode(PlanNode node) {
  plan.nodes.push_back(std::move(node));
  return plan.nodes.size() - 1;
}

LogicalResult Planner::buildNode(Operation &op) {
  if (op.getNumResults() != 1)
    return op.emitOpError("must have one result to be compiled");
  PlanNode node(PlanNode::Kind::Operation);
  node.op = &op;
  for (Value operand : op.getOperands())
    node.operands.push_back(ids.lookup(operand));
  node.type = op.getResult(0).getType();
  if (auto reduce = dyn_cast<kern::ReduceOp>(op)) {
    node.kind = columnWasRow ? PlanNode::Kind::Same : PlanNode::Kind::Reduction;
    node.reduction = reduce.getKind();
  } else if (isa<kern::KeepScaleOp>(op)) {
    node.kind = PlanNode::Kind::KeepScale;
    node.costly = true;
  } else {
    const ScalarOp *row = findScalarOp(op);
    if (!row)
      return op.emitOpError("has no counterpart in compiled code");
    node.costly = row->costly;
  }
  if (!isScalarType(node.type))
    return op.emitOpError("gives ") << node.type << ", which no kernel knows";
  bool converts = isa<arith::ExtFOp, arith::TruncFOp, arith::ConstantOp>(op);
  for (Type type : op.getOperandTypes())
    if (!converts && isa<FloatType>(type) && !type.isF32())
      return op.emitOpError("computes on ")
             << type << "; inside a kernel values are f32";
  ids[op.getResult(0)] = addNode(std::move(node));
  return success();
}

LogicalResult Planner::buildNodes() {
  Block &block = plan.kernel.getBody().front();
  for (BlockArgument argument : block.getArguments()) {
    unsigned number = argument.getArgNumber(), inputs = plan.inputs.size();
    bool input = number < inputs;
    PlanNode node(input ? PlanNode::Kind::Input : PlanNode::Kind::Instance);
    node.index = input ? number : number - inputs;
    node.type = argument.getType();
    ids[argument] = addNode(std::move(node));
  }
  for (Operation &op : block.without_terminator())
    if (failed(buildNode(op)))
      return failure();
  bool sums = plan.kernel.getByColumns() && columnWasRow;
  for (auto [i, value] :
       llvm::enumerate(block.getTerminator()->getOperands())) {
    plan.results[i].node = ids.lookup(value);
    if (!sums)
      continue;
    PlanNode node(PlanNode::Kind::Reduction);
    node.operands.push_back(plan.results[i].node);
    node.type = value.getType();
    plan.results[i].node = addNode(std::move(node));
  }
  return success();
}

void Planner::markLive() {
  for (PlanResult &result : plan.results)
    plan.nodes[result.node].live = true;
  for (PlanNode &node : llvm::reverse(plan.nodes)) {
    if (!node.live)
      continue;
    plan.usesRandom |= node.kind == PlanNode::Kind::KeepScale;
    for (unsigned operand : node.operands)
      plan.nodes[operand].live = true;
  }
}

bool Planner::hasReductions() const {
  return llvm::any_of(plan.nodes, [](const PlanNode &node) {
    return node.live && node.kind == PlanNode::Kind::Reduction;
  });
}

/// Whether all random numbers are drawn for elements that follow each other in
/// the whole tensor.
bool Planner::drawsInOneRun() const {
  return llvm::all_of(plan.nodes, [&](const PlanNode &node) {
    return !node.live || node.kind != PlanNode::Kind::KeepScale ||
           WholeElements(cast<kern::KeepScaleOp>(node.op)).run() >=
               plan.points();
  });
}

/// Decides what a task is. An elementwise kernel without rows or columns in it
/// is one long row.
void Planner::chooseTasks() {
  using kern::Access;
  if (plan.form == KernelPlan::Form::Columns) {
    plan.chunk = plan.cols < 1024 ? 32 : 64;
    if (plan.rows < fewRows && plan.cols >= 4 * elementsPerChunk)
      plan.chunk = elementsPerChunk / 8;
    return;
  }
  plan.chunk = plan.cols;
  bool rowResult = llvm::any_of(plan.results, [](const PlanResult &result) {
    return result.buffer.access != Access::Full;
  });
  if (hasReductions() || rowResult)
    return;
  bool flat = llvm::all_of(plan.inputs, [](const PlanBuffer &input) {
    return input.access == Access::Full || input.access == Access::Scalar;
  });
  if (flat && drawsInOneRun()) {
    plan.cols *= plan.rows;
    plan.rows = 1;
    plan.chunk = plan.cols;
  }
  if (plan.rows < fewRows && plan.cols >= 2 * elementsPerChunk)
    plan.chunk = elementsPerChunk;
}

static Level levelOf(kern::Access access) {
  switch (access) {
  case kern::Access::Full:
  case kern::Access::Tiled:
    return Level::Full;
  case kern::Access::Row:
    return Level::Row;
  case kern::Access::Col:
    return Level::Column;
  case kern::Access::Scalar:
    return Level::Scalar;
  }
  llvm_unreachable("an access that the enumeration lacks");
}

LogicalResult Planner::computeLevels() {
  for (PlanNode &node : plan.nodes) {
    if (node.kind == PlanNode::Kind::Input)
      node.level = levelOf(plan.inputs[node.index].access);
    for (unsigned operand : node.operands) {
      const PlanNode &from = plan.nodes[operand];
      node.level = join(node.level, from.level);
      node.stage = std::max(node.stage, from.stage);
      node.costly |= from.costly && plan.isVector(operand);
    }
    if (node.kind == PlanNode::Kind::Reduction) {
      node.level = Level::Row;
      node.costly = false;
      ++node.stage;
    }
    if (node.kind != PlanNode::Kind::KeepScale)
      continue;
    if (!node.operands.empty() && node.level != Level::Scalar)
      return node.op->emitOpError(
          "instance and starts must not vary with the element");
    node.level = Level::Full;
  }
  return success();
}

/// A result of one element a row needs a value of one a row.
LogicalResult Planner::checkResults() {
  if (plan.form == KernelPlan::Form::Columns)
    return success();
  for (auto [i, result] : llvm::enumerate(plan.results))
    if (result.buffer.access == kern::Access::Row && plan.isVector(result.node))
      return plan.kernel.emitOpError("result ")
             << i << " has one element a row, but its value differs from "
             << "column to column";
  return success();
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

/// Adds what `node` needs to the pass, stopping at values that an earlier pass
/// can keep.
void Planner::collect(unsigned id, unsigned stage, PlanPass &pass,
                      llvm::SmallVectorImpl<bool> &seen) {
  if (!plan.isVector(id) || seen[id])
    return;
  seen[id] = true;
  PlanNode &node = plan.nodes[id];
  int64_t bytes = (plan.caches + 1) * (plan.cols + 64) * 4;
  bool kept = node.costly && node.type.isF32() && computedIn[id] >= 0 &&
              (node.cache >= 0 || bytes <= rowBufferBytes);
  if (!kept) {
    for (unsigned operand : node.operands)
      collect(operand, stage, pass, seen);
    pass.nodes.push_back(id);
    return;
  }
  if (node.cache < 0) {
    node.cache = plan.caches++;
    plan.passes[computedIn[id]].toCache.push_back(id);
  }
  pass.fromCache.push_back(id);
}

void Planner::planPasses() {
  int last = -1;
  for (const PlanNode &node : plan.nodes)
    if (node.live && node.kind == PlanNode::Kind::Reduction)
      last = std::max<int>(last, node.stage - 1);
  auto isOfColumns = [](const PlanResult &result) {
    return result.buffer.access != kern::Access::Row;
  };
  for (const PlanResult &result : plan.results)
    if (isOfColumns(result))
      last = std::max<int>(last, plan.nodes[result.node].stage);
  computedIn.assign(plan.nodes.size(), -1);
  plan.passes.resize(last + 1);
  for (int stage = 0; stage <= last; ++stage) {
    PlanPass &pass = plan.passes[stage];
    llvm::SmallVector<bool> seen(plan.nodes.size(), false);
    for (auto [id, node] : llvm::enumerate(plan.nodes)) {
      if (!node.live || node.kind != PlanNode::Kind::Reduction ||
          static_cast<int>(node.stage) != stage + 1)
        continue;
      pass.reductions.push_back(id);
      collect(node.operands[0], stage, pass, seen);
    }
    if (stage == last)
      for (const PlanResult &result : plan.results)
        if (isOfColumns(result))
          collect(result.node, stage, pass, seen);
    llvm::sort(pass.nodes);
    for (unsigned id : pass.nodes) {
      const PlanNode &node = plan.nodes[id];
      if (computedIn[id] < 0)
        computedIn[id] = stage;
      if (node.kind == PlanNode::Kind::Operation)
        pass.weight += findScalarOp(*node.op)->flops;
    }
  }
}

FailureOr<KernelPlan> Planner::run() {
  plan.symbol = symbolOf(plan.kernel.getSymName());
  plan.rows = plan.kernel.getRows();
  plan.cols = plan.kernel.getCols();
  if (plan.kernel.getByColumns())
    plan.form = KernelPlan::Form::Columns;
  if (failed(planBuffers()))
    return failure();
  plan.accumulates = plan.kernel.getByColumns() || plan.sums() > 0;
  simplifyAccesses();
  turnSingleColumn();
  simplifyAccesses();
  if (failed(buildNodes()))
    return failure();
  markLive();
  chooseTasks();
  if (failed(computeLevels()) || failed(checkResults()))
    return failure();
  if (plan.form == KernelPlan::Form::Rows)
    planPasses();
  return std::move(plan);
}

FailureOr<KernelPlan> planKernel(kern::KernelOp kernel,
                                 int64_t rowBufferBytes) {
  return Planner(kernel, rowBufferBytes).run();
}

} // namespace hocket::loops
