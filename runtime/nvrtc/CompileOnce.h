//===- CompileOnce.h - Machine code, compiled if it is not kept -*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What NVRTC makes of a source, from the folder of ResultCache where it lies
/// there already.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_NVRTC_COMPILEONCE_H
#define HOCKET_RUNTIME_NVRTC_COMPILEONCE_H

#include "runtime/nvrtc/Nvrtc.h"

namespace hocket::nvrtc {

/// As `compile`, which gives the same bytes; keeps what it compiled. Threads
/// that want the same code at the same time wait for the one that compiles it.
/// A folder that cannot be used is no error: the code is compiled again.
StatusOr<std::string> compileOnce(const Source &source,
                                  const std::string &architecture);

} // namespace hocket::nvrtc

#endif // HOCKET_RUNTIME_NVRTC_COMPILEONCE_H
