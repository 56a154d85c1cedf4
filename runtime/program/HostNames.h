//===- HostNames.h - What a program and its host say ------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_PROGRAM_HOSTNAMES_H
#define HOCKET_RUNTIME_PROGRAM_HOSTNAMES_H

#include <string_view>

namespace hocket {

/// Whether the input `name` is part of the batch, which ranks may share.
inline bool isBatchInput(std::string_view name) {
  return name == "tokens" || name == "labels" || name == "positions" ||
         name == "rows" || name == "table" || name == "token_types" ||
         name == "key_counts" || name == "sentence_labels" ||
         name == "encoder_tokens" || name == "pixels" || name == "image_rows" ||
         name == "neighbors";
}

/// Whether the output `name` has a number for each label of the microbatch, of
/// which a rank gives those that it took in.
inline bool isNumberOfEachLabel(std::string_view name) {
  return name == "lse" || name == "picked";
}

/// Whether it has a row of numbers for each: the logits, or what the last layer
/// made.
inline bool isRowOfEachLabel(std::string_view name) {
  return name == "logits" || name == "hidden";
}

/// One of the two; any other output is one number.
inline bool isOfEachLabel(std::string_view name) {
  return isNumberOfEachLabel(name) || isRowOfEachLabel(name);
}

} // namespace hocket

#endif // HOCKET_RUNTIME_PROGRAM_HOSTNAMES_H
