//===- F8Layouts.h - 8-bit operands of a program's GPUs ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TARGETS_CUDA_F8LAYOUTS_H
#define HOCKET_COMPILER_TARGETS_CUDA_F8LAYOUTS_H

#include <string>
#include <vector>

namespace hocket::cuda {

/// How operands of 8 bits are stored so that GPUs of all these architectures
/// ("sm_90a") multiply them: the option `layouts` of kern-fit-f8-gemms. Of
/// none, what most GPUs take that multiply such factors. A name that is none is
/// taken for a GPU that does not; who makes code for it refuses it.
std::string f8LayoutsOf(const std::vector<std::string> &architectures);

} // namespace hocket::cuda

#endif // HOCKET_COMPILER_TARGETS_CUDA_F8LAYOUTS_H
