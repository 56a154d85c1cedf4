//===- KernelSums.cpp - Sums over rows as CUDA C++ ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The part of KernelWriter that sums over rows: beside what a kernel of rows
/// computes of each, and as all that a kernel computes.
///
//===----------------------------------------------------------------------===//

#include "compiler/targets/cuda/KernelWriter.h"

#include "compiler/targets/cuda/ScalarText.h"

using namespace mlir;

namespace hocket::cuda {

using loops::PlanBuffer;
using Kind = loops::PlanNode::Kind;

//===----------------------------------------------------------------------===//
// Rows that are summed
//===----------------------------------------------------------------------===//

bool KernelWriter::sumsRows() const { return plan.sums() > 0; }

/// The results that are sums over rows.
SmallVector<unsigned> KernelWriter::summed() const {
  SmallVector<unsigned> results;
  for (auto [i, result] : llvm::enumerate(plan.results))
    if (plan.isSum(result))
      results.push_back(i);
  return results;
}

/// Which rows are this block's, and its sums. These are in registers
/// or, where a thread has too many columns, in the memory that the sums of a
/// part have anyway, in which no other thread reads or writes these.
void KernelWriter::writePlaceOfRows() {
  std::string vectors =
      number(llvm::divideCeil(plan.cols, int64_t(geometry.width)));
  std::string pack = "static __device__ Pack<float, " + width + "> ";
  std::string sums = "[" + number(plan.sums()) + "][";
  out.line(pack + "partials" + sums + Twine(geometry.parts) + "][" + vectors +
           "];");
  out.line(pack + "grouped" + sums + Twine(geometry.groupsOfParts()) + "][" +
           vectors + "];");
  out.line("static __device__ unsigned arrived[" +
           Twine(geometry.groupsOfParts() + 1) + "];");
  out.line("const int part = blockIdx.x;");
  for (auto [place, i] : llvm::enumerate(summed())) {
    if (geometry.held) {
      out.line("float sums" + Twine(i) + "[" + Twine(geometry.steps) + "][" +
               width + "] = {};");
      continue;
    }
    out.line("Pack<float, " + width + "> *const sums" + Twine(i) +
             " = partials[" + Twine(place) + "][part];");
    out.open("for (Integer vector = lane; vector < " + vectors +
             "; vector += " + number(geometry.rowThreads) + ")");
    out.line("sums" + Twine(i) + "[vector] = {};");
    out.close();
  }
  std::string rows = number(geometry.partRows);
  out.line("const Integer first = Integer(part) * " + rows + ";");
  out.line("const Integer last = first + " + rows + " < rows ? first + " +
           rows + " : rows;");
}

/// The loop over this thread's rows.
void KernelWriter::writeRowsOfPart() {
  std::string mine = geometry.rowsOfBlock() == 1
                         ? ""
                         : " + threadIdx.x / " + number(geometry.rowThreads);
  out.open("for (Integer row = first" + mine +
           "; row < last; row += " + number(geometry.rowsOfBlock()) + ")");
  writeRow();
  out.close();
}

/// Rows are whole vectors, so the alignment of all accesses is that of the
/// buffers, which is tested once.
void KernelWriter::writeSummedRows() {
  writePlaceOfRows();
  std::string buffers;
  auto add = [&](StringRef kind, unsigned i) {
    buffers += (buffers.empty() ? "" : ", ") + kind.str() + number(i);
  };
  for (auto [id, node] : llvm::enumerate(plan.nodes))
    if (node.live && node.kind == Kind::Input && plan.isVector(id))
      add("in", node.index);
  for (auto [i, result] : llvm::enumerate(plan.results))
    if (result.buffer.access == kern::Access::Full)
      add("out", i);
  bool isTested = geometry.width > 1;
  if (isTested)
    out.open("if (areAligned<" + width + ">(" + buffers + "))");
  areAligned = true;
  writeRowsOfPart();
  areAligned = false;
  if (isTested) {
    out.close();
    out.open("else");
    writeRowsOfPart();
    out.close();
  }
  writeSums();
}

/// Adds the sums of the block's rows, then of all blocks.
void KernelWriter::writeSums() {
  if (geometry.held)
    writePartSums();
  std::string members = number(geometry.groupParts);
  std::string groups = number(geometry.groupsOfParts());
  std::string threads = number(geometry.block);
  out.line("const int group = part / " + members + ";");
  out.line("const int left = " + Twine(geometry.parts) + " - group * " +
           members + ", members = left < " + members + " ? left : " + members +
           ";");
  out.line("if (!isLast(arrived[group], members))");
  out.line("  return;");
  for (unsigned place = 0; place < plan.sums(); ++place)
    out.line("sumParts<" + threads + ">(partials[" + Twine(place) +
             "] + group * " + members + ", members, grouped[" + Twine(place) +
             "][group]);");
  out.line("if (!isLast(arrived[" + groups + "], " + groups + "))");
  out.line("  return;");
  writeSumResults();
}

/// Leaves the sums of this block where the one that adds them finds them.
void KernelWriter::writePartSums() {
  std::string threads = number(geometry.rowThreads);
  bool areJoined = geometry.rowsOfBlock() > 1;
  if (areJoined)
    out.line("__shared__ float joined[" +
             Twine(geometry.steps * geometry.rowThreads * geometry.width) +
             "];");
  for (auto [place, i] : llvm::enumerate(summed())) {
    if (areJoined)
      out.line("joinRows<" + threads + ", " + Twine(geometry.rowsOfBlock()) +
               ">(sums" + Twine(i) + ", joined);");
    out.line("storeSums<" + threads + ">(sums" + Twine(i) + ", partials[" +
             Twine(place) + "][part]);");
  }
}

void KernelWriter::writeSumResults() {
  std::string threads = number(geometry.block);
  for (auto [place, i] : llvm::enumerate(summed())) {
    std::string type(typeText(plan.results[i].buffer.element));
    std::string to = "out" + number(i);
    out.open("for (Integer vector = threadIdx.x; vector * " + width +
             " < cols; vector += " + threads + ")");
    out.line("const Integer column = vector * " + width + ";");
    out.line("const auto sums = sumOfParts(grouped[" + Twine(place) + "], " +
             Twine(geometry.groupsOfParts()) + ", vector);");
    out.line("const auto before = scalars.at[3] ? loadSingly<" + width + ">(" +
             to + " + column) : Pack<" + type + ", " + width + ">{};");
    out.openUnrolled("int", "i", width);
    out.line(to + "[column + i] = fromFloat<" + type +
             ">(toFloat(before.at[i]) + sums.at[i]);");
    out.close();
    out.close();
  }
}

//===----------------------------------------------------------------------===//
// Sums over rows
//===----------------------------------------------------------------------===//

/// Which columns and rows are this thread's.
void KernelWriter::writePlaceOfColumns() {
  std::string lanes = number(geometry.lanes);
  out.line("const int lane = threadIdx.x % " + lanes +
           ", group = threadIdx.x / " + lanes + ";");
  if (geometry.parts == 1) {
    out.line("const Integer column = (Integer(blockIdx.x) * " + lanes +
             " + lane) * " + width + ";");
    return;
  }
  std::string blocks = number(geometry.blocks / geometry.parts);
  out.line("const int block = blockIdx.x % " + blocks +
           ", part = blockIdx.x / " + blocks + ";");
  out.line("const int vector = block * " + lanes + " + lane;");
  out.line("const Integer column = Integer(vector) * " + width + ";");
  std::string partRows = number(geometry.partRows);
  out.line("const Integer first = Integer(part) * " + partRows + ";");
  out.line("const Integer last = first + " + partRows + " < rows ? first + " +
           partRows + " : rows;");
}

/// The loop over this thread's rows, `atOnce` of them each time around.
void KernelWriter::writeRowLoop(Nodes nodes, int atOnce) {
  bool split = geometry.parts > 1;
  writeLoads(nodes, /*columnLevel=*/true, /*others=*/false);
  out.line("#pragma unroll " + Twine(atOnce));
  out.open("for (Integer row = " + Twine(split ? "first + group" : "group") +
           "; row < " + (split ? "last" : "rows") +
           "; row += " + Twine(geometry.groups) + ")");
  writeRowValues(0);
  writeLoads(nodes, /*columnLevel=*/false, /*others=*/true);
  out.openUnrolled("int", "i", width);
  for (unsigned id : nodes)
    writeNode(id);
  for (auto [i, result] : llvm::enumerate(plan.results))
    out.line("sums" + Twine(i) + "[i] += " + names[result.node] + ";");
  out.close();
  out.close();
}

/// This thread's rows, added in order. Where rows are whole vectors, the
/// alignment of all loads is that of the buffers. Tested once, it lets the
/// loads of several rows be under way together.
void KernelWriter::writeRowsOfVector() {
  SmallVector<unsigned> nodes;
  std::string buffers;
  for (auto [id, node] : llvm::enumerate(plan.nodes)) {
    if (!node.live || !plan.isVector(id))
      continue;
    nodes.push_back(id);
    if (node.kind == Kind::Input)
      buffers += (buffers.empty() ? "in" : ", in") + number(node.index);
  }
  bool whole = plan.cols % geometry.width == 0;
  if (whole) {
    out.open("if (column < cols && areAligned<" + width + ">(" + buffers +
             "))");
    areAligned = true;
    writeRowLoop(nodes, 4);
    areAligned = false;
    out.close();
  }
  out.open(whole ? "else if (column < cols)" : "if (column < cols)");
  writeRowLoop(nodes, 1);
  out.close();
}

/// Leaves the sums of this part where the block that is done last finds them;
/// that one goes on, with the sums of its groups' parts.
void KernelWriter::writeParts() {
  int64_t blocks = geometry.blocks / geometry.parts;
  std::string groups = number(geometry.groups), parts = number(geometry.parts);
  out.line("static __device__ Pack<float, " + width + "> partials[" +
           Twine(plan.results.size()) + "][" + parts + "][" +
           Twine(blocks * geometry.lanes) + "];");
  out.line("static __device__ unsigned arrived[" + Twine(blocks) + "];");
  std::string shape = number(geometry.lanes) + ", " + groups + ", " + width;
  for (unsigned i = 0; i < plan.results.size(); ++i) {
    out.line("reduceGroups<" + shape + ">(sums" + Twine(i) + ", scratch);");
    out.line("if (group == 0)");
    out.line("  partials[" + Twine(i) + "][part][vector] = packOf<" + width +
             ">(sums" + Twine(i) + ");");
  }
  out.line("if (!isLast(arrived[block], " + parts + "))");
  out.line("  return;");
  for (unsigned i = 0; i < plan.results.size(); ++i)
    out.line("addParts<" + groups + ">(partials[" + Twine(i) +
             "], vector, group, sums" + Twine(i) + ");");
}

void KernelWriter::writeColumnResult(unsigned result) {
  const PlanBuffer &buffer = plan.results[result].buffer;
  std::string number = cuda::number(result), type(typeText(buffer.element));
  out.line("reduceGroups<" + Twine(geometry.lanes) + ", " +
           Twine(geometry.groups) + ", " + width + ">(sums" + number +
           ", scratch);");
  out.open("if (group == 0 && column < cols)");
  out.line("Pack<" + type + ", " + width + "> result;");
  out.line("const auto before = scalars.at[3] ? load<" + width + ">(out" +
           number + " + column" + count() + ") : Pack<" + type + ", " + width +
           ">{};");
  out.openUnrolled("int", "i", width);
  out.line("result.at[i] = fromFloat<" + type +
           ">(toFloat(before.at[i]) + sums" + number + "[i]);");
  out.close();
  out.line("store(out" + number + " + column, result" + count() + ");");
  out.close();
}

void KernelWriter::writeColumns() {
  writePlaceOfColumns();
  out.line("__shared__ float scratch[" +
           Twine(geometry.block * geometry.width) + "];");
  writeScalars();
  for (unsigned i = 0; i < plan.results.size(); ++i)
    out.line("float sums" + Twine(i) + "[" + width + "] = {};");
  writeRowsOfVector();
  if (geometry.parts > 1)
    writeParts();
  for (unsigned i = 0; i < plan.results.size(); ++i)
    writeColumnResult(i);
}

} // namespace hocket::cuda
