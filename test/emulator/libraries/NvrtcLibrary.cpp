//===- NvrtcLibrary.cpp - The emulated libnvrtc ---------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compiles for the host what NVRTC would compile for a GPU: a "cubin" is a
/// shared object, which the emulated libcuda loads. With
/// HOCKET_EMULATED_WATCH=1 kernels tell of every access to memory.
///
//===----------------------------------------------------------------------===//

#include "test/emulator/HostCompiler.h"

#include <cstdlib>
#include <cstring>
#include <regex>
#include <string_view>

using namespace hocket::emulator;

// NOLINTNEXTLINE(readability-identifier-naming): the name is NVIDIA's.
struct _nvrtcProgram {
  std::string source, log, image;
};

static Watch watchWanted() {
  const char *text = std::getenv("HOCKET_EMULATED_WATCH");
  return text && std::string_view(text) == "1" ? Watch::Accesses
                                               : Watch::Nothing;
}

#define HOCKET_EXPORT extern "C" __attribute__((visibility("default")))

/// Code that watches is another compiler's.
HOCKET_EXPORT int nvrtcVersion(int *major, int *minor) {
  *major = 0;
  *minor = watchWanted() == Watch::Accesses ? 2 : 1;
  return 0;
}

HOCKET_EXPORT int nvrtcGetNumSupportedArchs(int *count) {
  *count = 3;
  return 0;
}

HOCKET_EXPORT int nvrtcGetSupportedArchs(int *archs) {
  archs[0] = 80, archs[1] = 90, archs[2] = 100;
  return 0;
}

HOCKET_EXPORT const char *nvrtcGetErrorString(int result) {
  return result == 6 ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR_INVALID_OPTION";
}

HOCKET_EXPORT int nvrtcCreateProgram(_nvrtcProgram **program, const char *text,
                                     const char *, int headers,
                                     const char *const *, const char *const *) {
  // Sources that include nothing are all there is.
  if (headers != 0)
    return 5;
  *program = new _nvrtcProgram{text, "", ""};
  return 0;
}

HOCKET_EXPORT int nvrtcDestroyProgram(_nvrtcProgram **program) {
  delete *program;
  *program = nullptr;
  return 0;
}

HOCKET_EXPORT int nvrtcCompileProgram(_nvrtcProgram *program, int options,
                                      const char *const *optionTexts) {
  static const std::regex architecture(
      "--gpu-architecture=sm_(8[0-9]|9[0-9]|1[0-9][0-9])[af]?");
  if (options < 1 || !std::regex_match(optionTexts[0], architecture)) {
    program->log = "nvrtc: error: invalid value for --gpu-architecture";
    return 5;
  }
  auto image = compileForHost(program->source, watchWanted(), program->log);
  if (!image)
    return 6;
  program->image = *image;
  return 0;
}

HOCKET_EXPORT int nvrtcGetProgramLogSize(_nvrtcProgram *program,
                                         size_t *bytes) {
  *bytes = program->log.size() + 1;
  return 0;
}

HOCKET_EXPORT int nvrtcGetProgramLog(_nvrtcProgram *program, char *log) {
  std::strcpy(log, program->log.c_str());
  return 0;
}

HOCKET_EXPORT int nvrtcGetCUBINSize(_nvrtcProgram *program, size_t *bytes) {
  *bytes = program->image.size();
  return 0;
}

HOCKET_EXPORT int nvrtcGetCUBIN(_nvrtcProgram *program, char *cubin) {
  std::memcpy(cubin, program->image.data(), program->image.size());
  return 0;
}
