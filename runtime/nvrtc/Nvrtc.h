//===- Nvrtc.h - NVIDIA's compiler as a library -----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compiles CUDA C++ to machine code for GPUs. The library is loaded when it is
/// first asked for; Hocket builds and runs without it. It needs no GPU and no
/// header of the CUDA toolkit. The compiler calls it when an executable is made
/// (`--arch`), the CUDA driver when one is loaded.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_NVRTC_NVRTC_H
#define HOCKET_RUNTIME_NVRTC_NVRTC_H

#include "base/Status.h"

#include <string>
#include <vector>

namespace hocket::nvrtc {

/// A header that the source includes by `name`.
struct Header {
  std::string name, text;
};

struct Source {
  std::string name; ///< Of the source in messages: "kernels.cu".
  std::string text;
  std::vector<Header> headers;
};

/// Path or name of the library that is in use: HOCKET_NVRTC's value where that
/// is set, else the first of libnvrtc.so.13 and .12 that the loader finds.
/// FailedPrecondition if there is none or if it lacks a function.
StatusOr<std::string> findLibrary();

/// "13.2".
StatusOr<std::string> version();

/// Compiles one line for the oldest architecture that kernels need: whether the
/// library is whole, and can write where it must. InvalidArgument with its own
/// words where it is not.
Status tryCompiling();

/// Whether kernels can be compiled for `arch`, before anything is:
/// InvalidArgument where it is not written as "sm_90a" is, where it is older
/// than the kernels need, or where NVRTC does not know it; the message then
/// lists those it does.
Status checkArchitecture(const std::string &arch);

/// The machine code of `source` for `arch` ("sm_90a"): a cubin. The same input
/// and library give the same bytes. InvalidArgument, with the compiler's own
/// messages, if it does not compile or the architecture is not known to it.
StatusOr<std::string> compile(const Source &source, const std::string &arch);

/// The same up to PTX, for people and tests: which instructions were meant.
/// `arch` is virtual ("compute_90a").
StatusOr<std::string> ptx(const Source &source, const std::string &arch);

/// What the assembler says of each kernel of `source` for `arch` ("sm_90a"), in
/// its own words: registers, those that do not fit ("spill"), and what it could
/// not do as it was meant, such as MMAs that it puts in sequence
/// ("serialized"). For tests.
StatusOr<std::string> assemblerNotes(const Source &source,
                                     const std::string &arch);

} // namespace hocket::nvrtc

#endif // HOCKET_RUNTIME_NVRTC_NVRTC_H
