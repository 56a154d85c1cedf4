//===- KernelWriter.cpp - One fused kernel as CUDA C++ --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/targets/cuda/KernelWriter.h"

#include "compiler/targets/cuda/ScalarText.h"
#include "compiler/targets/loops/WholeElements.h"
#include "kernels/reference/Philox.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <algorithm>

using namespace mlir;

namespace hocket::cuda {

using loops::Element;
using loops::Level;
using loops::PlanBuffer;
using loops::PlanNode;
using loops::PlanPass;
using loops::PlanResult;
using Kind = PlanNode::Kind;

/// One-byte elements are converted two at a time, once all are there.
static bool isNarrowedAtOnce(Element element) {
  return loops::bytesOf(element) == 1;
}

static StringRef opText(kern::Reduction reduction) {
  return reduction == kern::Reduction::Add ? "Add" : "Max";
}

KernelWriter::KernelWriter(const KernelPlan &plan, const Geometry &geometry)
    : plan(plan), geometry(geometry), width(number(geometry.width)) {
  uses.assign(plan.nodes.size(), 0);
  for (const PlanPass &pass : plan.passes)
    for (unsigned id : pass.nodes)
      ++uses[id];
  nameNodes();
}

void KernelWriter::nameNodes() {
  for (auto [id, node] : llvm::enumerate(plan.nodes)) {
    std::string name;
    switch (node.kind) {
    case Kind::Input:
      name = "a" + number(node.index);
      break;
    case Kind::Instance:
      name = "instance" + number(node.index);
      break;
    case Kind::Same:
      name = names[node.operands[0]];
      break;
    case Kind::Reduction:
      name = node.reduction == kern::Reduction::Add ? "sum" : "greatest";
      name += number(id);
      break;
    case Kind::KeepScale:
      name = "keep" + number(id);
      break;
    case Kind::Operation:
      name = isa<arith::ConstantOp>(node.op)
                 ? expressionOf(*node.op, {})
                 : node.op->getName().stripDialect().str() + number(id);
      break;
    }
    names.push_back(std::move(name));
  }
}

//===----------------------------------------------------------------------===//
// The function and what is the same for all elements
//===----------------------------------------------------------------------===//

void KernelWriter::writeHead() {
  kern::KernelOp kernel = plan.kernel;
  std::string label = kernel.getLabel().empty() ? kernel.getSymName().str()
                                                : kernel.getLabel().str();
  // A comment ends with its line, whatever the label holds.
  std::ranges::replace_if(
      label, [](char c) { return !llvm::isPrint(c) || c == '\\'; }, ' ');
  out.line("// " + label + " [" + Twine(plan.rows) + " x " + Twine(plan.cols) +
           "]" + (kernel.getByColumns() ? ", summed over rows" : ""));
  // The loads of several rows take registers: two blocks at once are enough. So
  // do sums of rows, for which twelve warps are.
  std::string atOnce;
  if (geometry.form == Geometry::Form::Columns)
    atOnce = ", 2";
  else if (sumsRows())
    atOnce = ", " + number(std::max(12 * 32 / geometry.block, 1));
  out.line("extern \"C\" __global__ void __launch_bounds__(" +
           Twine(geometry.block) + atOnce + ")");
  std::string parameters;
  for (auto [i, input] : llvm::enumerate(plan.inputs))
    parameters +=
        ("const " + typeText(input.element) + " *in" + Twine(i) + ", ").str();
  for (auto [i, result] : llvm::enumerate(plan.results))
    parameters +=
        (typeText(result.buffer.element) + " *out" + Twine(i) + ", ").str();
  parameters +=
      "const Scalars<" + number(4 + kernel.getInstances()) + "> scalars";
  out.open(plan.symbol + "(" + parameters + ")");
  out.line("[[maybe_unused]] constexpr Integer rows = " + Twine(plan.rows) +
           ", cols = " + Twine(plan.cols) + ";");
}

void KernelWriter::writeScalars() {
  for (auto [id, node] : llvm::enumerate(plan.nodes))
    if (node.live && node.level == Level::Scalar)
      writeNode(id);
  for (auto [id, node] : llvm::enumerate(plan.nodes))
    if (node.live && node.kind == Kind::KeepScale)
      writePlaces(id);
}

/// The form in text of kernels/reference/TensorShard.h, where it is needed:
/// from the place of an element in the kernel to that in the whole tensor.
void KernelWriter::writePlaces(unsigned id) {
  const PlanNode &node = plan.nodes[id];
  auto op = cast<kern::KeepScaleOp>(node.op);
  loops::WholeElements whole(op);
  if (whole.size() == 0)
    return;
  auto starts = ArrayRef(node.operands).take_back(op.getAt().size());
  out.open("const auto placeOf" + Twine(id) + " = [&](Integer at)");
  out.line("Integer place = 0;");
  for (const loops::WholeElements::Dim &dim : whole.dimensions()) {
    bool last = &dim == &whole.dimensions().back();
    std::string row = last ? "at" : "at % " + number(dim.extent);
    if (dim.start >= 0)
      row = "Integer(" + names[starts[dim.start]] + ") * " + number(dim.inner) +
            " + " + row;
    if (dim.part > 0)
      row = "unfold" + (dim.rounds > 1 ? "<" + number(dim.rounds) + ">" : "") +
            "(" + row + ", " + number(dim.rows) + ", " + number(dim.part) + ")";
    out.line("place += (" + row + ") * " + Twine(dim.stride) + ";");
    if (!last)
      out.line("at /= " + Twine(dim.extent) + ";");
  }
  out.line("return place;");
  out.close("};");
}

/// Draws the random words of a vector.
void KernelWriter::writeWords(unsigned id) {
  const PlanNode &node = plan.nodes[id];
  auto op = cast<kern::KeepScaleOp>(node.op);
  loops::WholeElements whole(op);
  std::string stream = number(int64_t(op.getStream()) * 65536);
  if (op.getInstance())
    stream += " + " + names[node.operands[0]];
  std::string words = "words" + number(id), place = "placeOf" + number(id);
  std::string row = plan.rows == 1 ? "0" : "row * cols";
  std::string key =
      "{scalars.at[0], unsigned(" + stream + "), unsigned(scalars.at[1])}";
  int64_t size = whole.size() > 0 ? whole.size() : plan.points();
  std::string first = "scalars.at[2] * " + number(size) + " + ";
  out.line("unsigned " + words + "[" + width + "];");
  if (whole.size() > 0 && whole.run() % plan.cols != 0) {
    out.openUnrolled("int", "i", width);
    out.line("randomWords<1>(" + key + ", " + first + place + "(" + row +
             " + column + i), " + words + " + i);");
    out.close();
    return;
  }
  first += whole.size() > 0 ? place + "(" + row + ")" : row;
  out.line("randomWords<" + width + ">(" + key + ", " + first + " + column, " +
           words + ");");
}

void KernelWriter::writeRowValues(unsigned stage) {
  for (auto [id, node] : llvm::enumerate(plan.nodes))
    if (node.live && node.level == Level::Row && node.stage == stage &&
        node.kind != Kind::Reduction)
      writeNode(id);
}

/// Where the row's elements of `buffer` begin.
std::string KernelWriter::rowOf(const PlanBuffer &buffer,
                                const std::string &base) {
  std::string cols = plan.rows == 1 ? "" : " + row * cols";
  switch (buffer.access) {
  case kern::Access::Full:
    return base + cols;
  case kern::Access::Tiled:
    return base + " + row % " + number(buffer.rows) + " * cols";
  case kern::Access::Row:
    return base + " + row";
  case kern::Access::Col:
  case kern::Access::Scalar:
    return base;
  }
  llvm_unreachable("an access that the enumeration lacks");
}

/// A declaration of a value of its own: a scalar, or one element of a vector.
void KernelWriter::writeNode(unsigned id) {
  const PlanNode &node = plan.nodes[id];
  if (node.kind == Kind::Same || (node.op && isa<arith::ConstantOp>(node.op)))
    return;
  std::string name = names[id], value;
  if (node.kind == Kind::Instance) {
    value = "int(scalars.at[" + number(4 + node.index) + "])";
  } else if (node.kind == Kind::KeepScale) {
    auto op = cast<kern::KeepScaleOp>(node.op);
    double rate = op.getRate().convertToDouble();
    auto literal = [](double x) { return literalOf(static_cast<float>(x)); };
    value = "words" + number(id) + "[i]";
    if (op.getJitter())
      value = "fmaf(float(" + value + " >> " +
              number(32 - kernels::jitterBits) + "), " +
              literal(kernels::jitterStep(rate)) + ", " + literal(1 - rate) +
              ")";
    else
      value += " >= " + std::to_string(kernels::dropoutThreshold(rate)) +
               "u ? " + literal(1.0 / (1.0 - rate)) + " : 0.0f";
  } else if (node.kind == Kind::Input) {
    const PlanBuffer &buffer = plan.inputs[node.index];
    std::string base = "in" + number(node.index);
    value = plan.isVector(id) ? "vector" + number(node.index) + ".at[i]"
                              : "*(" + rowOf(buffer, base) + ")";
    if (buffer.element != Element::I32)
      value = "toFloat(" + value + ")";
  } else {
    SmallVector<std::string> operands;
    for (unsigned operand : node.operands)
      operands.push_back(names[operand]);
    value = expressionOf(*node.op, operands);
  }
  out.line("const " + cuda::typeText(node.type) + " " + name + " = " + value +
           ";");
}

void KernelWriter::writeRowResults() {
  SmallVector<unsigned> ofRow;
  for (auto [i, result] : llvm::enumerate(plan.results))
    if (result.buffer.access == kern::Access::Row)
      ofRow.push_back(i);
  if (ofRow.empty())
    return;
  // What lies there may be an input that another thread is still to read.
  out.line(geometry.rowThreads == 32 ? "__syncwarp();" : "__syncthreads();");
  out.open("if (lane == 0)");
  for (unsigned i : ofRow) {
    const PlanResult &result = plan.results[i];
    std::string base = "out" + number(i), type(typeText(result.buffer.element));
    std::string value = names[result.node];
    if (plan.accumulates && !sumsRows())
      value = "scalars.at[3] ? toFloat(" + base + "[row]) + " + value + " : " +
              value;
    out.line(base + "[row] = fromFloat<" + type + ">(" + value + ");");
  }
  out.close();
}

//===----------------------------------------------------------------------===//
// A vector of a row
//===----------------------------------------------------------------------===//

/// Whether an input's vectors stay in registers from pass to pass. Where sums
/// take registers, what all rows read alike is in the cache anyway.
bool KernelWriter::isHeld(unsigned id) const {
  const PlanNode &node = plan.nodes[id];
  return geometry.form == Geometry::Form::Rows && geometry.held &&
         uses[id] > 1 && node.kind == Kind::Input &&
         !(sumsRows() && node.level == Level::Column);
}

/// The argument that cuts a vector at the end of the row, where that can be.
std::string KernelWriter::count() {
  return plan.cols % geometry.width == 0 ? "" : ", cols - column";
}

/// The vector of a row of `buffer` from `column` on.
std::string KernelWriter::loadOf(const PlanBuffer &buffer,
                                 const std::string &base) {
  std::string at = rowOf(buffer, base) + " + column";
  if (areAligned)
    return "loadAligned<" + width + ">(" + at + ")";
  if (sumsRows())
    return "loadSingly<" + width + ">(" + at + ")";
  return "load<" + width + ">(" + at + count() + ")";
}

/// The place where a costly value is kept from pass to pass.
std::string KernelWriter::kept(unsigned id) {
  std::string name = "kept" + number(plan.nodes[id].cache);
  return name + (geometry.held ? "[s][i]" : "[column + i]");
}

/// Loads the vectors of inputs and draws the random words of `nodes`: those
/// that follow the column alone, and the others.
void KernelWriter::writeLoads(Nodes nodes, bool columnLevel, bool others) {
  for (unsigned id : nodes) {
    const PlanNode &node = plan.nodes[id];
    bool wanted = node.level == Level::Column ? columnLevel : others;
    if (!wanted)
      continue;
    if (node.kind == Kind::KeepScale) {
      writeWords(id);
      continue;
    }
    if (node.kind != Kind::Input)
      continue;
    const PlanBuffer &buffer = plan.inputs[node.index];
    std::string index = number(node.index);
    std::string value =
        isHeld(id) ? "held" + index + "[s]" : loadOf(buffer, "in" + index);
    out.line("const auto vector" + index + " = " + value + ";");
  }
}

/// The values of each element of the vector, what they are reduced into, and
/// what becomes of them.
void KernelWriter::writeElements(const PlanPass &pass, bool stores) {
  if (stores)
    for (auto [i, result] : llvm::enumerate(plan.results)) {
      if (result.buffer.access != kern::Access::Full)
        continue;
      if (isNarrowedAtOnce(result.buffer.element))
        out.line("float result" + Twine(i) + "[" + width + "];");
      else
        out.line("Pack<" + typeText(result.buffer.element) + ", " + width +
                 "> result" + Twine(i) + ";");
    }
  out.openUnrolled("int", "i", width);
  for (unsigned id : pass.fromCache)
    out.line("const float " + names[id] + " = " + kept(id) + ";");
  for (unsigned id : pass.nodes)
    writeNode(id);
  for (unsigned id : pass.toCache)
    out.line(kept(id) + " = " + names[id] + ";");
  for (unsigned id : pass.reductions) {
    const PlanNode &node = plan.nodes[id];
    std::string partial = "partial" + number(id);
    out.line(partial + " = " + opText(node.reduction) + "::of(" + partial +
             ", " + names[node.operands[0]] + ");");
  }
  if (stores)
    for (unsigned i : summed())
      out.line("sums" + Twine(i) +
               (geometry.held ? "[s][i]" : "[column / " + width + "].at[i]") +
               " += " + names[plan.results[i].node] + ";");
  if (stores)
    for (auto [i, result] : llvm::enumerate(plan.results)) {
      if (result.buffer.access != kern::Access::Full)
        continue;
      if (isNarrowedAtOnce(result.buffer.element))
        out.line("result" + Twine(i) + "[i] = " + names[result.node] + ";");
      else
        out.line("result" + Twine(i) + ".at[i] = fromFloat<" +
                 typeText(result.buffer.element) + ">(" + names[result.node] +
                 ");");
    }
  out.close();
  if (stores)
    writeResults();
}

void KernelWriter::writeResults() {
  for (auto [i, result] : llvm::enumerate(plan.results)) {
    if (result.buffer.access != kern::Access::Full)
      continue;
    std::string name = "out" + number(i), values = "result" + number(i);
    if (isNarrowedAtOnce(result.buffer.element))
      values =
          ("narrowed<" + typeText(result.buffer.element) + ">(" + values + ")")
              .str();
    out.line((areAligned ? "storeWhole(" : "store(") +
             rowOf(result.buffer, name) + " + column, " + values + count() +
             ");");
  }
}

//===----------------------------------------------------------------------===//
// No reduction
//===----------------------------------------------------------------------===//

void KernelWriter::writeFlat() {
  out.line("const Integer at = (Integer(blockIdx.x) * " +
           Twine(geometry.block) + " + threadIdx.x) * " + width + ";");
  if (plan.rows == 1) {
    out.line("const Integer column = at;");
    out.line("if (column >= cols)");
  } else {
    out.line("const Integer row = at / cols, column = at % cols;");
    out.line("if (row >= rows)");
  }
  out.line("  return;");
  writeScalars();
  writeRowValues(0);
  if (plan.passes.empty())
    return;
  writeLoads(plan.passes[0].nodes, true, true);
  writeElements(plan.passes[0], /*stores=*/true);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Registers or shared memory for what later passes need again.
void KernelWriter::writeHeldValues() {
  for (auto [id, node] : llvm::enumerate(plan.nodes)) {
    if (!isHeld(id))
      continue;
    std::string held = "held" + number(node.index);
    out.line("Pack<" + typeText(plan.inputs[node.index].element) + ", " +
             width + "> " + held + "[" + Twine(geometry.steps) + "];");
  }
  if (plan.caches > 0 && !geometry.held)
    out.line("HOCKET_DYNAMIC_SHARED(shared);");
  for (unsigned i = 0; i < plan.caches; ++i)
    if (geometry.held)
      out.line("float kept" + Twine(i) + "[" + Twine(geometry.steps) + "][" +
               width + "];");
    else
      out.line("float *const kept" + Twine(i) + " = shared + " + Twine(i) +
               " * cols;");
}

void KernelWriter::writeHeldLoads() {
  SmallVector<unsigned> loaded;
  for (unsigned id = 0; id < plan.nodes.size(); ++id)
    if (isHeld(id))
      loaded.push_back(id);
  if (loaded.empty())
    return;
  out.openUnrolled("int", "s", number(geometry.steps));
  out.line("const Integer column = (s * " + Twine(geometry.rowThreads) +
           " + lane) * " + width + ";");
  out.open("if (column < cols)");
  for (unsigned id : loaded) {
    std::string index = number(plan.nodes[id].index);
    out.line("held" + index + "[s] = " +
             loadOf(plan.inputs[plan.nodes[id].index], "in" + index) + ";");
  }
  out.close();
  out.close();
}

void KernelWriter::writePass(unsigned stage) {
  const PlanPass &pass = plan.passes[stage];
  std::string threads = number(geometry.rowThreads);
  for (unsigned id : pass.reductions)
    out.line("float partial" + Twine(id) + " = neutral<" +
             opText(plan.nodes[id].reduction) + ">();");
  if (geometry.held) {
    out.openUnrolled("int", "s", number(geometry.steps));
    out.line("const Integer column = (s * " + threads + " + lane) * " + width +
             ";");
    out.open("if (column < cols)");
  } else {
    out.open("for (Integer column = lane * " + width +
             "; column < cols; column += " +
             number(int64_t(geometry.rowThreads) * geometry.width) + ")");
  }
  writeLoads(pass.nodes, true, true);
  writeElements(pass, /*stores=*/stage + 1 == plan.passes.size());
  if (geometry.held)
    out.close();
  out.close();
  for (unsigned id : pass.reductions)
    out.line("const float " + names[id] + " = reduceRow<" +
             opText(plan.nodes[id].reduction) + ", " + threads + ">(partial" +
             Twine(id) + ", scratch);");
}

/// Which row is this thread's.
void KernelWriter::writePlaceOfRow() {
  if (geometry.rowsOfBlock() == 1) {
    out.line("const Integer row = blockIdx.x;");
    return;
  }
  out.line("const Integer row = Integer(blockIdx.x) * " +
           Twine(geometry.rowsOfBlock()) + " + threadIdx.x / " +
           Twine(geometry.rowThreads) + ";");
  out.line("if (row >= rows)");
  out.line("  return;");
}

void KernelWriter::writeRows() {
  bool isBlock = geometry.rowsOfBlock() == 1;
  out.line("const int lane = threadIdx.x" +
           (isBlock ? Twine() : " % " + Twine(geometry.rowThreads)) + ";");
  if (!sumsRows())
    writePlaceOfRow();
  if (isBlock)
    out.line("__shared__ float scratch[" + Twine(geometry.rowThreads / 32) +
             "];");
  else
    out.line("float *const scratch = nullptr; // A warp needs none.");
  writeScalars();
  writeHeldValues();
  if (sumsRows())
    writeSummedRows();
  else
    writeRow();
}

/// What is computed of a row.
void KernelWriter::writeRow() {
  writeHeldLoads();
  writeRowValues(0);
  for (unsigned stage = 0; stage < plan.passes.size(); ++stage) {
    writePass(stage);
    writeRowValues(stage + 1);
  }
  writeRowResults();
}

std::string KernelWriter::write() {
  writeHead();
  switch (geometry.form) {
  case Geometry::Form::Flat:
    writeFlat();
    break;
  case Geometry::Form::Rows:
    writeRows();
    break;
  case Geometry::Form::Columns:
    writeColumns();
    break;
  }
  out.close();
  return std::move(out.text);
}

} // namespace hocket::cuda
