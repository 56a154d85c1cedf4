//===- HostOutputs.h - What a program tells the host ------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_PROGRAM_HOSTOUTPUTS_H
#define HOCKET_RUNTIME_PROGRAM_HOSTOUTPUTS_H

#include <string_view>

namespace hocket {

/// Whether the output `name` has a number for each label of the microbatch, of
/// which a rank gives those that it took in; any other is one number.
inline bool isOfEachLabel(std::string_view name) {
  return name == "lse" || name == "picked";
}

} // namespace hocket

#endif // HOCKET_RUNTIME_PROGRAM_HOSTOUTPUTS_H
