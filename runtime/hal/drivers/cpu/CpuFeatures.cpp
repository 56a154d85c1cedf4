//===- CpuFeatures.cpp - What this processor can run ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/hal/drivers/cpu/CpuFeatures.h"

#include <cstdlib>
#include <fstream>
#include <unistd.h>

using namespace hocket;
using kernels::Isa;

StatusOr<Isa> hal::chooseIsa() {
  Isa cap = Isa::Amx;
  if (const char *text = std::getenv("HOCKET_CPU_ISA")) {
    std::string name = text;
    if (name == "x86-64-v3")
      name = "avx2";
    else if (name == "x86-64-v4")
      name = "avx512";
    if (!kernels::parseIsa(name, cap))
      return invalidArgument("HOCKET_CPU_ISA is '" + std::string(text) +
                             "', expected avx2, avx512, avx512_bf16 or amx");
  }
  if (!kernels::cpuSupports(Isa::Avx2))
    return failedPrecondition("this processor has no AVX2, FMA and F16C, "
                              "which the cpu target needs");
  return kernels::bestIsa(cap);
}

bool hal::isaRuns(Isa isa, std::string_view variant) {
  if (variant == "x86-64-v3")
    return true;
  return variant == "x86-64-v4" && isa >= Isa::Avx512;
}

std::string hal::bestVariant(Isa isa) {
  return isaRuns(isa, "x86-64-v4") ? "x86-64-v4" : "x86-64-v3";
}

std::string hal::cpuModelName() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos)
      return line.substr(colon + 2);
  }
  return "unknown";
}

uint64_t hal::physicalMemoryBytes() {
  long pages = ::sysconf(_SC_PHYS_PAGES), size = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? uint64_t(pages) * uint64_t(size) : 0;
}
