//===- KernelCompiler.cpp - Fused kernels to native code ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/targets/cpu/KernelCompiler.h"

#include "compiler/targets/cpu/KernelEmitter.h"
#include "compiler/targets/cpu/NativeCode.h"
#include "compiler/targets/cpu/SharedObject.h"

#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include <atomic>
#include <map>
#include <thread>

using namespace mlir;

namespace hocket::cpu {

/// Bytes of stack that row buffers may take.
static constexpr int64_t rowBufferBytes = 256 * 1024 - 4096;

template <typename T> static void printTo(std::string &text, const T &print) {
  llvm::raw_string_ostream stream(text);
  print(stream);
}

namespace {

/// A kernel for one instruction set: an object file to make, and what came of
/// it. Each kernel has an object of its own, so that one that is kept
/// (KernelObjects) can stand in any program.
struct Part {
  std::string isa;
  const KernelPlan *plan = nullptr;
  std::string object, mlir, llvm, assembly;
  std::string error;
};

/// What a thread compiles parts with. What comes of a part does not depend on
/// those before it. Errors become text.
class PartCompiler {
public:
  explicit PartCompiler(const CpuOptions &options)
      : options(options), context(MLIRContext::Threading::DISABLED) {}

  void compile(Part &part) {
    std::string kernel;
    if (options.objects && keepsNoText()) {
      printTo(kernel, [&](raw_ostream &stream) {
        part.plan->kernel->print(stream, OpPrintingFlags().useLocalScope());
      });
      if (auto object = options.objects->find(part.isa, kernel)) {
        part.object = std::move(*object);
        return;
      }
    }
    if (llvm::Error error = generate(part))
      part.error = llvm::toString(std::move(error));
    else if (!kernel.empty())
      options.objects->keep(part.isa, kernel, part.object);
  }

private:
  bool keepsNoText() const {
    return options.link && !options.keepMlir && !options.keepLlvm &&
           !options.keepAssembly;
  }

  llvm::Expected<llvm::TargetMachine &> machineOf(const std::string &isa) {
    std::unique_ptr<llvm::TargetMachine> &machine = machines[isa];
    if (!machine) {
      auto created = createMachine(isa);
      if (!created)
        return created.takeError();
      machine = std::move(*created);
    }
    return *machine;
  }

  llvm::Error generate(Part &part);

  const CpuOptions &options;
  MLIRContext context;
  std::map<std::string, std::unique_ptr<llvm::TargetMachine>> machines;
};

} // namespace

llvm::Error PartCompiler::generate(Part &part) {
  if (machines.empty()) // Where all objects are kept, none is needed.
    loadCodegenDialects(context);
  auto machine = machineOf(part.isa);
  if (!machine)
    return machine.takeError();
  std::string diagnostics;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    diagnostics += diagnostic.str() + "\n";
    return success();
  });
  auto fail = [&](StringRef step) {
    return llvm::createStringError(step + " failed: " + diagnostics);
  };
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  emitKernel(*part.plan, vectorWidthOf(part.isa), *module);
  if (failed(verify(*module)))
    return fail("verification of the generated loops");
  if (options.keepMlir)
    printTo(part.mlir, [&](raw_ostream &stream) { module->print(stream); });
  if (failed(lowerToLlvmDialect(*module)))
    return fail("lowering to LLVM");
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> code =
      translateToLlvm(*module, llvmContext, *machine);
  if (!code)
    return fail("translation to LLVM");
  if (options.keepLlvm)
    printTo(part.llvm,
            [&](raw_ostream &stream) { code->print(stream, nullptr); });
  if (options.keepAssembly) {
    auto text = generateCode(*llvm::CloneModule(*code), *machine,
                             /*assembly=*/true);
    if (!text)
      return text.takeError();
    part.assembly = std::move(*text);
  }
  if (!options.link)
    return llvm::Error::success();
  auto object = generateCode(*code, *machine, /*assembly=*/false);
  if (!object)
    return object.takeError();
  part.object = std::move(*object);
  return checkSelfContained(part.object);
}

/// Works on [0, count) with several threads, each with what `makeWorker` gives
/// it: a function of the index.
template <typename MakeWorker>
static void inParallel(size_t count, unsigned threads,
                       const MakeWorker &makeWorker) {
  if (threads == 0)
    threads = std::max(1u, std::thread::hardware_concurrency());
  std::atomic<size_t> next = 0;
  auto run = [&] {
    auto worker = makeWorker();
    for (size_t i; (i = next.fetch_add(1)) < count;)
      worker(i);
  };
  std::vector<std::thread> workers;
  for (unsigned i = 1; i < threads && i < count; ++i)
    workers.emplace_back(run);
  run();
  for (std::thread &worker : workers)
    worker.join();
}

static CompiledKernel describeTasks(const KernelPlan &plan) {
  CompiledKernel kernel = loops::describe(plan);
  kernel.tasks = plan.tasks();
  kernel.grain = plan.grain();
  bool columns = plan.form == KernelPlan::Form::Columns;
  kernel.space.taskRows = columns ? plan.rows : 1;
  kernel.space.taskCols = plan.chunk;
  return kernel;
}

static llvm::Error linkVariant(CompiledVariant &variant,
                               MutableArrayRef<Part> parts) {
  std::vector<std::string> objects;
  for (Part &part : parts)
    objects.push_back(std::move(part.object));
  auto image = linkShared(objects);
  if (!image)
    return image.takeError();
  variant.image = std::move(*image);
  return llvm::Error::success();
}

static FailureOr<std::vector<KernelPlan>> planAll(ModuleOp module) {
  std::vector<KernelPlan> plans;
  bool ok = true;
  for (auto kernel : module.getOps<kern::KernelOp>()) {
    FailureOr<KernelPlan> plan = loops::planKernel(kernel, rowBufferBytes);
    // Tasks are rows, on any number of threads: none has a place for sums.
    bool sums = succeeded(plan) && plan->sums() > 0;
    if (sums)
      kernel.emitOpError("sums over its rows; kernels of rows do so on GPUs "
                         "alone");
    if (failed(plan) || sums)
      ok = false;
    else
      plans.push_back(std::move(*plan));
  }
  if (!ok)
    return failure();
  return std::move(plans);
}

/// The parts of every variant, variant by variant.
static std::vector<Part> divide(ArrayRef<KernelPlan> plans,
                                const CpuOptions &options) {
  std::vector<Part> parts;
  for (const std::string &isa : options.isas)
    for (const KernelPlan &plan : plans) {
      Part part;
      part.isa = isa;
      part.plan = &plan;
      parts.push_back(std::move(part));
    }
  return parts;
}

LogicalResult compileKernels(ModuleOp module, const CpuOptions &options,
                             CompiledKernels &out) {
  out = {};
  FailureOr<std::vector<KernelPlan>> plans = planAll(module);
  if (failed(plans))
    return failure();
  for (const KernelPlan &plan : *plans)
    out.kernels.push_back(describeTasks(plan));
  std::vector<Part> parts = divide(*plans, options);
  inParallel(parts.size(), options.threads, [&] {
    return [&parts, compiler = std::make_unique<PartCompiler>(options)](
               size_t i) { compiler->compile(parts[i]); };
  });
  for (const Part &part : parts)
    if (!part.error.empty())
      return module.emitError("kernels for ") << part.isa << ": " << part.error;

  size_t count = options.isas.empty() ? 0 : parts.size() / options.isas.size();
  out.variants.resize(options.isas.size());
  std::vector<std::string> errors(options.isas.size());
  auto linkOne = [&](size_t v) {
    CompiledVariant &variant = out.variants[v];
    auto mine = MutableArrayRef(parts).slice(v * count, count);
    variant.isa = options.isas[v];
    for (const Part &part : mine) {
      variant.mlir += part.mlir;
      variant.llvm += part.llvm;
      variant.assembly += part.assembly;
    }
    if (!options.link || mine.empty())
      return;
    if (llvm::Error error = linkVariant(variant, mine))
      errors[v] = llvm::toString(std::move(error));
  };
  inParallel(options.isas.size(), options.threads, [&] { return linkOne; });
  for (const std::string &error : errors)
    if (!error.empty())
      return module.emitError(error);
  return success();
}

} // namespace hocket::cpu
