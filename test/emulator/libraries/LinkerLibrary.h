//===- LinkerLibrary.h - lld, for who compiles emulated kernels -*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_EMULATOR_LIBRARIES_LINKERLIBRARY_H
#define HOCKET_TEST_EMULATOR_LIBRARIES_LINKERLIBRARY_H

#include <string>

/// Links one object of kernels: `result` is the shared object's bytes, or if
/// that fails (false) what is wrong.
extern "C" __attribute__((visibility("default"))) bool
hocketLinkEmulated(const std::string &object, std::string &result);

#endif // HOCKET_TEST_EMULATOR_LIBRARIES_LINKERLIBRARY_H
