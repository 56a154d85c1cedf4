//===- Fiber.cpp - Stacks that a thread changes between -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/emulator/Fiber.h"

using namespace hocket::emulator;

// Registers that a function of the System V ABI leaves as they are go onto the
// old stack and come from the new one; the return address is there already. It
// is nearly always that of the old one, as lanes stop at the same place, which
// is where a processor foresees that a `ret` goes.
asm(R"(
  .text
  .hidden hocketFiberChange
  .globl hocketFiberChange
  .type hocketFiberChange, @function
hocketFiberChange:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size hocketFiberChange, . - hocketFiberChange
)");
extern "C" void hocketFiberChange(void **from, void *to);

FiberStack::FiberStack() : memory(new std::byte[bytes]) {}

void *FiberStack::begin(void (*entry)()) {
  // The entry's address, as if a call had been made from it, and six registers.
  auto *top = reinterpret_cast<void **>(memory.get() + bytes) - 2;
  *top = reinterpret_cast<void *>(entry);
  for (int i = 1; i <= 6; ++i)
    top[-i] = nullptr;
  return top - 6;
}

void FiberStack::change(void *&from, void *to) { hocketFiberChange(&from, to); }
