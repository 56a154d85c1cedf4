//===- PlainTest.h - Precompiled for tests without MLIR ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// As Plain.h, with GoogleTest. See HocketPrecompiled.cmake; no source includes
/// this file.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_CMAKE_PRECOMPILED_PLAINTEST_H
#define HOCKET_COMPILER_CMAKE_PRECOMPILED_PLAINTEST_H

#include "compiler/cmake/precompiled/Plain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#endif // HOCKET_COMPILER_CMAKE_PRECOMPILED_PLAINTEST_H
