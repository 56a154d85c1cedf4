//===- LinkerLibrary.cpp - lld, for who compiles emulated kernels ---------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A library of its own, loaded at the first kernel: with it comes LLVM, which
/// programs for machines without it must not need.
///
//===----------------------------------------------------------------------===//

#include "test/emulator/libraries/LinkerLibrary.h"

#include "compiler/targets/cpu/SharedObject.h"

using namespace hocket;

bool hocketLinkEmulated(const std::string &object, std::string &result) {
  // The host process has the libraries that kernels call.
  auto image = cpu::linkShared({object}, /*isWhole=*/false);
  if (!image) {
    result = llvm::toString(image.takeError());
    return false;
  }
  result = *std::move(image);
  return true;
}
