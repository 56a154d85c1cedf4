//===- InstalledStatistic.h - LLVM's statistics as installed ----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Whether a statistic has a value depends on NDEBUG, and every pass is made of
/// statistics: a source that is compiled with assertions would disagree with a
/// libMLIR that was compiled without about what they are. Included first by the
/// sources that include MLIR.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_CMAKE_INSTALLEDSTATISTIC_H
#define HOCKET_COMPILER_CMAKE_INSTALLEDSTATISTIC_H

#ifndef NDEBUG
#define NDEBUG
#define HOCKET_ASSERTS
#endif

#include "llvm/ADT/Statistic.h"

#ifdef HOCKET_ASSERTS
#undef HOCKET_ASSERTS
#undef NDEBUG
#include <cassert>
#endif

#endif // HOCKET_COMPILER_CMAKE_INSTALLEDSTATISTIC_H
