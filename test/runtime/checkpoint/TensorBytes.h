//===- TensorBytes.h - Tensors of one file for another ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_RUNTIME_CHECKPOINT_TENSORBYTES_H
#define HOCKET_TEST_RUNTIME_CHECKPOINT_TENSORBYTES_H

#include "runtime/checkpoint/Safetensors.h"

#include <string>

namespace hocket::test {

inline const std::string goldenFolder =
    HOCKET_SOURCE_DIR "/test/runtime/checkpoint/golden/";

/// Gives the bytes of a tensor of `file`, which are read now.
inline checkpoint::ByteProducer bytesOf(const checkpoint::SafetensorsFile &file,
                                        const checkpoint::TensorInfo &tensor) {
  return [bytes = *file.read(tensor)](const checkpoint::ByteSink &sink) {
    return sink(bytes);
  };
}

} // namespace hocket::test

#endif // HOCKET_TEST_RUNTIME_CHECKPOINT_TENSORBYTES_H
