//===- RunsWhenLoaded.cpp - A shared object with a constructor ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// What no program may carry: the loader runs code of it before any kernel.
//
//===----------------------------------------------------------------------===//

#include <cstdint>

static volatile int ran = 0;

__attribute__((constructor)) static void run() { ran = 1; }

extern "C" void momentumUpdate(void *const *, const int64_t *, int64_t,
                               int64_t) {}
