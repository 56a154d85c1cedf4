//===- MeshAxes.cpp - The axes of a mesh that is being made ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/conversion/XfToDist/MeshAxes.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::dist;

MeshAxes::MeshAxes(MLIRContext *context,
                   const std::vector<plan::MeshAxis> &axes)
    : context(context) {
  auto add = [&](AxisKind kind, int64_t size) {
    StringRef name = axisName(kind);
    axisNames.push_back(StringAttr::get(context, name).getValue());
    axisSizes.push_back(size);
  };
  for (const auto &[kind, size] : axes)
    add(kind, size);
  if (axes.empty())
    add(AxisKind::Data, 1);
}

SmallVector<NamedSubAxis> MeshAxes::cut(AxisKind kind, const AxisCut &cut) {
  assert(cut.isEven() && "a plan that keeps S21 and S38");
  SmallVector<NamedSubAxis> parts;
  StringRef axis = axisName(kind);
  auto *found = llvm::find(axisNames, axis);
  if (found == axisNames.end())
    return parts;
  for (const SubAxis &part : cutAxis(cut))
    parts.emplace_back(*found, part);
  auto *size = axisSizes.begin() + (found - axisNames.begin());
  found = axisNames.erase(found);
  size = axisSizes.erase(size);
  for (auto &&[i, part] : llvm::enumerate(parts)) {
    if (parts.size() > 1)
      part.first =
          StringAttr::get(context, axis + "." + llvm::Twine(i)).getValue();
    found = axisNames.insert(found, part.first) + 1;
    size = axisSizes.insert(size, part.second.size) + 1;
  }
  return parts;
}
