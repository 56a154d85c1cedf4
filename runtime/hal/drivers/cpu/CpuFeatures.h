//===- CpuFeatures.h - What this processor can run --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_HAL_DRIVERS_CPU_CPUFEATURES_H
#define HOCKET_RUNTIME_HAL_DRIVERS_CPU_CPUFEATURES_H

#include "base/Status.h"
#include "kernels/cpu/simd/Isa.h"

#include <string>
#include <string_view>

namespace hocket::hal {

/// The best instruction set of this machine, at most what the environment
/// variable HOCKET_CPU_ISA says: "avx2" (or "x86-64-v3"), "avx512" (or
/// "x86-64-v4"), "avx512_bf16", "amx". InvalidArgument for another value,
/// FailedPrecondition if the machine has not even AVX2.
StatusOr<kernels::Isa> chooseIsa();

/// Whether code for `variant` ("x86-64-v3", "x86-64-v4") runs under `isa`.
bool isaRuns(kernels::Isa isa, std::string_view variant);

/// The best code that runs under `isa`: "x86-64-v3" or "x86-64-v4".
std::string bestVariant(kernels::Isa isa);

/// The processor's name from /proc/cpuinfo; "unknown" if it is not there.
std::string cpuModelName();

/// Physical memory in bytes; 0 if not known.
uint64_t physicalMemoryBytes();

} // namespace hocket::hal

#endif // HOCKET_RUNTIME_HAL_DRIVERS_CPU_CPUFEATURES_H
