//===- codegen_benchmark.cpp - Generated kernels against memcpy -----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compiles kernels.mlir, prints how long that took, and runs each kernel on
/// one core: its least traffic (every input and result once) a second, beside
/// memcpy's in the same round. Medians of the rounds, because the speed of a
/// shared machine varies. `codegen_benchmark [ROUNDS [COPIES]]`; COPIES is how
/// often the module is repeated when its compilation is timed.
///
//===----------------------------------------------------------------------===//

#include "compiler/targets/cpu/KernelCompiler.h"
#include "dialects/kern/IR/Kern.h"
#include "runtime/hal/drivers/cpu/SharedObject.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <sys/mman.h>

using namespace hocket;

namespace {

using Function = void (*)(void *const *, const int64_t *, int64_t, int64_t);

double clockOf(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec + 1e-9 * now.tv_nsec;
}

/// Processor time of this thread, which other programs on the same cores
/// disturb less than they do the wall clock.
double seconds() { return clockOf(CLOCK_THREAD_CPUTIME_ID); }

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2,
                   values.end());
  return values[values.size() / 2];
}

/// Memory as the runtime's arena is: zero, in huge pages where there are any.
class Pages {
public:
  explicit Pages(size_t bytes) : bytes(bytes + hugePage) {
    start =
        static_cast<char *>(mmap(nullptr, this->bytes, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    (void)madvise(start, this->bytes, MADV_HUGEPAGE);
  }
  ~Pages() { munmap(start, bytes); }
  Pages(const Pages &) = delete;

  char *data() const {
    auto address = reinterpret_cast<uintptr_t>(start);
    return start + (-address & (hugePage - 1));
  }

private:
  static constexpr size_t hugePage = 2 << 20;
  size_t bytes;
  char *start;
};

/// Buffers of one kernel, filled with small positive numbers.
class Buffers {
public:
  explicit Buffers(kern::KernelOp kernel) {
    auto add = [&](mlir::Attribute type) {
      auto tensor = mlir::cast<mlir::RankedTensorType>(
          mlir::cast<mlir::TypeAttr>(type).getValue());
      size_t count = tensor.getNumElements();
      bool wide = tensor.getElementTypeBitWidth() == 32;
      blocks.push_back(std::make_unique<Pages>(count * (wide ? 4 : 2)));
      char *at = blocks.back()->data();
      for (size_t i = 0; i < count; ++i) {
        float value = 0.1f + static_cast<float>(i * 7919 % 1000) / 1000;
        if (wide)
          memcpy(at + 4 * i, &value, 4);
        else
          memcpy(at + 2 * i, reinterpret_cast<char *>(&value) + 2, 2);
      }
      pointers.push_back(at);
    };
    for (mlir::Attribute type : kernel.getInputTypes())
      add(type);
    for (mlir::Attribute type : kernel.getResultTypes())
      add(type);
  }

  std::vector<void *> pointers;

private:
  std::vector<std::unique_ptr<Pages>> blocks;
};

/// Gigabytes a second that memcpy moves, counting what it reads and writes.
double copyRate() {
  constexpr size_t bytes = 64 << 20;
  static Pages from(bytes), to(bytes);
  static bool touched = false;
  if (!touched) {
    memset(from.data(), 1, bytes);
    memset(to.data(), 2, bytes);
    touched = true;
  }
  double start = seconds();
  memcpy(to.data(), from.data(), bytes);
  return 2e-9 * bytes / (seconds() - start);
}

void measure(const cpu::CompiledKernel &kernel, Function function,
             kern::KernelOp op, int rounds) {
  Buffers buffers(op);
  int64_t scalars[8] = {1, 2, 0, 0, 3, 4, 5, 6};
  std::vector<double> rates, shares, times;
  for (int round = 0; round < rounds; ++round) {
    double copy = copyRate();
    double start = seconds();
    function(buffers.pointers.data(), scalars, 0, kernel.tasks);
    double took = seconds() - start;
    rates.push_back(1e-9 * kernel.bytes / took);
    shares.push_back(rates.back() / copy);
    times.push_back(1e9 * took / (op.getRows() * op.getCols()));
  }
  printf("  %-18s %7.2f GB/s  %5.2f of memcpy  %6.3f ns an element\n",
         kernel.name.c_str(), median(rates), median(shares), median(times));
}

mlir::OwningOpRef<mlir::ModuleOp> parse(mlir::MLIRContext &context,
                                        int copies) {
  std::string path = HOCKET_SOURCE_DIR "/test/benchmarks/codegen/kernels.mlir";
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(path, &context);
  if (!module)
    return module;
  auto kernels = llvm::to_vector(module->getOps<kern::KernelOp>());
  for (int copy = 1; copy < copies; ++copy)
    for (kern::KernelOp kernel : kernels) {
      auto clone = kernel.clone();
      clone.setSymName((kernel.getSymName() + std::to_string(copy)).str());
      module->push_back(clone);
    }
  return module;
}

bool timeCompilation(mlir::MLIRContext &context, int copies) {
  auto module = parse(context, copies);
  if (!module)
    return false;
  for (unsigned threads : {1u, 0u}) {
    cpu::CpuOptions options;
    options.threads = threads;
    cpu::CompiledKernels compiled;
    double start = clockOf(CLOCK_MONOTONIC);
    double work = clockOf(CLOCK_PROCESS_CPUTIME_ID);
    if (failed(cpu::compileKernels(*module, options, compiled)))
      return false;
    printf("%zu kernels for %zu instruction sets in %.2f s (%.2f s of "
           "processor time) on %s\n",
           compiled.kernels.size(), compiled.variants.size(),
           clockOf(CLOCK_MONOTONIC) - start,
           clockOf(CLOCK_PROCESS_CPUTIME_ID) - work,
           threads == 1 ? "one thread" : "all threads");
  }
  return true;
}

} // namespace

int main(int argc, char **argv) {
  int rounds = argc > 1 ? std::max(1, atoi(argv[1])) : 9;
  int copies = argc > 2 ? std::max(1, atoi(argv[2])) : 3;
  mlir::MLIRContext context;
  context.loadDialect<mlir::arith::ArithDialect, mlir::math::MathDialect,
                      kern::KernDialect>();
  if (!timeCompilation(context, copies))
    return 1;
  auto module = parse(context, 1);
  cpu::CompiledKernels compiled;
  if (failed(cpu::compileKernels(*module, {}, compiled)))
    return 1;
  for (const cpu::CompiledVariant &variant : compiled.variants) {
    bool has = variant.isa == "x86-64-v4" ? __builtin_cpu_supports("x86-64-v4")
                                          : __builtin_cpu_supports("x86-64-v3");
    if (!has)
      continue;
    auto library = hal::SharedObject::load("kernels", variant.image);
    if (!library.ok()) {
      fprintf(stderr, "%s\n", library.status().message().c_str());
      return 1;
    }
    printf("%s, %zu bytes, one core, processor time; memcpy %.2f GB/s\n",
           variant.isa.c_str(), variant.image.size(), copyRate());
    for (auto [kernel, op] :
         llvm::zip_equal(compiled.kernels, module->getOps<kern::KernelOp>()))
      measure(kernel, reinterpret_cast<Function>(library->find(kernel.symbol)),
              op, rounds);
  }
  return 0;
}
