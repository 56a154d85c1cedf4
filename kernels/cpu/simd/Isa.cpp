//===- Isa.cpp - Instruction sets of this processor -----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cpu/simd/Isa.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hocket::kernels {
namespace {

/// Asks Linux for the AMX tile data state: arch_prctl(ARCH_REQ_XCOMP_PERM,
/// XFEATURE_XTILEDATA).
bool requestTiles() {
  constexpr int requestPermission = 0x1023, tileData = 18;
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
}

bool detectAmx() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d))
    return false;
  bool bf16 = d & (1u << 22), tile = d & (1u << 24);
  return bf16 && tile && cpuSupports(Isa::Avx512) && requestTiles();
}

bool isAmd() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0, &a, &b, &c, &d) && b == signature_AMD_ebx &&
         c == signature_AMD_ecx && d == signature_AMD_edx;
}

} // namespace

bool cpuSupports(Isa isa) {
  switch (isa) {
  case Isa::Avx2:
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("f16c");
  case Isa::Avx512:
    return __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && cpuSupports(Isa::Avx2);
  case Isa::Avx512Bf16:
    return __builtin_cpu_supports("avx512bf16") && cpuSupports(Isa::Avx512);
  case Isa::Amx: {
    static const bool found = detectAmx();
    return found;
  }
  }
  return false;
}

Isa bestIsa(Isa cap) {
  for (Isa isa : {Isa::Amx, Isa::Avx512Bf16, Isa::Avx512}) {
    bool pays = isa != Isa::Avx512Bf16 || isa == cap || isAmd();
    if (isa <= cap && pays && cpuSupports(isa))
      return isa;
  }
  return Isa::Avx2;
}

std::string_view nameOf(Isa isa) {
  switch (isa) {
  case Isa::Avx2:
    return "avx2";
  case Isa::Avx512:
    return "avx512";
  case Isa::Avx512Bf16:
    return "avx512_bf16";
  case Isa::Amx:
    return "amx";
  }
  return "";
}

bool parseIsa(std::string_view name, Isa &isa) {
  for (Isa known : {Isa::Avx2, Isa::Avx512, Isa::Avx512Bf16, Isa::Amx})
    if (nameOf(known) == name) {
      isa = known;
      return true;
    }
  return false;
}

} // namespace hocket::kernels
