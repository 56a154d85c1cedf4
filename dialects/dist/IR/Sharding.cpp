//===- Sharding.cpp - Where a tensor's elements live ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Sharding.h"

#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace hocket::dist;

static Axes axesOf(ArrayAttr names) {
  Axes axes;
  for (auto name : names.getAsRange<StringAttr>())
    axes.push_back(name.getValue());
  return axes;
}

Sharding Sharding::whole(int64_t rank) {
  Sharding sharding;
  sharding.dims.resize(rank);
  return sharding;
}

Sharding Sharding::of(ShardingAttr attribute) {
  Sharding sharding;
  for (auto axes : attribute.getDims().getAsRange<ArrayAttr>())
    sharding.dims.push_back(axesOf(axes));
  sharding.partial = axesOf(attribute.getPartial());
  return sharding;
}

ShardingAttr Sharding::toAttr(FlatSymbolRefAttr mesh) const {
  Builder builder(mesh.getContext());
  SmallVector<Attribute> lists;
  for (const Axes &axes : dims)
    lists.push_back(builder.getStrArrayAttr(axes));
  return ShardingAttr::get(mesh.getContext(), mesh, builder.getArrayAttr(lists),
                           builder.getStrArrayAttr(partial));
}

bool Sharding::isWhole() const {
  return partial.empty() &&
         llvm::all_of(dims, [](const Axes &axes) { return axes.empty(); });
}

std::string Sharding::text() const {
  std::string text;
  llvm::raw_string_ostream out(text);
  auto print = [&](const Axes &axes) {
    out << '[';
    llvm::interleaveComma(axes, out);
    out << ']';
  };
  out << '[';
  llvm::interleaveComma(dims, out, print);
  out << "], partial = ";
  print(partial);
  return text;
}

Mesh::Mesh(MeshOp op)
    : name(FlatSymbolRefAttr::get(op.getSymNameAttr())),
      parted(static_cast<int64_t>(op.getParts().value_or(0))),
      dealt(static_cast<int64_t>(op.getRounds().value_or(1))) {
  for (auto [axis, size] : llvm::zip(op.getAxes(), op.getSizes()))
    sizes[cast<StringAttr>(axis).getValue()] = size;
}

int64_t Mesh::product(ArrayRef<StringRef> axes) const {
  int64_t product = 1;
  for (StringRef axis : axes)
    product *= size(axis);
  return product;
}

int64_t Mesh::devices() const {
  int64_t devices = 1;
  for (const auto &[name, size] : sizes)
    devices *= size;
  return devices;
}

Axes Mesh::parts(AxisKind kind) const {
  Axes parts;
  for (const auto &[name, size] : sizes)
    if (axisKind(name) == kind)
      parts.push_back(name);
  return parts;
}

RankedTensorType Mesh::localType(RankedTensorType type,
                                 const Sharding &sharding) const {
  SmallVector<int64_t> shape;
  for (auto [size, axes] : llvm::zip_equal(type.getShape(), sharding.dims))
    shape.push_back(llvm::divideCeil(size, product(axes)));
  return type.clone(shape);
}
