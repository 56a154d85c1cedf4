//===- MeshAxes.cpp - The axes of a mesh that is being made ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/conversion/XfToDist/MeshAxes.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace hocket::dist;

LogicalResult MeshAxes::parse(ArrayRef<std::string> entries) {
  for (StringRef entry : entries) {
    auto [name, text] = entry.split('=');
    int64_t size;
    if (name.empty() || text.getAsInteger(10, size))
      return emitError(loc)
             << "a mesh axis is written name=size, not '" << entry << "'";
    axisNames.push_back(name);
    axisSizes.push_back(size);
  }
  if (axisNames.empty()) {
    axisNames.push_back("dp");
    axisSizes.push_back(1);
  }
  return success();
}

int64_t MeshAxes::ranks(StringRef axis) const {
  for (auto [name, size] : llvm::zip(axisNames, axisSizes))
    if (name == axis)
      return std::max<int64_t>(1, size); // sizes are verified later
  return 1;
}

FailureOr<SmallVector<NamedSubAxis>> MeshAxes::cut(StringRef axis,
                                                   const AxisCut &cut) {
  if (!cut.isEven())
    return emitError(loc) << "D20: " << cut.ranks << " ranks along " << axis
                          << " cannot hold " << cut.different
                          << " parts of the experts, each in " << cut.inside;
  SmallVector<NamedSubAxis> parts;
  auto *found = llvm::find(axisNames, axis);
  if (found == axisNames.end() || cut.ranks == 1)
    return parts;
  for (const SubAxis &part : cutAxis(cut))
    parts.emplace_back(axis, part);
  auto *size = axisSizes.begin() + (found - axisNames.begin());
  found = axisNames.erase(found);
  size = axisSizes.erase(size);
  for (auto &&[i, part] : llvm::enumerate(parts)) {
    if (parts.size() > 1)
      part.first =
          StringAttr::get(loc.getContext(), axis + "." + llvm::Twine(i));
    found = axisNames.insert(found, part.first) + 1;
    size = axisSizes.insert(size, part.second.size) + 1;
  }
  return parts;
}
