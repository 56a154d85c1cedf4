//===- DataType.h - Element types of an executable --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_PROGRAM_DATATYPE_H
#define HOCKET_RUNTIME_PROGRAM_DATATYPE_H

#include "base/CheckedMath.h"
#include "runtime/program/program.pb.h"

#include <optional>
#include <string>

namespace hocket {

/// Bytes of one element; 0 for a type that does not exist.
inline uint64_t dataTypeBytes(program::DType dtype) {
  switch (dtype) {
  case program::F32:
  case program::I32:
    return 4;
  case program::BF16:
  case program::F16:
    return 2;
  case program::F64:
    return 8;
  case program::U8:
  case program::F8_E4M3:
  case program::F8_E5M2:
    return 1;
  default:
    return 0;
  }
}

/// "f32", "bf16", ...; "?" for a type that does not exist.
inline const char *dataTypeName(program::DType dtype) {
  switch (dtype) {
  case program::F32:
    return "f32";
  case program::BF16:
    return "bf16";
  case program::F16:
    return "f16";
  case program::I32:
    return "i32";
  case program::F64:
    return "f64";
  case program::U8:
    return "u8";
  case program::F8_E4M3:
    return "f8e4m3";
  case program::F8_E5M2:
    return "f8e5m2";
  default:
    return "?";
  }
}

/// Bytes of a dense tensor, unless they exceed 2^64 - 1.
template <typename Shape>
std::optional<uint64_t> tensorBytes(const Shape &shape, program::DType dtype) {
  std::optional<uint64_t> elements = checkedProduct(shape);
  return elements ? checkedMultiply(*elements, dataTypeBytes(dtype))
                  : std::nullopt;
}

/// "[2, 3]".
template <typename Shape> std::string shapeText(const Shape &shape) {
  std::string text = "[";
  for (uint64_t dim : shape)
    text += (text.size() > 1 ? ", " : "") + std::to_string(dim);
  return text + "]";
}

} // namespace hocket

#endif // HOCKET_RUNTIME_PROGRAM_DATATYPE_H
