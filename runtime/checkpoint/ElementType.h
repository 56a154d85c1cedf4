//===- ElementType.h - Element types of stored tensors ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The element types that a safetensors file can hold. Hocket trains in a few
/// of them; the others are read past when a model of someone else has them.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_CHECKPOINT_ELEMENTTYPE_H
#define HOCKET_RUNTIME_CHECKPOINT_ELEMENTTYPE_H

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::checkpoint {

/// In the order in which the format sorts them, smallest first.
enum class ElementType {
  Bool,
  U8,
  I8,
  F8E5M2,
  F8E4M3,
  I16,
  U16,
  F16,
  BF16,
  I32,
  U32,
  F32,
  F64,
  I64,
  U64,
};

/// Bytes of one element.
uint64_t elementBytes(ElementType type);

/// The format's name, e.g. "F32" and "F8_E4M3".
std::string_view elementName(ElementType type);

/// The type of the format's name, in upper or lower case ("F32", "f32").
std::optional<ElementType> parseElementType(std::string_view name);

/// "[2, 3]".
std::string shapeText(std::span<const uint64_t> shape);

/// Bytes of a dense tensor, unless they exceed 2^64 - 1.
std::optional<uint64_t> tensorBytes(std::span<const uint64_t> shape,
                                    ElementType type);

/// The elements as f32, exactly where f32 can hold them (F64 is rounded);
/// nullopt for types that are not F32, F16, BF16 or F64.
std::optional<std::vector<float>> toFloats(std::span<const uint8_t> bytes,
                                           ElementType type);

/// The floats as elements of F32, F16 or BF16, rounded to the nearest, ties to
/// even; nullopt for other types, and where a finite number would be infinite.
std::optional<std::vector<uint8_t>> fromFloats(std::span<const float> values,
                                               ElementType type);

} // namespace hocket::checkpoint

#endif // HOCKET_RUNTIME_CHECKPOINT_ELEMENTTYPE_H
