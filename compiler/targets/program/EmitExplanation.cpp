//===- EmitExplanation.cpp - Why tensors lie where they lie ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/targets/program/ProgramEmitter.h"

#include "dialects/dist/IR/Sharding.h"

using namespace mlir;
using namespace hocket;

uint32_t TextTable::indexOf(StringRef text) {
  if (text.empty())
    return 0;
  auto [entry, isNew] = indices.try_emplace(
      text, static_cast<uint32_t>(explanation.texts_size()) + 1);
  if (isNew)
    explanation.add_texts(text.str());
  return entry->second;
}

namespace {

/// Writes one tensor of `dist.explanation`.
class TensorWriter {
public:
  TensorWriter(DictionaryAttr from, TextTable &texts, program::Program &program)
      : from(from), texts(texts), program(program) {}

  void write() {
    auto type = from.getAs<TypeAttr>("type");
    auto local = from.getAs<TypeAttr>("local");
    auto sharding = from.getAs<dist::ShardingAttr>("sharding");
    auto whole =
        type ? dyn_cast<RankedTensorType>(type.getValue()) : RankedTensorType();
    auto shard = local ? dyn_cast<RankedTensorType>(local.getValue())
                       : RankedTensorType();
    if (!whole || !shard || !sharding)
      return; // Somebody else's attribute.
    auto *to = program.mutable_explanation()->add_tensors();
    to->set_name(text("name"));
    to->set_kind(text("kind"));
    to->set_where(text("where"));
    to->set_source(text("source"));
    to->set_why(text("why"));
    to->set_dtype(dtypeOf(whole.getElementType()));
    for (int64_t size : whole.getShape())
      to->add_shape(static_cast<uint64_t>(size));
    for (int64_t size : shard.getShape())
      to->add_local_shape(static_cast<uint64_t>(size));
    dist::Sharding split = dist::Sharding::of(sharding);
    for (const dist::Axes &axes : split.dims)
      setAxes(axes, *to->add_dims()->mutable_axes());
    setAxes(split.partial, *to->mutable_partial());
  }

private:
  uint32_t text(StringRef key) {
    auto value = from.getAs<StringAttr>(key);
    return value ? texts.indexOf(value.getValue()) : 0;
  }

  void setAxes(const dist::Axes &axes,
               google::protobuf::RepeatedField<uint32_t> &to) {
    for (StringRef axis : axes)
      for (int a = 0; a < program.mesh().axes_size(); ++a)
        if (axis == program.mesh().axes(a).name())
          to.Add(static_cast<uint32_t>(a));
  }

  DictionaryAttr from;
  TextTable &texts;
  program::Program &program;
};

} // namespace

void hocket::emitExplanation(ModuleOp module, TextTable &texts,
                             program::Program &program) {
  for (auto mesh : module.getOps<step::MeshOp>())
    if (ArrayAttr list = mesh.getExplanationAttr())
      for (auto entry : list.getAsRange<DictionaryAttr>())
        TensorWriter(entry, texts, program).write();
}
