//===- Compile.cpp - One compilation --------------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Compile.h"

#include "base/File.h"
#include "base/Format.h"
#include "base/Sha256.h"
#include "compiler/driver/DiagnosticText.h"
#include "compiler/driver/LinkRerun.h"
#include "compiler/driver/MemoryFit.h"
#include "compiler/driver/NearestPlans.h"
#include "compiler/driver/PhaseDumper.h"
#include "compiler/driver/Registration.h"
#include "compiler/driver/ScheduleCheck.h"
#include "compiler/targets/cpu/KernelCompiler.h"
#include "compiler/targets/cuda/F8Layouts.h"
#include "compiler/targets/cuda/KernelText.h"
#include "compiler/targets/cuda/LibraryCode.h"
#include "compiler/targets/program/ProgramEmitter.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/plan/IR/Plan.h"
#include "dialects/xf/IR/Xf.h"
#include "frontends/FrontEnd.h"
#include "frontends/mlir/ModuleText.h"
#include "frontends/spec/Check.h"
#include "frontends/spec/build/BuildModel.h"
#include "frontends/spec/model/PlanMessage.h"
#include "frontends/spec/model/Sizes.h"
#include "runtime/program/Entries.h"
#include "runtime/program/check/ProgramCheck.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Threading.h"

using namespace mlir;
using namespace hocket;

namespace {

/// Largest `.mlir` file that is read.
constexpr uint64_t maxModuleBytes = uint64_t(1) << 30;

/// What dist-seed-shardings and dist-explain-shardings have left.
std::optional<ShardingsNote> readShardingsNote(ModuleOp module) {
  DictionaryAttr chosen;
  for (auto mesh : module.getOps<dist::MeshOp>())
    chosen = mesh.getChosenAttr();
  for (auto mesh : module.getOps<step::MeshOp>())
    chosen = mesh.getChosenAttr();
  if (!chosen)
    return std::nullopt;
  auto count = [&](StringRef name) {
    auto number = chosen.getAs<IntegerAttr>(name);
    return number ? number.getInt() : 0;
  };
  return ShardingsNote{count("parameters"), count("ops"), count("kept")};
}

/// The module's attribute that names the level of `--compile-to`.
constexpr llvm::StringLiteral levelNote = "hocket.level";

Status checkLevels(Level from, Level to) {
  return from < to ? okStatus()
                   : invalidArgument("--compile-from=" + levelName(from).str() +
                                     " must come before --compile-to=" +
                                     levelName(to).str());
}

/// One compilation from input to result.
class Compilation {
public:
  /// With `given` the request's input names what that was read from.
  Compilation(const CompileRequest &request, bool isTargetAsked,
              PhaseDumper dumper,
              std::optional<spec::LoadedSpec> given = std::nullopt)
      : request(request), isTargetAsked(isTargetAsked),
        dumper(std::move(dumper)), given(std::move(given)), from(request.from) {
    DialectRegistry registry;
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    // An error names the line of the specification; --dump-phases has the IR.
    context.printOpOnDiagnostic(false);
  }

  StatusOr<CompileResult> run() {
    DiagnosticText diagnostics(context);
    // 1. The front end.
    HOCKET_RETURN_IF_ERROR(openInput(diagnostics));
    dumper.write("input.mlir", *module);
    // 2. Level by level.
    int first = from ? static_cast<int>(*from) + 1 : 0;
    int last =
        std::min(static_cast<int>(request.to), static_cast<int>(Level::Exec));
    int pipe = static_cast<int>(Level::Pipe);
    bool fits = recomputesToFit() && first <= pipe && pipe <= last;
    for (int level = first; level <= (fits ? pipe - 1 : last); ++level)
      HOCKET_RETURN_IF_ERROR(lowerTo(static_cast<Level>(level), diagnostics));
    if (fits)
      HOCKET_RETURN_IF_ERROR(lowerToFit(last, diagnostics));
    // 3. The result.
    CompileResult result;
    if (last == static_cast<int>(Level::Exec)) {
      HOCKET_RETURN_IF_ERROR(compileRerun());
      result.memory = measure();
      result.recompute = readRecomputeNotes(*module);
      result.memoryBudget = budget;
      result.shardings = readShardingsNote(*module);
      HOCKET_RETURN_IF_ERROR(checkMemory(result));
      if (request.goesOn && !request.goesOn(result.memory))
        return result;
    }
    if (request.emitCuda)
      HOCKET_RETURN_IF_ERROR(emitCuda(result, diagnostics));
    else if (request.to == Level::Program)
      HOCKET_RETURN_IF_ERROR(emit(result.program, diagnostics));
    else
      printLevel(result.text);
    HOCKET_RETURN_IF_ERROR(dumper.status());
    return result;
  }

private:
  bool inputIsModule() const {
    return !given && llvm::sys::path::extension(request.input) == ".mlir";
  }

  /// Empty: the plan names none.
  std::string shardingsFile() const {
    return module ? plan::planOf(*module).shardings : "";
  }

  /// What a diagnostic of a pass means: a `.mlir` file may hold anything, and a
  /// file of shardings too; a spec that passed its checks must compile.
  Status failureOf(const DiagnosticText &diagnostics) const {
    std::string shardings = shardingsFile();
    bool isOfShardings =
        !shardings.empty() &&
        llvm::StringRef(diagnostics.text()).starts_with(shardings);
    return inputIsModule() || isOfShardings
               ? invalidArgument(diagnostics.text())
               : internalError(diagnostics.text());
  }

  /// Those that were asked for, as far as the specification can have them.
  StatusOr<spec::Entries> chooseEntries(const spec::LoadedSpec &loaded) const {
    spec::Entries entries = request.entries;
    std::string reason =
        entries.generate ? spec::whyNotServed(loaded.spec) : "";
    if (!reason.empty() && !request.anyEntries)
      return invalidArgument(request.input + ": --entries generate: " + reason);
    if (!reason.empty() && loaded.spec.model().has_encoder())
      return invalidArgument(request.input +
                             ": no text can be written, since what an encoder "
                             "reads is kept in caches: " +
                             reason);
    entries.generate &= reason.empty();
    // What a file of shardings names is of training's forward pass.
    entries.train |= !loaded.spec.plan().shardings().empty();
    return entries;
  }

  Status openInput(DiagnosticText &diagnostics) {
    if (!inputIsModule()) {
      loaded = given;
      if (!loaded) {
        HOCKET_ASSIGN_OR_RETURN(loaded,
                                loadSpecification(request.input, request.spec));
      }
      HOCKET_RETURN_IF_ERROR(checkSchedule(*loaded));
      HOCKET_ASSIGN_OR_RETURN(spec::Entries entries, chooseEntries(*loaded));
      module = spec::buildModel(*loaded, context, entries);
      budgetPlace = loaded->locations.find("cluster.memory_bytes").str();
      spec = loaded->spec;
      return module ? okStatus() : failureOf(diagnostics);
    }
    if (!request.spec.empty())
      return invalidArgument(request.input +
                             ": --set, --plan and --mesh change a "
                             "specification, not a .mlir file");
    HOCKET_ASSIGN_OR_RETURN(std::string text,
                            readFile(request.input, maxModuleBytes));
    HOCKET_RETURN_IF_ERROR(checkModuleText(text, request.input));
    module = parseSourceString<ModuleOp>(text, ParserConfig(&context),
                                         llvm::StringRef(request.input));
    if (!module)
      return invalidArgument(diagnostics.text());
    HOCKET_RETURN_IF_ERROR(takeSpecOfModule());
    HOCKET_RETURN_IF_ERROR(takeLevelOfModule());
    // What a compilation wrote may have been edited since.
    if (!from)
      return okStatus();
    return runPasses(
        [&](PassManager &manager) { addLevelVerifier(manager, *from); },
        diagnostics);
  }

  /// A `.mlir` file that a compilation wrote says its level. Where somebody has
  /// run passes on it since, --compile-from knows better.
  Status takeLevelOfModule() {
    auto note = llvm::dyn_cast_or_null<StringAttr>(
        (*module)->removeDiscardableAttr(levelNote));
    if (note && !from) {
      from = parseLevel(note.getValue());
      if (!from)
        return invalidArgument(request.input + ": " + levelNote.str() +
                               " is '" + note.str() + "', which is no level");
    }
    if (!from && module->getOps<xf::TrainingOp>().empty())
      return invalidArgument(request.input +
                             ": has no xf.training, with which passes begin; "
                             "if it is the IR of a level, write "
                             "--compile-from=LEVEL");
    return from ? checkLevels(*from, request.to).withContext(request.input)
                : okStatus();
  }

  /// What the runtime needs for its loop, at whatever level the module is.
  DictionaryAttr runtimeOfModule() {
    for (auto training : module->getOps<xf::TrainingOp>())
      return training.getRuntime();
    for (auto training : module->getOps<step::TrainingOp>())
      return training.getRuntime();
    return DictionaryAttr::get(&context);
  }

  void setSpecOfModule(const std::string &text) {
    NamedAttrList entries(runtimeOfModule());
    entries.set("spec", StringAttr::get(&context, text));
    DictionaryAttr runtime = entries.getDictionary(&context);
    for (auto training : module->getOps<xf::TrainingOp>())
      training.setRuntimeAttr(runtime);
    for (auto training : module->getOps<step::TrainingOp>())
      training.setRuntimeAttr(runtime);
  }

  /// The specification of a `.mlir` file that a compilation wrote. Its target
  /// must be asked for (S19); and where somebody has given the module another
  /// plan, that is judged and takes the place of the specification's.
  Status takeSpecOfModule() {
    auto text = runtimeOfModule().getAs<StringAttr>("spec");
    if (!text)
      return okStatus();
    HOCKET_ASSIGN_OR_RETURN(
        loaded, spec::parseSpec(text.getValue().str(),
                                request.input + ": its specification"));
    if (!isTargetAsked &&
        loaded->spec.cluster().device() == spec::Cluster::CUDA)
      return invalidArgument(request.input +
                             ": S19: its specification's cluster.device is "
                             "CUDA; write --target cuda, or cpu");
    plan::ParallelPlan plan = plan::planOf(*module);
    if (plan == spec::planOf(loaded->spec))
      return okStatus();
    spec::LoadOptions options;
    options.planPath = plan::printPlan(plan);
    loaded->spec.mutable_cluster()->clear_devices();
    auto changed = spec::parseSpec(spec::printSpec(loaded->spec),
                                   "its specification", options);
    if (!changed.ok())
      return changed.status().withContext(request.input + ": plan.step");
    setSpecOfModule(spec::printSpec(changed->spec));
    loaded = *std::move(changed);
    return okStatus();
  }

  /// The same with room for all rows that experts can be chosen for, of which
  /// one layer's live at a time, where steps beyond the bound are run again.
  Status compileRerun() {
    bool trains = false;
    module->walk([&](exec::EntryOp entry) {
      trains |= isTrainEntry(entry.getName().str());
    });
    if (given || !loaded || !trains || !spec::runsAgain(loaded->spec))
      return okStatus();
    spec::Spec changed = loaded->spec;
    spec::Moe &moe = *changed.mutable_model()->mutable_moe();
    moe.clear_beyond_bound();
    moe.set_expert_capacity_bound(plan::mostRowsBound);
    spec::Plan &plan = *changed.mutable_plan();
    plan.set_recompute(spec::Plan::FULL);
    plan.clear_recompute_method();
    plan.clear_recompute_layers();
    plan.clear_recompute_modules();
    // Its lines are those of the text that the program holds, whatever level
    // the module came from.
    HOCKET_ASSIGN_OR_RETURN(
        spec::LoadedSpec roomy,
        spec::parseSpec(spec::printSpec(changed), "resolved-spec"));
    CompileRequest other = request;
    other.from = std::nullopt;
    other.spec = {};
    other.anyMemory = true;
    other.goesOn = nullptr;
    if (request.emitCuda)
      other.to = Level::Exec, other.emitCuda = false;
    other.dumpPhases.clear(), other.fusionReport.clear();
    HOCKET_ASSIGN_OR_RETURN(PhaseDumper none, PhaseDumper::open(""));
    auto compiled =
        Compilation(other, true, std::move(none), std::move(roomy)).run();
    if (!compiled.ok())
      return compiled.status().withContext("steps that are run again");
    rerun = *std::move(compiled);
    return okStatus();
  }

  /// Whether the program decides what to recompute by the bytes of its arena.
  bool recomputesToFit() {
    if (budgetPlace.empty())
      budgetPlace = request.input;
    if (auto bytes = runtimeOfModule().getAs<IntegerAttr>("memory_bytes"))
      budget = bytes.getInt();
    return plan::planOf(*module).recompute == plan::Recompute::Auto &&
           budget > 0;
  }

  /// From the level before pipe to `last`, as often as MemoryFit asks.
  Status lowerToFit(int last, DiagnosticText &diagnostics) {
    bool isWritten = last != static_cast<int>(Level::Exec) ||
                     dumper.enabled() || !request.fusionReport.empty();
    OwningOpRef<ModuleOp> before;
    if (isWritten)
      before = module->clone();
    isTrial = true;
    HOCKET_RETURN_IF_ERROR(runPasses(addStagePasses, diagnostics));
    OwningOpRef<ModuleOp> stages = std::move(module);
    MemoryFit fit(budget);
    auto lower = [&](const std::vector<size_t> &ranks) -> Status {
      options.recomputeFixed = fit.fixed();
      options.recomputeLeast = fit.least();
      module = stages->clone();
      HOCKET_RETURN_IF_ERROR(runPasses(
          [&](PassManager &manager) { addFragmentPasses(manager, options); },
          diagnostics));
      if (!ranks.empty())
        keepRanks(*module, ranks);
      HOCKET_RETURN_IF_ERROR(lowerTo(Level::Kern, diagnostics));
      return lowerTo(Level::Exec, diagnostics);
    };
    do
      HOCKET_RETURN_IF_ERROR(lower(fit.open()));
    while (fit.note(measure(), readRecomputeNotes(*module)));
    if (!isWritten)
      return fit.isWhole() ? okStatus() : lower({});
    isTrial = false;
    options.recomputeFixed = fit.fixed();
    options.recomputeLeast = fit.least();
    module = std::move(before);
    for (int level = static_cast<int>(Level::Pipe); level <= last; ++level)
      HOCKET_RETURN_IF_ERROR(lowerTo(static_cast<Level>(level), diagnostics));
    return okStatus();
  }

  /// What every role needs of its target, or what it runs again does.
  std::vector<RoleMemory> measure() {
    std::vector<RoleMemory> memory =
        request.target == "cuda"
            ? measureMemory(*module, cuda::bytesBesideArena)
            : measureMemory(*module);
    for (size_t i = 0; rerun && i < memory.size(); ++i)
      if (rerun->memory[i].needed() > memory[i].needed())
        memory[i] = rerun->memory[i];
    return memory;
  }

  /// S42: what the fullest rank needs, where a device has less.
  Status checkMemory(const CompileResult &result) {
    if (budget == 0 || request.anyMemory)
      return okStatus();
    const RoleMemory *worst = fullestOf(result.memory);
    if (!worst || worst->needed() <= budget)
      return okStatus();
    std::string text =
        budgetPlace + ": S42: " + ranksText(worst->ranks) +
        (worst->ranks.size() > 1 ? " need " : " needs ") +
        formatBytes(static_cast<uint64_t>(worst->needed())) + ", " +
        formatBytes(static_cast<uint64_t>(worst->needed() - budget)) +
        " more than the " + formatBytes(static_cast<uint64_t>(budget)) +
        " of a device (at the peak: " + ownersText(*worst) + ")";
    if (!spec)
      return invalidArgument(text);
    auto peakOf = [&](const PlanChange &change) -> StatusOr<int64_t> {
      CompileRequest other = request;
      other.spec = change.options;
      other.to = Level::Exec;
      other.dumpPhases.clear();
      other.fusionReport.clear();
      other.anyMemory = true;
      HOCKET_ASSIGN_OR_RETURN(CompileResult compiled, compile(other));
      return mostNeeded(compiled.memory);
    };
    auto near = neighbours(*spec, request.spec, *worst, budget);
    return invalidArgument(text + "; " +
                           nearestPlansText(near, budget, peakOf));
  }

  Status lowerTo(Level level, DiagnosticText &diagnostics) {
    options.fusionReport = isTrial ? "" : request.fusionReport;
    options.fuse = request.fuse;
    options.target = request.target;
    options.invariantGemms = request.invariantGemms;
    options.jointAttention = request.jointAttention;
    options.leastPart = request.leastPart;
    options.leastSummedRows = request.leastSummedRows;
    if (request.target == "cuda")
      options.f8Layouts = cuda::f8LayoutsOf(request.architectures);
    return runPasses(
        [&](PassManager &manager) { addLevelPasses(manager, level, options); },
        diagnostics);
  }

  Status runPasses(llvm::function_ref<void(PassManager &)> add,
                   DiagnosticText &diagnostics) {
    PassManager manager(&context);
    if (dumper.enabled() && !isTrial)
      manager.addInstrumentation(dumper.instrumentation());
    bool each = request.verifyEach.value_or(
        inputIsModule() || !shardingsFile().empty() || dumper.enabled());
    manager.enableVerifier(each);
    add(manager);
    if (failed(manager.run(*module)) || (!each && failed(verify(*module))))
      return failureOf(diagnostics);
    return okStatus();
  }

  /// The kernels as CUDA C++, fused ones and those of library ops.
  Status emitCuda(CompileResult &result, DiagnosticText &diagnostics) {
    std::vector<cuda::CudaKernel> kernels;
    KernelCode code;
    program::Program program;
    if (failed(cuda::writeKernels(*module, kernels)))
      return failureOf(diagnostics);
    result.text = cuda::sourceOf(kernels);
    for (cuda::CudaKernel &kernel : kernels)
      code.kernels.push_back(std::move(kernel.about));
    if (failed(emitProgram(*module, code, program)) ||
        failed(cuda::writeLibraryText(*module, program, result.libraryText)))
      return failureOf(diagnostics);
    return okStatus();
  }

  Status emit(program::Program &program, DiagnosticText &diagnostics) {
    KernelCode code;
    HOCKET_RETURN_IF_ERROR(request.target == "cuda"
                               ? writeCudaCode(code, diagnostics)
                               : compileCpuCode(code, diagnostics));
    if (failed(emitProgram(*module, code, program)) ||
        (request.target == "cuda" &&
         failed(cuda::addLibraryCode(*module, program))))
      return failureOf(diagnostics);
    if (rerun)
      HOCKET_RETURN_IF_ERROR(linkRerun(program, rerun->program));
    addProvenance(program);
    return checkResult(program);
  }

  Status compileCpuCode(KernelCode &code, DiagnosticText &diagnostics) {
    cpu::CpuOptions cpuOptions;
    if (!request.architectures.empty())
      cpuOptions.isas = request.architectures;
    cpuOptions.objects = request.kernelObjects.get();
    cpuOptions.keepLlvm = cpuOptions.keepAssembly = dumper.enabled();
    cpu::CompiledKernels kernels;
    if (failed(cpu::compileKernels(*module, cpuOptions, kernels)))
      return failureOf(diagnostics);
    for (cpu::CompiledVariant &variant : kernels.variants) {
      dumper.write("kernels-" + variant.isa + ".ll", variant.llvm);
      dumper.write("kernels-" + variant.isa + ".s", variant.assembly);
      code.variants.push_back(
          {variant.isa, "elf-so", std::move(variant.image)});
    }
    code.kernels = std::move(kernels.kernels);
    return okStatus();
  }

  Status writeCudaCode(KernelCode &code, DiagnosticText &diagnostics) {
    std::vector<cuda::CudaKernel> kernels;
    if (failed(cuda::writeKernels(*module, kernels)))
      return failureOf(diagnostics);
    dumper.write("kernels.cu", cuda::sourceOf(kernels));
    code.variants.push_back(cuda::codeOf(kernels));
    for (cuda::CudaKernel &kernel : kernels)
      code.kernels.push_back(std::move(kernel.about));
    return okStatus();
  }

  /// What is written must be what the runtime accepts.
  Status checkResult(const program::Program &program) const {
    Status sound = checkProgram(program);
    if (sound.ok())
      return okStatus();
    return Status(inputIsModule() ? StatusCode::InvalidArgument
                                  : StatusCode::Internal,
                  request.input + ": the program that came of it is not " +
                      "sound: " + sound.message());
  }

  void addProvenance(program::Program &program) {
    auto *provenance = program.mutable_provenance();
    provenance->set_compiler_version(HOCKET_VERSION);
    provenance->set_target(request.target);
    provenance->add_sources(llvm::sys::path::filename(request.input).str());
    // What determines the program: the resolved spec, or the module's text,
    // which says what a file of shardings has chosen, and what else than
    // training the program does.
    std::string identity = provenance->spec_text();
    std::vector<std::string> entries = entriesOf(program);
    if (identity.empty() || !shardingsFile().empty() ||
        !llvm::is_contained(entries, "train_step") ||
        llvm::is_contained(entries, "decode"))
      print(identity);
    Sha256::Digest digest = Sha256::of(identity);
    provenance->set_fingerprint(std::string(digest.begin(), digest.end()));
  }

  /// The IR of a level, which can be compiled further.
  void printLevel(std::string &text) {
    (*module)->setDiscardableAttr(
        levelNote, StringAttr::get(&context, levelName(request.to)));
    print(text);
  }

  void print(std::string &text) {
    llvm::raw_string_ostream stream(text);
    // Every level ends in being verified.
    auto flags = OpPrintingFlags().enableDebugInfo(true, false);
    (*module)->print(stream, flags.assumeVerified());
  }

  /// On one core threads of passes only wait for each other.
  static MLIRContext::Threading threading() {
    return llvm::hardware_concurrency().compute_thread_count() > 1
               ? MLIRContext::Threading::ENABLED
               : MLIRContext::Threading::DISABLED;
  }

  const CompileRequest &request;
  bool isTargetAsked; ///< or its default
  PhaseDumper dumper;
  const std::optional<spec::LoadedSpec> given;
  std::optional<spec::LoadedSpec> loaded; ///< absent: the module has none
  std::optional<Level> from;              ///< absent: the input of all levels
  std::optional<CompileResult> rerun;     ///< steps that have room for all rows
  MLIRContext context{threading()};
  OwningOpRef<ModuleOp> module;
  PipelineOptions options;
  int64_t budget = 0;             ///< of memory_bytes; 0: none
  std::string budgetPlace;        ///< where it was written
  std::optional<spec::Spec> spec; ///< absent of a `.mlir` file
  bool isTrial = false;           ///< nothing is written of this lowering
};

} // namespace

StatusOr<CompileResult> hocket::compile(const CompileRequest &request) {
  if (request.from)
    HOCKET_RETURN_IF_ERROR(checkLevels(*request.from, request.to));
  HOCKET_ASSIGN_OR_RETURN(PhaseDumper dumper,
                          PhaseDumper::open(request.dumpPhases));
  CompileRequest targeted = request;
  HOCKET_ASSIGN_OR_RETURN(targeted.target, targetOf(request));
  bool isTargetAsked = !request.target.empty();
  return Compilation(targeted, isTargetAsked, std::move(dumper)).run();
}
