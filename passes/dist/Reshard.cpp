//===- Reshard.cpp - From one sharding to another -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/dist/Reshard.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace hocket::dist;
using Kind = ReshardStep::Kind;

namespace {

/// Finds steps while `now` moves to `to`.
class Planner {
public:
  Planner(const Mesh &mesh, RankedTensorType type, const Sharding &from,
          const Sharding &to)
      : mesh(mesh), type(type), now(from), to(to) {}

  FailureOr<SmallVector<ReshardStep>> plan() {
    for (StringRef axis : to.partial)
      if (!llvm::is_contained(now.partial, axis))
        return failure();
    scatterSums();
    reduceSums();
    slice();
    exchange();
    gather();
    slice(); // what had to be gathered first
    return std::move(steps);
  }

private:
  void take(ReshardStep step) {
    now = afterStep(std::move(now), step);
    steps.push_back(std::move(step));
  }

  static bool startsWith(ArrayRef<StringRef> list, ArrayRef<StringRef> start) {
    return list.size() >= start.size() &&
           list.take_front(start.size()) == start;
  }

  /// Whether the blocks of dim `d` over `fine` make up those over `coarse`, its
  /// first axes.
  bool nest(size_t d, ArrayRef<StringRef> coarse,
            ArrayRef<StringRef> fine) const {
    int64_t size = type.getDimSize(static_cast<unsigned>(d));
    int64_t few = mesh.product(coarse), many = mesh.product(fine);
    int64_t made = llvm::divideCeil(size, many) * (many / few);
    return std::min<int64_t>(size, llvm::divideCeil(size, few)) ==
           std::min(size, made);
  }
  /// The same of what dim `d` is split by now and what it would be with more.
  bool canSplit(size_t d, ArrayRef<StringRef> axes) const {
    Axes fine = now.dims[d];
    llvm::append_range(fine, axes);
    return nest(d, now.dims[d], fine);
  }

  bool splits(StringRef axis) const {
    return llvm::any_of(now.dims, [&](const Axes &axes) {
      return llvm::is_contained(axes, axis);
    });
  }

  /// The axes by which dim `d` of the target is split further.
  Axes missing(size_t d) const {
    if (!startsWith(to.dims[d], now.dims[d]))
      return {};
    return Axes(llvm::drop_begin(to.dims[d], now.dims[d].size()));
  }

  void scatterSums() {
    for (size_t d = 0; d < now.dims.size(); ++d) {
      Axes axes;
      for (StringRef axis : missing(d)) {
        if (!llvm::is_contained(now.partial, axis))
          break;
        axes.push_back(axis);
      }
      if (!axes.empty() && canSplit(d, axes))
        take({Kind::ReduceScatter, axes, int64_t(d)});
    }
  }

  void reduceSums() {
    Axes axes;
    for (StringRef axis : now.partial)
      if (!llvm::is_contained(to.partial, axis))
        axes.push_back(axis);
    if (!axes.empty())
      take({Kind::AllReduce, axes});
  }

  void slice() {
    for (size_t d = 0; d < now.dims.size(); ++d) {
      Axes axes;
      for (StringRef axis : missing(d)) {
        if (splits(axis))
          break;
        axes.push_back(axis);
      }
      if (!axes.empty() && canSplit(d, axes))
        take({Kind::Slice, axes, int64_t(d)});
    }
  }

  /// Axes that leave the end of one dim and join the end of another.
  void exchange() {
    for (size_t d = 0; d < now.dims.size(); ++d)
      for (size_t e = 0; e < now.dims.size(); ++e)
        if (Axes axes = d == e ? Axes() : exchangeable(d, e); !axes.empty())
          take({Kind::AllToAll, axes, int64_t(d), int64_t(e)});
  }

  /// The most axes that may go from dim `e` to dim `d` at once.
  Axes exchangeable(size_t d, size_t e) const {
    Axes wanted = missing(d);
    ArrayRef<StringRef> have = now.dims[e];
    for (size_t n = std::min(wanted.size(), have.size()); n > 0; --n) {
      auto axes = ArrayRef(wanted).take_front(n), rest = have.drop_back(n);
      if (have.take_back(n) == axes && startsWith(rest, to.dims[e]) &&
          canSplit(d, axes) && nest(e, rest, have))
        return Axes(axes);
    }
    return {};
  }

  void gather() {
    for (size_t d = 0; d < now.dims.size(); ++d) {
      size_t common = 0;
      while (common < now.dims[d].size() && common < to.dims[d].size() &&
             now.dims[d][common] == to.dims[d][common])
        ++common;
      auto fit = [&] {
        auto kept = ArrayRef(to.dims[d]).take_front(common);
        return nest(d, kept, now.dims[d]) && nest(d, kept, to.dims[d]);
      };
      while (!fit())
        --common;
      Axes axes(llvm::drop_begin(now.dims[d], common));
      if (!axes.empty())
        take({Kind::AllGather, axes, int64_t(d)});
    }
  }

  const Mesh &mesh;
  RankedTensorType type;
  Sharding now;
  const Sharding &to;
  SmallVector<ReshardStep> steps;
};

} // namespace

Sharding hocket::dist::afterStep(Sharding sharding, const ReshardStep &step) {
  auto dropPartial = [&] {
    llvm::erase_if(sharding.partial, [&](StringRef axis) {
      return llvm::is_contained(step.axes, axis);
    });
  };
  switch (step.kind) {
  case Kind::AllReduce:
    dropPartial();
    break;
  case Kind::ReduceScatter:
    dropPartial();
    llvm::append_range(sharding.dims[step.dim], step.axes);
    break;
  case Kind::Slice:
    llvm::append_range(sharding.dims[step.dim], step.axes);
    break;
  case Kind::AllToAll:
    llvm::append_range(sharding.dims[step.dim], step.axes);
    sharding.dims[step.concat].pop_back_n(step.axes.size());
    break;
  case Kind::AllGather:
    sharding.dims[step.dim].pop_back_n(step.axes.size());
    break;
  }
  return sharding;
}

FailureOr<SmallVector<ReshardStep>>
hocket::dist::planReshard(const Mesh &mesh, RankedTensorType type,
                          const Sharding &from, const Sharding &to) {
  return Planner(mesh, type, from, to).plan();
}

Value hocket::dist::buildStep(OpBuilder &builder, Location loc, Value local,
                              const ReshardStep &step, RankedTensorType result,
                              StringAttr why) {
  ArrayAttr axes = builder.getStrArrayAttr(step.axes);
  IntegerAttr dim = builder.getI64IntegerAttr(step.dim);
  switch (step.kind) {
  case Kind::AllReduce:
    return builder.create<AllReduceOp>(loc, result, local, axes, why);
  case Kind::ReduceScatter:
    return builder.create<ReduceScatterOp>(loc, result, local, dim, axes, why);
  case Kind::Slice:
    return builder.create<SliceOp>(loc, result, local, dim, axes, why);
  case Kind::AllToAll:
    return builder.create<AllToAllOp>(loc, result, local, dim,
                                      builder.getI64IntegerAttr(step.concat),
                                      axes, why);
  case Kind::AllGather:
    return builder.create<AllGatherOp>(loc, result, local, dim, axes, why);
  }
  llvm_unreachable("a step that the enumeration lacks");
}
