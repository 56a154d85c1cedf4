//===- PayloadSize.h - What a payload would take in memory ------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_PROGRAM_PAYLOADSIZE_H
#define HOCKET_RUNTIME_PROGRAM_PAYLOADSIZE_H

#include "base/Status.h"

#include <string_view>

namespace hocket {

/// Walks the serialized Program in `payload` without decoding it. DataLoss if
/// it is none, if it has a field that the schema lacks, or if its messages
/// would take more memory than an executable of this size can need: an empty
/// message has two bytes in a file and hundreds in memory. Stops as soon as it
/// knows.
Status checkPayloadSize(std::string_view payload);

} // namespace hocket

#endif // HOCKET_RUNTIME_PROGRAM_PAYLOADSIZE_H
