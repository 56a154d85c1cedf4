//===- Fiber.cpp - Stacks that a thread changes between -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/emulator/Fiber.h"

#include <new>
#include <vector>

using namespace hocket::emulator;

// Registers that a function of the System V ABI leaves as they are go onto the
// old stack and come from the new one; the return address is there already. A
// jump goes there: a processor foresees that a `ret` returns to its last call.
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
  popq %rcx
  jmpq *%rcx
  .size hocketFiberChange, . - hocketFiberChange
)");
extern "C" void hocketFiberChange(void **from, void *to);

namespace {
/// Stacks that are used again: a launch takes as many as a block has threads.
class SpareStacks {
public:
  ~SpareStacks() {
    for (std::byte *stack : stacks)
      ::operator delete(stack, alignment);
  }
  std::byte *take() {
    if (stacks.empty())
      return static_cast<std::byte *>(
          ::operator new(FiberStack::bytes, alignment));
    std::byte *stack = stacks.back();
    stacks.pop_back();
    return stack;
  }
  void giveBack(std::byte *stack) { stacks.push_back(stack); }

private:
  static constexpr std::align_val_t alignment{16};
  std::vector<std::byte *> stacks;
};
} // namespace

static thread_local SpareStacks spare;

FiberStack::FiberStack() : memory(spare.take()) {}

FiberStack::~FiberStack() { spare.giveBack(memory); }

void FiberStack::begin(void (*entry)()) {
  // The entry's address, as if a call had been made from it, and six registers.
  auto *top = reinterpret_cast<void **>(memory + bytes) - 2;
  *top = reinterpret_cast<void *>(entry);
  for (int i = 1; i <= 6; ++i)
    top[-i] = nullptr;
  place = top - 6;
}

void FiberStack::change(void *&from, void *to) { hocketFiberChange(&from, to); }
