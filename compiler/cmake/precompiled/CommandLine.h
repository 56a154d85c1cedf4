//===- CommandLine.h - Precompiled for commands -----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// As Plain.h, with the library that reads command lines. See
/// HocketPrecompiled.cmake; no source includes this file.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_CMAKE_PRECOMPILED_COMMANDLINE_H
#define HOCKET_COMPILER_CMAKE_PRECOMPILED_COMMANDLINE_H

#include "compiler/cmake/precompiled/Plain.h"

#include <CLI/CLI.hpp>

#endif // HOCKET_COMPILER_CMAKE_PRECOMPILED_COMMANDLINE_H
