//===- KernelHarness.cpp - Compiles and runs kernels in tests -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/compiler/targets/cpu/KernelHarness.h"

#include "test/compiler/targets/cpu/RegionEvaluator.h"
#include "test/compiler/targets/cuda/EmulatedKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace hocket::test {

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static std::string shapeOf(const KernelText &kernel, const BufferText &buffer) {
  std::string rows = std::to_string(kernel.rows) + "x";
  std::string cols = std::to_string(kernel.cols) + "x";
  if (buffer.access == "full")
    return rows + cols;
  if (buffer.access == "row")
    return rows;
  if (buffer.access == "col")
    return cols;
  if (buffer.access == "scalar")
    return "";
  return buffer.access.substr(buffer.access.find(':') + 1) + "x" + cols;
}

int64_t elementsOf(const KernelText &kernel, const BufferText &buffer) {
  int64_t count = 1;
  std::string shape = shapeOf(kernel, buffer);
  for (size_t at = 0; at < shape.size(); at = shape.find('x', at) + 1)
    count *= std::stoll(shape.substr(at));
  return count;
}

/// `%a0: tensor<...> as full, ...`; without names where `name` is empty.
static std::string listOf(const KernelText &kernel,
                          const std::vector<BufferText> &buffers,
                          const std::string &name) {
  std::string list;
  for (size_t i = 0; i < buffers.size(); ++i) {
    list += i == 0 ? "" : ", ";
    if (!name.empty())
      list += name + std::to_string(i) + ": ";
    const std::string &access = buffers[i].access;
    list += "tensor<" + shapeOf(kernel, buffers[i]) + buffers[i].element +
            "> as " + access.substr(0, access.find(':'));
  }
  return "(" + list + ")";
}

std::string KernelText::str() const {
  std::string text = "kern.kernel @" + name + (byColumns ? " by_columns" : "");
  text += " [" + std::to_string(rows) + " x " + std::to_string(cols) + "] " +
          listOf(*this, inputs, "%a");
  for (int64_t i = 0; i < instances; ++i)
    text += (i == 0 ? " instances (%i" : ", %i") + std::to_string(i);
  text += instances > 0 ? ")" : "";
  return text + " -> " + listOf(*this, results, "") + " {\n" + body + "}\n";
}

bool KernelText::isForGpus() const {
  for (size_t i = 0; i < results.size(); ++i)
    if (!byColumns && isSum(i))
      return true;
  return false;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

static const llvm::fltSemantics &semanticsOf(const std::string &element) {
  return element == "f32"        ? llvm::APFloat::IEEEsingle()
         : element == "bf16"     ? llvm::APFloat::BFloat()
         : element == "f8E4M3FN" ? llvm::APFloat::Float8E4M3FN()
         : element == "f8E5M2"   ? llvm::APFloat::Float8E5M2()
                                 : llvm::APFloat::IEEEhalf();
}

static size_t bytesOf(const std::string &element) {
  return llvm::APFloat::semanticsSizeInBits(semanticsOf(element)) / 8;
}

/// Eight bits saturate, wider types overflow to infinity.
static llvm::APFloat elementOf(double value, const std::string &element) {
  const llvm::fltSemantics &semantics = semanticsOf(element);
  llvm::APFloat number(value);
  bool lost;
  if (bytesOf(element) == 1 && !number.isNaN()) {
    double most = llvm::APFloat::getLargest(semantics).convertToDouble();
    number = llvm::APFloat(std::clamp(value, -most, most));
  }
  number.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &lost);
  return number;
}

double rounded(double value, const std::string &element) {
  return elementOf(value, element).convertToDouble();
}

std::vector<char> encode(const Values &values, const std::string &element) {
  size_t size = bytesOf(element);
  std::vector<char> bytes(values.size() * size);
  for (size_t i = 0; i < values.size(); ++i) {
    uint64_t bits =
        elementOf(values[i], element).bitcastToAPInt().getZExtValue();
    memcpy(bytes.data() + i * size, &bits, size);
  }
  return bytes;
}

Values decode(const std::vector<char> &bytes, const std::string &element) {
  size_t size = bytesOf(element);
  Values values(bytes.size() / size);
  for (size_t i = 0; i < values.size(); ++i) {
    uint64_t bits = 0;
    memcpy(&bits, bytes.data() + i * size, size);
    values[i] = llvm::APFloat(semanticsOf(element), llvm::APInt(size * 8, bits))
                    .convertToDouble();
  }
  return values;
}

std::vector<Values> randomInputs(const KernelText &text, unsigned seed,
                                 double low, double high) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(low, high);
  std::vector<Values> inputs;
  for (const BufferText &buffer : text.inputs) {
    Values values(elementsOf(text, buffer));
    for (double &value : values)
      value = rounded(uniform(random), buffer.element);
    inputs.push_back(std::move(values));
  }
  return inputs;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

static bool machineHas(const std::string &isa) {
  return isa == "x86-64-v4" ? __builtin_cpu_supports("x86-64-v4")
                            : __builtin_cpu_supports("x86-64-v3");
}

Kernel::Kernel(const KernelText &text) : text(text) {
  context.loadDialect<mlir::arith::ArithDialect, mlir::math::MathDialect,
                      kern::KernDialect>();
  module = mlir::parseSourceString<mlir::ModuleOp>(text.str(), &context);
  if (!module) {
    ADD_FAILURE() << "cannot parse\n" << text.str();
    return;
  }
  if (text.isForGpus())
    return;
  cpu::CpuOptions options;
  if (failed(cpu::compileKernels(*module, options, compiled))) {
    ADD_FAILURE() << "cannot compile\n" << text.str();
    return;
  }
  for (const cpu::CompiledVariant &variant : compiled.variants) {
    if (!machineHas(variant.isa))
      continue;
    auto library = hal::SharedObject::load("kernels", variant.image);
    if (!library.ok()) {
      ADD_FAILURE() << library.status().message();
      continue;
    }
    void *symbol = library->find(info().symbol);
    EXPECT_NE(symbol, nullptr);
    loaded.push_back(
        {variant.isa, *std::move(library), reinterpret_cast<Function>(symbol)});
  }
  EXPECT_FALSE(loaded.empty()) << "no instruction set of this machine";
}

std::vector<std::string> Kernel::isas() const {
  std::vector<std::string> names;
  for (const Loaded &one : loaded)
    names.push_back(one.isa);
  return names;
}

std::vector<int64_t> LaunchScalars::numbers() const {
  std::vector<int64_t> numbers = {seed, step, microbatch, accumulate};
  numbers.insert(numbers.end(), instances.begin(), instances.end());
  return numbers;
}

void Kernel::run(size_t isa, const std::vector<void *> &buffers,
                 const LaunchScalars &scalars, int64_t step) const {
  std::vector<int64_t> numbers = scalars.numbers();
  int64_t tasks = info().tasks;
  if (step == 0) {
    loaded[isa].function(buffers.data(), numbers.data(), 0, tasks);
    return;
  }
  for (int64_t end = tasks; end > 0;) {
    int64_t begin = (end - 1) / step * step;
    loaded[isa].function(buffers.data(), numbers.data(), begin, end);
    end = begin;
  }
}

std::vector<Values> Kernel::evaluate(const std::vector<Values> &inputs,
                                     const LaunchScalars &scalars) {
  kern::KernelOp op = *module->getOps<kern::KernelOp>().begin();
  return evaluateRegion(op, inputs, scalars);
}

//===----------------------------------------------------------------------===//
// Checking
//===----------------------------------------------------------------------===//

namespace {

void expectClose(const Values &found, const Values &expected, Tolerance t,
                 const std::string &what) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    if (std::isnan(expected[i]) && std::isnan(found[i]))
      continue;
    double allowed = t.absolute + t.relative * std::fabs(expected[i]);
    bool close =
        found[i] == expected[i] || std::fabs(found[i] - expected[i]) <= allowed;
    ASSERT_TRUE(close) << what << " element " << i << ": found " << found[i]
                       << ", expected " << expected[i];
  }
}

constexpr size_t guard = 64;
constexpr char fill = 0x5a;

} // namespace

LaunchMemory::LaunchMemory(const KernelText &text,
                           const std::vector<Values> &inputs,
                           const Check &check, bool aligned)
    : text(text), offset(aligned ? 0 : 4) {
  for (size_t i = 0; i < text.inputs.size(); ++i)
    add(encode(inputs[i], text.inputs[i].element));
  for (size_t i = 0; i < text.results.size(); ++i) {
    for (auto [result, input] : check.aliases)
      if (result == i)
        pointers.push_back(pointers[input]);
    if (pointers.size() > text.inputs.size() + i)
      continue;
    const BufferText &buffer = text.results[i];
    add(encode(i < check.previous.size()
                   ? check.previous[i]
                   : Values(elementsOf(text, buffer), 99.0),
               buffer.element));
  }
}

void LaunchMemory::add(const std::vector<char> &bytes) {
  blocks.emplace_back(bytes.size() + offset + guard, fill);
  char *at = blocks.back().data() + offset;
  std::copy(bytes.begin(), bytes.end(), at);
  pointers.push_back(at);
}

bool LaunchMemory::guardsHold() const {
  for (const auto &block : blocks)
    for (size_t i = 0; i < guard; ++i)
      if (block[block.size() - 1 - i] != fill)
        return false;
  return true;
}

std::vector<std::vector<char>> LaunchMemory::results() const {
  std::vector<std::vector<char>> bytes;
  for (size_t i = 0; i < text.results.size(); ++i) {
    size_t size =
        elementsOf(text, text.results[i]) * bytesOf(text.results[i].element);
    const char *from =
        static_cast<const char *>(pointers[text.inputs.size() + i]);
    bytes.emplace_back(from, from + size);
  }
  return bytes;
}

void expectResults(const KernelText &text, const Check &check,
                   const std::vector<std::vector<char>> &results,
                   const std::vector<Values> &expected,
                   const std::string &where) {
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string &element = text.results[i].element;
    Tolerance tolerance = check.tolerance;
    if (element != "f32")
      tolerance.relative +=
          std::ldexp(1, 1 - static_cast<int>(llvm::APFloat::semanticsPrecision(
                                semanticsOf(element))));
    expectClose(decode(results[i], element), expected[i], tolerance,
                where + " result " + std::to_string(i) + " of\n" + text.str());
  }
}

void expectKernel(const KernelText &text, const Check &check) {
  Kernel kernel(text);
  if (testing::Test::HasFailure())
    return;
  std::vector<Values> inputs = randomInputs(text, 7, check.low, check.high);
  std::vector<Values> expected = check.expected;
  if (expected.empty())
    expected = kernel.evaluate(inputs, check.scalars);
  for (size_t i = 0; i < expected.size(); ++i)
    if (text.isSum(i) && check.scalars.accumulate)
      for (size_t k = 0; k < expected[i].size(); ++k)
        expected[i][k] += check.previous[i][k];
  for (size_t isa = 0; isa < kernel.isas().size(); ++isa) {
    LaunchMemory whole(text, inputs, check);
    kernel.run(isa, whole.pointers, check.scalars, 0);
    auto bytes = whole.results();
    EXPECT_TRUE(whole.guardsHold());
    expectResults(text, check, bytes, expected, kernel.isas()[isa]);
    for (int64_t step : {1, 3}) {
      LaunchMemory split(text, inputs, check);
      kernel.run(isa, split.pointers, check.scalars, step);
      EXPECT_EQ(split.results(), bytes)
          << kernel.isas()[isa] << " in ranges of " << step;
      EXPECT_TRUE(split.guardsHold());
    }
  }
  expectOnEmulatedGpu(text, kernel.getModule(), inputs, expected, check);
}

} // namespace hocket::test
