//===- FieldPath.h - Fields of a spec by path -------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `model.layers`, `training.optimizer.adamw.beta2`,
/// `plan.layers_per_stage[0]`: how
/// `--set` and the checks name one field of a spec.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_FRONTENDS_SPEC_TEXT_FIELDPATH_H
#define HOCKET_FRONTENDS_SPEC_TEXT_FIELDPATH_H

#include "base/Status.h"
#include "frontends/spec/spec.pb.h"

#include <string>
#include <string_view>

namespace hocket::spec {

/// A field that can be written: `index` is -1 unless it is one entry of a
/// repeated field.
struct FieldReference {
  google::protobuf::Message *message = nullptr;
  const google::protobuf::FieldDescriptor *field = nullptr;
  int index = -1;
};

/// Finds `path` in `spec`, creating the messages on the way; naming the entry
/// one past the end of a repeated field appends it. The error names the
/// nearest paths that exist. On error `spec` may have gained empty messages.
StatusOr<FieldReference> findForWriting(Spec &spec, std::string_view path);

/// A field as it was written, or nothing (`message` is null) where it or a
/// message around it was left out. `path` must exist in the schema and end in
/// no repeated field.
struct ConstFieldReference {
  const google::protobuf::Message *message = nullptr;
  const google::protobuf::FieldDescriptor *field = nullptr;
};
ConstFieldReference findWritten(const Spec &spec, std::string_view path);

} // namespace hocket::spec

#endif // HOCKET_FRONTENDS_SPEC_TEXT_FIELDPATH_H
