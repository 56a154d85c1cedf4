//===- ModelFields.h - Which model a checkpoint is of -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A checkpoint fits every model whose parameters have its names and shapes,
/// also one with another activation or rope. Its manifest has the text of the
/// specification that it was trained with, which tells the two apart.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_CHECKPOINT_MODELFIELDS_H
#define HOCKET_RUNTIME_CHECKPOINT_MODELFIELDS_H

#include <string>
#include <vector>

namespace hocket::checkpoint {

/// A field of `model` that two specifications give different values.
struct ModelField {
  std::string path;         ///< "model.rope.theta"
  std::string stored, here; ///< as textproto; `here` is empty if it is unset
};

/// The fields of `stored` that differ in `here`; both are specifications as a
/// program's provenance has them, one field a line with defaults written. Left
/// out are fields that an evaluation does not depend on: initial values,
/// dropout, the padding of the vocabulary, routers' losses, room for rows. What
/// `stored` lacks is no difference: it may be older than the field.
std::vector<ModelField> differentModelFields(const std::string &stored,
                                             const std::string &here);

} // namespace hocket::checkpoint

#endif // HOCKET_RUNTIME_CHECKPOINT_MODELFIELDS_H
