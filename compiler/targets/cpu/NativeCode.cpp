//===- NativeCode.cpp - Loops over vectors to machine code ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/targets/cpu/NativeCode.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/DCE.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopRotation.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

#include <mutex>

using namespace mlir;

namespace hocket::cpu {

static constexpr llvm::StringLiteral triple = "x86_64-unknown-linux-gnu";

void loadCodegenDialects(MLIRContext &context) {
  context.loadDialect<arith::ArithDialect, cf::ControlFlowDialect,
                      LLVM::LLVMDialect, math::MathDialect, scf::SCFDialect,
                      vector::VectorDialect>();
  registerBuiltinDialectTranslation(context);
  registerLLVMDialectTranslation(context);
}

unsigned vectorWidthOf(StringRef isa) {
  return llvm::StringSwitch<unsigned>(isa)
      .Case("x86-64-v4", 16)
      .Case("x86-64-v3", 8)
      .Default(0);
}

llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createMachine(StringRef isa) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  if (vectorWidthOf(isa) == 0)
    return llvm::createStringError("instruction set '" + isa +
                                   "' is not one of x86-64-v4, x86-64-v3");
  std::string error;
  const auto *target = llvm::TargetRegistry::lookupTarget(triple.str(), error);
  if (!target)
    return llvm::createStringError(error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, isa, "-prefer-256-bit", options, llvm::Reloc::PIC_, std::nullopt,
      llvm::CodeGenOptLevel::Default));
}

//===----------------------------------------------------------------------===//
// To the LLVM dialect
//===----------------------------------------------------------------------===//

namespace {

/// 1 / sqrt(x), both rounded as IEEE says.
struct ExpandRsqrt : OpRewritePattern<math::RsqrtOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::RsqrtOp op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    TypedAttr one = rewriter.getFloatAttr(getElementTypeOrSelf(type), 1.0);
    if (auto vector = dyn_cast<VectorType>(type))
      one = DenseElementsAttr::get(vector, Attribute(one));
    Value numerator = rewriter.create<arith::ConstantOp>(op.getLoc(), one);
    Value root = rewriter.create<math::SqrtOp>(op.getLoc(), op.getOperand());
    rewriter.replaceOpWithNewOp<arith::DivFOp>(op, numerator, root);
    return success();
  }
};

} // namespace

/// Replaces every transcendental function by polynomials.
static LogicalResult approximateMath(ModuleOp module) {
  RewritePatternSet patterns(module.getContext());
  patterns.add<ExpandRsqrt>(module.getContext());
  populateExpandPowFPattern(patterns);
  populateExpandExp2FPattern(patterns);
  populateMathPolynomialApproximationPatterns(patterns);
  SmallVector<Operation *> ops;
  module.walk([&](Operation *op) {
    if (isa_and_present<math::MathDialect>(op->getDialect()))
      ops.push_back(op);
  });
  GreedyRewriteConfig config;
  config.strictMode = GreedyRewriteStrictness::ExistingAndNewOps;
  config.enableRegionSimplification = GreedySimplifyRegionLevel::Disabled;
  return applyOpPatternsAndFold(ops, std::move(patterns), config);
}

LogicalResult lowerToLlvmDialect(ModuleOp module) {
  if (failed(approximateMath(module)))
    return module.emitError("math functions could not be approximated");
  MLIRContext *context = module.getContext();
  LLVMTypeConverter types(context);
  RewritePatternSet patterns(context);
  populateSCFToControlFlowConversionPatterns(patterns);
  cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
  arith::populateArithToLLVMConversionPatterns(types, patterns);
  populateMathToLLVMConversionPatterns(types, patterns);
  vector::populateVectorBroadcastLoweringPatterns(patterns);
  populateVectorToLLVMConversionPatterns(types, patterns);
  LLVMConversionTarget target(*context);
  target.addLegalOp<ModuleOp>();
  return applyFullConversion(module, target, std::move(patterns));
}

//===----------------------------------------------------------------------===//
// LLVM
//===----------------------------------------------------------------------===//

/// Enough for straight code that is vectorised already: share and move out of
/// loops what the emitter wrote where it was needed. The loop and SLP
/// vectorisers, inlining and unrolling have nothing to do here.
static void optimise(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PassBuilder builder(&machine);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);

  llvm::FunctionPassManager passes;
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/false));
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::InstCombinePass());
  llvm::LoopPassManager loop;
  loop.addPass(llvm::LoopRotatePass());
  loop.addPass(llvm::LICMPass(llvm::LICMOptions()));
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(loop),
                                                       /*UseMemorySSA=*/true));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/false));
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::DCEPass());
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      passes.run(function, functions);
}

std::unique_ptr<llvm::Module> translateToLlvm(ModuleOp module,
                                              llvm::LLVMContext &context,
                                              llvm::TargetMachine &machine) {
  std::unique_ptr<llvm::Module> translated =
      translateModuleToLLVMIR(module, context, "kernels");
  if (!translated)
    return nullptr;
  translated->setTargetTriple(triple);
  translated->setDataLayout(machine.createDataLayout());
  for (llvm::Function &function : *translated) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr(llvm::Attribute::NoUnwind);
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    function.addFnAttr("target-features", machine.getTargetFeatureString());
    // Loops stay loops: no call of memset or memcpy.
    function.addFnAttr("no-builtins");
  }
  optimise(*translated, machine);
  return translated;
}

llvm::Expected<std::string> generateCode(llvm::Module &module,
                                         llvm::TargetMachine &machine,
                                         bool assembly) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  auto type = assembly ? llvm::CodeGenFileType::AssemblyFile
                       : llvm::CodeGenFileType::ObjectFile;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type,
                                  /*DisableVerify=*/true))
    return llvm::createStringError("LLVM cannot write this kind of file");
  passes.run(module);
  return std::string(bytes.begin(), bytes.end());
}

} // namespace hocket::cpu
