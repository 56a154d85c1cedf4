//===- F8Layouts.cpp - 8-bit operands of a program's GPUs -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/targets/cuda/F8Layouts.h"

#include "kernels/cuda/F8Gemms.h"

#include "llvm/ADT/StringRef.h"

#include <algorithm>

using hocket::kernels::F8Layouts;

static F8Layouts layoutsOf(llvm::StringRef architecture) {
  int capability = 0;
  architecture.consume_front("sm_");
  architecture.consumeInteger(10, capability);
  return hocket::kernels::f8LayoutsOf(capability);
}

std::string
hocket::cuda::f8LayoutsOf(const std::vector<std::string> &architectures) {
  F8Layouts least =
      architectures.empty() ? F8Layouts::InnerFastest : F8Layouts::Any;
  for (const std::string &architecture : architectures)
    least = std::min(least, layoutsOf(architecture));
  switch (least) {
  case F8Layouts::None:
    return "none";
  case F8Layouts::InnerFastest:
    return "inner-fastest";
  case F8Layouts::Any:
    return "any";
  }
  return "none";
}
