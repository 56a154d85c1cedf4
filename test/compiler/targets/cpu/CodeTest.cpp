//===- CodeTest.cpp - The images, and what cannot be compiled -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/compiler/targets/cpu/KernelHarness.h"

#include "compiler/targets/cpu/NativeCode.h"
#include "compiler/targets/cpu/SharedObject.h"
#include "dialects/kern/IR/Kern.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Target/TargetMachine.h"

#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <vector>

namespace hocket::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class Code : public testing::Test {
protected:
  Code() {
    context.loadDialect<mlir::arith::ArithDialect, mlir::math::MathDialect,
                        kern::KernDialect>();
  }

  /// Compiles; the diagnostics are in `said`.
  bool compile(const std::string &text, const cpu::CpuOptions &options = {}) {
    mlir::ScopedDiagnosticHandler handler(&context,
                                          [&](mlir::Diagnostic &diagnostic) {
                                            said += diagnostic.str() + "\n";
                                            return mlir::success();
                                          });
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << said;
    return module && succeeded(cpu::compileKernels(*module, options, compiled));
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  cpu::CompiledKernels compiled;
  std::string said;
};

/// `count` kernels that differ.
std::string manyKernels(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    KernelText kernel{4, 64 + i, {{"full"}, {"col"}}, {{"full", "bf16"}}};
    kernel.name = "k" + std::to_string(i);
    kernel.body = R"(
      %0 = math.exp %a0 : f32
      %1 = kern.reduce add %0 : f32
      %2 = arith.mulf %0, %1 : f32
      %3 = arith.addf %2, %a1 : f32
      kern.yield %3 : f32
    )";
    text += kernel.str();
  }
  return text;
}

/// The results that a folder of caches keeps.
std::vector<std::filesystem::path> keptIn(const std::string &folder) {
  std::vector<std::filesystem::path> files;
  for (const auto &file : std::filesystem::directory_iterator(folder))
    if (file.path().extension() == ".kept")
      files.push_back(file.path());
  return files;
}

TEST_F(Code, SameModuleSameBytesOnAnyThreads) {
  std::string text = manyKernels(30);
  cpu::CpuOptions options;
  options.threads = 1;
  ASSERT_TRUE(compile(text, options)) << said;
  cpu::CompiledKernels first = compiled;
  ASSERT_EQ(first.kernels.size(), 30u);
  for (unsigned threads : {1, 2, 5}) {
    options.threads = threads;
    ASSERT_TRUE(compile(text, options)) << said;
    for (size_t i = 0; i < first.variants.size(); ++i)
      EXPECT_EQ(first.variants[i].image, compiled.variants[i].image);
  }
}

/// In another program, beside others, for another instruction set.
TEST_F(Code, KeptObjectsGiveTheSameBytes) {
  ASSERT_TRUE(compile(manyKernels(5))) << said;
  cpu::CompiledKernels plain = compiled;
  cpu::KernelObjects objects;
  cpu::CpuOptions options;
  options.objects = &objects;
  options.isas = {"x86-64-v3"};
  ASSERT_TRUE(compile(manyKernels(3), options)) << said;
  EXPECT_EQ(objects.size(), 3u);
  options.isas = cpu::CpuOptions().isas;
  ASSERT_TRUE(compile(manyKernels(5), options)) << said;
  EXPECT_EQ(objects.size(), 10u);
  for (size_t i = 0; i < plain.variants.size(); ++i)
    EXPECT_EQ(plain.variants[i].image, compiled.variants[i].image);
}

/// As another process does that has the same folder.
TEST_F(Code, ObjectsKeptInAFolderGiveTheSameBytes) {
  ASSERT_TRUE(compile(manyKernels(3))) << said;
  cpu::CompiledKernels plain = compiled;
  std::string folder =
      testing::TempDir() + "/kernel-objects-" + std::to_string(::getpid());
  auto compileBy = [&](const std::string &identity) {
    cpu::KernelObjects objects(*ResultCache::open(folder), identity);
    size_t before = keptIn(folder).size();
    cpu::CpuOptions options;
    options.objects = &objects;
    EXPECT_TRUE(compile(manyKernels(3), options)) << said;
    EXPECT_EQ(objects.size(), 6u);
    for (size_t i = 0; i < plain.variants.size(); ++i)
      EXPECT_EQ(plain.variants[i].image, compiled.variants[i].image);
    return keptIn(folder).size() - before;
  };
  EXPECT_EQ(compileBy("one compiler"), 6u);
  EXPECT_EQ(compileBy("one compiler"), 0u);
  EXPECT_EQ(compileBy("another"), 6u);
  // What is damaged is compiled again, and kept again.
  for (const std::filesystem::path &file : keptIn(folder))
    std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  EXPECT_EQ(compileBy("one compiler"), 0u);
  std::filesystem::remove_all(folder);
}

TEST(KernelObjects, AreFoundByAllThatTheyDependOn) {
  std::string folder =
      testing::TempDir() + "/kernel-objects-" + std::to_string(::getpid());
  auto cache = *ResultCache::open(folder);
  cpu::KernelObjects(cache, "one").keep("x86-64-v3", "kernel", "object");
  auto find = [&](const char *identity, const char *isa, const char *kernel) {
    return cpu::KernelObjects(cache, identity).find(isa, kernel);
  };
  EXPECT_EQ(find("one", "x86-64-v3", "kernel"), "object");
  EXPECT_FALSE(find("two", "x86-64-v3", "kernel"));
  EXPECT_FALSE(find("one", "x86-64-v4", "kernel"));
  EXPECT_FALSE(find("one", "x86-64-v3", "kernels"));
  std::filesystem::remove_all(folder);
}

/// As `readelf --notes` and this program's linker have it.
TEST(KernelObjects, CompilersAreToldApartByTheirBuildIds) {
  std::string identity = cpu::compilerIdentity();
  EXPECT_THAT(identity, testing::MatchesRegex("([0-9a-f]{16,} ){3,}"));
  EXPECT_EQ(identity, cpu::compilerIdentity());
}

TEST_F(Code, LeavesTheModuleAsItIs) {
  std::string text = manyKernels(2), before, after;
  module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  ASSERT_TRUE(module);
  llvm::raw_string_ostream(before) << *module;
  ASSERT_TRUE(succeeded(cpu::compileKernels(*module, {}, compiled)));
  llvm::raw_string_ostream(after) << *module;
  EXPECT_EQ(before, after);
}

TEST_F(Code, ImagesNeedNothing) {
  ASSERT_TRUE(compile(manyKernels(2))) << said;
  for (const cpu::CompiledVariant &variant : compiled.variants) {
    auto file = llvm::object::ObjectFile::createELFObjectFile(
        llvm::MemoryBufferRef(variant.image, "image"));
    ASSERT_TRUE(static_cast<bool>(file));
    auto &elf = llvm::cast<llvm::object::ELFObjectFileBase>(**file);
    size_t defined = 0;
    for (llvm::object::ELFSymbolRef symbol : elf.getDynamicSymbolIterators()) {
      uint32_t flags = llvm::cantFail(symbol.getFlags());
      EXPECT_FALSE(flags & llvm::object::SymbolRef::SF_Undefined)
          << llvm::cantFail(symbol.getName()).str();
      ++defined;
    }
    EXPECT_EQ(defined, 2u);
  }
}

/// An object with one `function`, which `calls` another.
std::string objectOf(const std::string &function, const std::string &calls) {
  llvm::LLVMContext llvmContext;
  llvm::SMDiagnostic problem;
  auto code = llvm::parseAssemblyString("declare float @" + calls +
                                            "(float)\n"
                                            "define float @" +
                                            function +
                                            "(float %x) {\n"
                                            "%y = call float @" +
                                            calls +
                                            "(float %x)\n"
                                            "ret float %y\n"
                                            "}\n",
                                        problem, llvmContext);
  auto machine = llvm::cantFail(cpu::createMachine("x86-64-v3"));
  code->setTargetTriple(machine->getTargetTriple().str());
  code->setDataLayout(machine->createDataLayout());
  return llvm::cantFail(cpu::generateCode(*code, *machine, false));
}

/// A call that slips through is found before the linker sees it.
TEST_F(Code, CallsOfLibrariesAreRefused) {
  EXPECT_EQ(llvm::toString(cpu::checkSelfContained(objectOf("f", "expf"))),
            "generated code calls 'expf', which no kernel defines");
}

/// What cannot be linked is an error, after which lld links the next.
TEST_F(Code, WhatCannotBeLinked) {
  std::string f = objectOf("f", "g"), g = objectOf("g", "f");
  auto problem = [](const std::vector<std::string> &objects,
                    bool isWhole = true) {
    auto image = cpu::linkShared(objects, isWhole);
    return image ? std::string("none") : llvm::toString(image.takeError());
  };
  EXPECT_EQ(problem({f, g}), "none");
  EXPECT_THAT(problem({f}), HasSubstr("undefined symbol: g"));
  EXPECT_EQ(problem({f}, /*isWhole=*/false), "none");
  EXPECT_THAT(problem({f, g, f}), HasSubstr("duplicate symbol: f"));
  EXPECT_THAT(problem({f.substr(0, 100)}), HasSubstr("lld cannot link"));
  EXPECT_THAT(problem({"no object"}), HasSubstr("not an ELF file"));
  EXPECT_EQ(problem({f, g}), "none");
}

TEST_F(Code, Metadata) {
  KernelText text{8, 64, {{"full", "bf16"}, {"row"}}, {{"full"}}};
  text.name = "scaled";
  text.instances = 2;
  text.body = "%0 = arith.mulf %a0, %a1 : f32\n kern.yield %0 : f32\n";
  ASSERT_TRUE(compile(text.str())) << said;
  const cpu::CompiledKernel &kernel = compiled.kernels[0];
  EXPECT_EQ(kernel.name, "scaled");
  EXPECT_EQ(kernel.symbol, "hocket_kernel_scaled");
  EXPECT_EQ(kernel.tasks, 8);
  EXPECT_EQ(kernel.grain, 8); // Too small to be shared.
  EXPECT_EQ(kernel.operands.size(), 3u);
  EXPECT_EQ(kernel.scalars, 6u);
  EXPECT_EQ(kernel.flops, 8 * 64);
  EXPECT_EQ(kernel.bytes, 8u * 64 * (2 + 4) + 8 * 4);
  EXPECT_THAT(kernel.description, HasSubstr("[8 x 64]"));
}

TEST_F(Code, StrangeNamesBecomeSymbols) {
  KernelText text{1, 4, {{"full"}}, {{"full"}}};
  text.name = "\"_init.a b\"";
  text.body = "kern.yield %a0 : f32\n";
  ASSERT_TRUE(compile(text.str())) << said;
  EXPECT_EQ(compiled.kernels[0].symbol, "hocket_kernel__init$2ea$20b");
}

TEST_F(Code, NothingToCompile) {
  ASSERT_TRUE(compile("module {}")) << said;
  EXPECT_TRUE(compiled.kernels.empty());
  ASSERT_EQ(compiled.variants.size(), 2u);
  EXPECT_TRUE(compiled.variants[0].image.empty());
}

TEST_F(Code, UnknownOperation) {
  KernelText text{1, 4, {{"full"}}, {{"full"}}};
  text.body = "%0 = math.cbrt %a0 : f32\n kern.yield %0 : f32\n";
  EXPECT_FALSE(compile(text.str()));
  EXPECT_THAT(said, HasSubstr("has no counterpart in compiled code"));
}

TEST_F(Code, UnknownTypes) {
  KernelText text{1, 4, {{"full", "f64"}}, {{"full"}}};
  text.body = "kern.yield %a0 : f32\n";
  EXPECT_FALSE(compile(text.str()));
  EXPECT_THAT(said, HasSubstr("operand 0 has element type 'f64'; kernels know "
                              "f32, bf16, f16, i32, f8E4M3FN and f8E5M2"));
  said.clear();
  text = {1, 4, {{"full"}}, {{"full"}}};
  text.body = "%0 = arith.extf %a0 : f32 to f64\n"
              "%1 = arith.truncf %0 : f64 to f32\n kern.yield %1 : f32\n";
  EXPECT_FALSE(compile(text.str()));
  EXPECT_THAT(said, HasSubstr("gives 'f64', which no kernel knows"));
  said.clear();
  text.body = "%0 = arith.truncf %a0 : f32 to bf16\n"
              "%1 = arith.addf %0, %0 : bf16\n"
              "%2 = arith.extf %1 : bf16 to f32\n kern.yield %2 : f32\n";
  EXPECT_FALSE(compile(text.str()));
  EXPECT_THAT(said, HasSubstr("inside a kernel values are f32"));
}

TEST_F(Code, RowResultThatVariesInTheRow) {
  KernelText text{3, 4, {{"full"}}, {{"row"}}};
  text.body = "kern.yield %a0 : f32\n";
  EXPECT_FALSE(compile(text.str()));
  EXPECT_THAT(said, HasSubstr("result 0 has one element a row, but its value "
                              "differs from column to column"));
}

TEST_F(Code, UnknownInstructionSet) {
  cpu::CpuOptions options;
  options.isas = {"x86-64-v9"};
  EXPECT_FALSE(compile(manyKernels(1), options));
  EXPECT_THAT(said, HasSubstr("'x86-64-v9' is not one of x86-64-v4"));
}

TEST_F(Code, KeepsWhatIsAskedFor) {
  cpu::CpuOptions options;
  options.keepMlir = options.keepLlvm = options.keepAssembly = true;
  options.link = false;
  ASSERT_TRUE(compile(manyKernels(1), options)) << said;
  const cpu::CompiledVariant &wide = compiled.variants[0];
  const cpu::CompiledVariant &narrow = compiled.variants[1];
  EXPECT_TRUE(wide.image.empty());
  EXPECT_THAT(wide.mlir, HasSubstr("vector<16xf32>"));
  EXPECT_THAT(wide.llvm, HasSubstr("<16 x float>"));
  EXPECT_THAT(wide.assembly, HasSubstr("%zmm"));
  EXPECT_THAT(narrow.mlir, HasSubstr("vector<8xf32>"));
  EXPECT_THAT(narrow.assembly, HasSubstr("%ymm"));
  EXPECT_THAT(narrow.assembly, Not(HasSubstr("%zmm")));
  for (const cpu::CompiledVariant &variant : compiled.variants)
    EXPECT_THAT(variant.assembly, Not(HasSubstr("call")));
}

} // namespace
} // namespace hocket::test
