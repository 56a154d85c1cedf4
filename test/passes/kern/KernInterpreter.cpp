//===- KernInterpreter.cpp - Runs a module of kernels ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/passes/kern/KernInterpreter.h"

#include "kernels/cpu/Library.h"
#include "kernels/reference/Gemm.h"
#include "test/compiler/targets/cpu/RegionEvaluator.h"
#include "test/kernels/TestWorkers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;

namespace hocket::test {

static int64_t countOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getNumElements();
}

static std::vector<Elements> lookup(ValueRange values,
                                    llvm::DenseMap<Value, Elements> &frame) {
  std::vector<Elements> elements;
  for (Value value : values)
    elements.push_back(frame.lookup(value));
  return elements;
}

//===----------------------------------------------------------------------===//
// Schedules and functions
//===----------------------------------------------------------------------===//

void KernInterpreter::run(StringRef entry, ArrayRef<xf::Microbatch> batches) {
  std::vector<Elements> residuals;
  for (auto schedule : module.getOps<kern::ScheduleOp>()) {
    if (schedule.getEntry() != entry)
      continue;
    for (auto action : schedule.getActions().getAsRange<kern::ActionAttr>()) {
      StringRef name = action.getFunction().getValue();
      context.microbatch = action.getMicrobatch();
      auto fragment = module.lookupSymbol<kern::FragmentOp>(name);
      const xf::Microbatch &batch = batches[context.microbatch];
      std::vector<Elements> data{batch.tokens.values, batch.labels.values};
      if (fragment.getKind() == kern::FragmentKind::Backward)
        call(name, residuals);
      else if (fragment.getKind() != kern::FragmentKind::Forward)
        call(name, fragment.getNumArguments() ? data : std::vector<Elements>());
      else {
        residuals = data;
        std::vector<Elements> results = call(name, data);
        residuals.insert(residuals.end(), results.begin() + 1, results.end());
      }
    }
  }
}

std::vector<Elements>
KernInterpreter::call(StringRef name, const std::vector<Elements> &arguments) {
  auto function = module.lookupSymbol<FunctionOpInterface>(name);
  EXPECT_EQ(function.getNumArguments(), arguments.size());
  Frame frame;
  for (auto [argument, elements] :
       llvm::zip(function.getArguments(), arguments))
    frame[argument] = elements;
  for (Operation &op : function.getFunctionBody().front().without_terminator())
    visit(&op, frame);
  return lookup(
      function.getFunctionBody().front().getTerminator()->getOperands(), frame);
}

void KernInterpreter::accumulate(kern::AccumulateOp op, const Elements &value) {
  xf::ReferenceTensor &variable = context.variables[op.getVariable()];
  if (variable.values.empty() || (!op.getAlways() && context.microbatch == 0))
    variable = xf::ReferenceTensor(
        cast<RankedTensorType>(op.getValue().getType()).getShape());
  for (size_t i = 0; i < value.size(); ++i)
    variable[i] += value[i];
}

void KernInterpreter::visit(Operation *op, Frame &frame) {
  llvm::TypeSwitch<Operation *>(op)
      .Case<kern::LaunchOp, kern::GemmOp, kern::LibraryOp>(
          [&](auto typed) { visit(typed, frame); })
      .Case([&](kern::ReadOp read) {
        frame[read] = context.variables[read.getVariable()].values;
      })
      .Case([&](kern::WriteOp write) {
        context.variables[write.getVariable()].values =
            frame.lookup(write.getValue());
      })
      .Case([&](kern::AccumulateOp typed) {
        accumulate(typed, frame.lookup(typed.getValue()));
      })
      .Case([&](kern::InputOp input) {
        frame[input] = context.inputs[input.getName()].values;
      })
      .Case([&](kern::OutputOp output) {
        context.outputs[output.getName()].emplace_back(
            ArrayRef<int64_t>{}, frame.lookup(output.getValue())[0]);
      })
      .Case([&](kern::ViewOp view) {
        Elements elements = frame.lookup(view.getInput());
        elements.resize(countOf(view));
        frame[view] = elements;
      })
      .Case([&](func::CallOp caller) {
        std::vector<Elements> results =
            call(caller.getCallee(), lookup(caller.getOperands(), frame));
        for (auto [result, elements] : llvm::zip(caller.getResults(), results))
          frame[result] = elements;
      })
      .Case([&](arith::ConstantOp constant) {
        frame[constant] = {static_cast<double>(
            cast<IntegerAttr>(constant.getValue()).getInt())};
      })
      .Default([](Operation *other) {
        ADD_FAILURE() << other->getName().getStringRef().str();
      });
}

//===----------------------------------------------------------------------===//
// What computes
//===----------------------------------------------------------------------===//

void KernInterpreter::visit(kern::LaunchOp op, Frame &frame) {
  auto kernel = module.lookupSymbol<kern::KernelOp>(op.getKernel());
  LaunchScalars scalars;
  scalars.seed = context.seed;
  scalars.step = context.step;
  scalars.microbatch = context.microbatch;
  for (Value instance : op.getInstances())
    scalars.instances.push_back(frame.lookup(instance)[0]);
  std::vector<Values> results =
      evaluateRegion(kernel, lookup(op.getInputs(), frame), scalars);
  for (auto [result, elements] : llvm::zip(op.getOutputs(), results))
    frame[result] = elements;
}

/// The epilogues that the test's model has.
static double epilogue(kern::Epilogue kind, double x) {
  switch (kind) {
  case kern::Epilogue::None:
    return x;
  case kern::Epilogue::Gelu:
    return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
  case kern::Epilogue::GeluTanh:
    return x / 2 *
           (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  default:
    ADD_FAILURE() << "an epilogue that the test does not know";
    return NAN;
  }
}

void KernInterpreter::visit(kern::GemmOp op, Frame &frame) {
  int64_t m = op.getM(), n = op.getN(), k = op.getK();
  Elements a = frame.lookup(op.getA()), b = frame.lookup(op.getB());
  Elements product(m * n), result(m * n);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = op.getBias() ? frame.lookup(op.getBias())[j] : 0;
      for (int64_t l = 0; l < k; ++l)
        sum += a[op.getTransposeA() ? l * m + i : i * k + l] *
               b[op.getTransposeB() ? j * k + l : l * n + j];
      product[i * n + j] = sum;
      result[i * n + j] = epilogue(op.getEpilogue(), sum);
      if (op.getPreactivation())
        result[i * n + j] =
            sum * kernels::reference::activationDerivative(
                      static_cast<kernels::Epilogue>(op.getEpilogue()),
                      frame.lookup(op.getPreactivation())[i * n + j]);
      if (op.getResidual())
        result[i * n + j] += frame.lookup(op.getResidual())[i * n + j];
    }
  if (op.getBiasGradient()) {
    product.assign(m, 0);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t l = 0; l < k; ++l)
        product[i] += a[op.getTransposeA() ? l * m + i : i * k + l];
  }
  if (op.getAuxiliary())
    frame[op.getAuxiliary()] = product;
  frame[op.getResult()] = result;
}

namespace {
/// A tensor in memory, as a library call takes it: f32 or i32.
class Memory {
public:
  Memory(Value tensor, const Elements &elements)
      : integral(cast<RankedTensorType>(tensor.getType())
                     .getElementType()
                     .isInteger()),
        count(countOf(tensor)), bytes(count * 4 + 64) {
    for (int64_t i = 0; i < static_cast<int64_t>(elements.size()); ++i)
      if (integral)
        static_cast<int32_t *>(data())[i] = static_cast<int32_t>(elements[i]);
      else
        static_cast<float *>(data())[i] = static_cast<float>(elements[i]);
  }
  void *data() {
    uintptr_t address = reinterpret_cast<uintptr_t>(bytes.data());
    return reinterpret_cast<void *>((address + 63) / 64 * 64);
  }
  int64_t size() const { return count * 4; }
  Elements elements() {
    const float *values = static_cast<const float *>(data());
    return Elements(values, values + count);
  }

private:
  bool integral;
  int64_t count;
  std::vector<char> bytes;
};
} // namespace

void KernInterpreter::visit(kern::LibraryOp op, Frame &frame) {
  std::vector<Memory> inputs, outputs;
  for (Value input : op.getInputs())
    inputs.emplace_back(input, frame.lookup(input));
  for (Value output : op.getOutputs())
    outputs.emplace_back(output, Elements());
  std::vector<Memory> *first = &inputs, *second = &outputs;
  if (op.getResultsFirst())
    std::swap(first, second);
  std::vector<void *> buffers;
  std::vector<int64_t> sizes;
  for (std::vector<Memory> *memories : {first, second})
    for (Memory &memory : *memories) {
      buffers.push_back(memory.data());
      sizes.push_back(memory.size());
    }
  std::vector<int64_t> integers(op.getIntegers()), scalars;
  std::vector<double> floats(op.getFloats());
  if (op.getRandom()) {
    scalars = {static_cast<int64_t>(context.seed), context.step,
               context.microbatch * static_cast<int64_t>(op.getElements())};
    if (op.getInstance())
      integers.back() +=
          static_cast<int64_t>(frame.lookup(op.getInstance())[0]);
  }
  const kernels::LibraryOp *library = kernels::findLibraryOp(op.getOp().str());
  ASSERT_NE(library, nullptr) << op.getOp().str();
  std::vector<int64_t> required(buffers.size());
  kernels::KernelError error = kernels::requiredBytes(
      *library, integers, floats, scalars.size(), required);
  ASSERT_EQ(error, nullptr) << op.getOp().str() << ": " << error;
  EXPECT_EQ(required, sizes) << op.getOp().str();
  kernels::test::TestWorkers workers(1);
  error = kernels::runLibraryOp(*library, {buffers, integers, floats, scalars},
                                workers);
  ASSERT_EQ(error, nullptr) << op.getOp().str() << ": " << error;
  for (auto [result, memory] : llvm::zip(op.getOutputs(), outputs))
    frame[result] = memory.elements();
}

} // namespace hocket::test
