//===- FlatProgram.cpp - Inline the scheduled functions -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/conversion/KernToExec/FlatProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::kerntoexec;
using Kind = FlatInstruction::Kind;

int64_t hocket::kerntoexec::byteSize(RankedTensorType type) {
  int64_t bytes = (type.getElementTypeBitWidth() + 7) / 8;
  for (int64_t dim : type.getShape())
    if (dim < 0 || __builtin_mul_overflow(bytes, dim, &bytes))
      return -1;
  return bytes;
}

namespace {

/// The innermost name of a location: "layers.3.attention".
StringRef nameOf(Location loc) {
  if (auto named = dyn_cast<NameLoc>(loc))
    return named.getName().getValue();
  if (auto fused = dyn_cast<FusedLoc>(loc)) {
    for (Location part : fused.getLocations())
      if (StringRef name = nameOf(part); !name.empty())
        return name;
  }
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return nameOf(call.getCallee());
  return {};
}

/// What a value of the IR is in one context: a buffer, or an i32.
struct Binding {
  int buffer = -1;
  FlatScalar scalar = {};
};
using Bindings = llvm::DenseMap<Value, Binding>;

/// Walks functions and appends to the program.
class Flattener {
public:
  Flattener(ModuleOp module, FlatProgram &program)
      : module(module), symbols(module), program(program) {}

  LogicalResult run() {
    program.module = module;
    for (auto variable : module.getOps<kern::VariableOp>())
      if (failed(addVariable(variable)))
        return failure();
    // Forward and backward stand side by side: what is saved by one for the
    // other must not overlap with anything between.
    for (char fragment : {'P', 'F', 'B', 'U', 'E'})
      for (auto function : module.getOps<func::FuncOp>())
        if (auto kind = function->getAttrOfType<StringAttr>("kern.fragment");
            kind && kind.getValue() == StringRef(&fragment, 1))
          if (failed(addSequence(function, fragment)))
            return failure();
    if (program.sequences.empty())
      return module.emitError("no function is scheduled: a `kern.schedule` and "
                              "its functions are expected");
    return success();
  }

private:
  int addBuffer(Type type, Twine name, StringRef kind) {
    FlatBuffer buffer;
    buffer.type = cast<RankedTensorType>(type);
    buffer.name = name.str();
    buffer.kind = kind.str();
    buffer.bytes = byteSize(buffer.type);
    program.buffers.push_back(std::move(buffer));
    return static_cast<int>(program.buffers.size()) - 1;
  }

  LogicalResult addVariable(kern::VariableOp variable) {
    auto type = dyn_cast<RankedTensorType>(variable.getType());
    if (!type || !type.hasStaticShape() || byteSize(type) < 0)
      return variable.emitOpError("has no size that can be planned: ")
             << variable.getType();
    StringRef kind = llvm::StringSwitch<StringRef>(variable.getKind())
                         .Case("parameter", "parameters")
                         .Case("gradient", "gradients")
                         .Case("optimizer_state", "optimizer")
                         .Case("working", "working copies")
                         .Default("state");
    int buffer = addBuffer(type, variable.getSymName(), kind);
    program.buffers[buffer].variable = variable;
    variables[variable.getSymNameAttr()] = buffer;
    return success();
  }

  LogicalResult addSequence(func::FuncOp function, char fragment) {
    program.sequences.push_back({function.getSymName().str(), fragment, {}});
    Bindings bindings;
    if (fragment == 'B') {
      if (residuals.size() != function.getNumArguments())
        return function.emitOpError("takes ")
               << function.getNumArguments() << " residuals where forward has "
               << residuals.size();
      for (auto [argument, residual] :
           llvm::zip(function.getArguments(), residuals))
        bindings[argument] = residual;
    } else {
      for (auto [i, argument] : llvm::enumerate(function.getArguments()))
        if (failed(addInput(function, i, bindings)))
          return failure();
    }
    SmallVector<Binding> results;
    if (failed(walk(function, bindings, "", results)))
      return failure();
    if (fragment == 'F') {
      // The loss has gone to the host; what follows it is kept, behind what
      // the function itself was given.
      residuals.clear();
      for (Value argument : function.getArguments())
        residuals.push_back(bindings.lookup(argument));
      residuals.append(results.begin() + std::min<size_t>(1, results.size()),
                       results.end());
      for (Binding residual : residuals)
        if (residual.buffer >= 0)
          program.buffers[residual.buffer].isResidual = true;
    }
    return success();
  }

  /// Tokens and labels, by the name of the argument's attribute or its place.
  LogicalResult addInput(func::FuncOp function, unsigned i,
                         Bindings &bindings) {
    static constexpr StringLiteral names[] = {"tokens", "labels"};
    if (i >= std::size(names))
      return function.emitOpError("takes more than tokens and labels");
    int buffer = addBuffer(function.getArgumentTypes()[i], names[i], "inputs");
    bindings[function.getArgument(i)].buffer = buffer;
    FlatInstruction input{Kind::Input, function, function.getLoc()};
    input.outputs.push_back(buffer);
    input.hostName = names[i].str();
    input.hostAxes = function.getArgAttrOfType<ArrayAttr>(i, "kern.axes");
    append(std::move(input));
    return success();
  }

  void append(FlatInstruction instruction) {
    program.sequences.back().instructions.push_back(std::move(instruction));
  }

  LogicalResult walk(func::FuncOp function, Bindings &bindings,
                     const std::string &place,
                     SmallVectorImpl<Binding> &results) {
    if (++depth > 64)
      return function.emitOpError("is called too deeply to inline");
    for (Operation &op : function.getBody().front())
      if (failed(visit(&op, bindings, place, results)))
        return failure();
    --depth;
    return success();
  }

  LogicalResult visit(Operation *op, Bindings &bindings,
                      const std::string &place,
                      SmallVectorImpl<Binding> &results) {
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case<kern::LaunchOp>([&](auto launch) {
          return addCompute(Kind::Launch, op, launch.getInputs(),
                            launch.getInstances(), bindings, place);
        })
        .Case<kern::GemmOp>([&](auto gemm) {
          return addCompute(Kind::Gemm, op, gemm.getOperands(), {}, bindings,
                            place);
        })
        .Case<kern::LibraryOp>([&](auto library) {
          return addCompute(Kind::Library, op, library.getInputs(),
                            library.getInstance()
                                ? ValueRange(library.getInstance())
                                : ValueRange(),
                            bindings, place, library.getScalars());
        })
        .Case<kern::CollectiveOp>([&](auto collective) {
          return addCompute(Kind::Collective, op, collective.getInput(), {},
                            bindings, place);
        })
        .Case<kern::PlaceOp>([&](auto step) {
          bindings[step.getResult()].scalar = {
              0, step.getAxes(), static_cast<int64_t>(step.getStep())};
          return success();
        })
        .Case<kern::ViewOp>([&](auto view) {
          bindings[view.getResult()] = bindings.lookup(view.getInput());
          return success();
        })
        .Case<kern::ReadOp>([&](auto read) {
          bindings[read.getResult()].buffer =
              variables.lookup(read.getVariableAttr().getAttr());
          return success();
        })
        .Case<kern::WriteOp>([&](auto write) -> LogicalResult {
          if (failed(checkReadsPrecede(write)))
            return failure();
          addStore(Kind::Write, op, bindings.lookup(write.getValue()),
                   write.getVariableAttr(), place);
          return success();
        })
        .Case<kern::AccumulateOp>([&](auto accumulate) {
          addStore(Kind::Accumulate, op, bindings.lookup(accumulate.getValue()),
                   accumulate.getVariableAttr(), place);
          return success();
        })
        .Case<kern::InputOp>([&](auto input) {
          int buffer = addBuffer(input.getType(), input.getName(), "inputs");
          bindings[input.getResult()].buffer = buffer;
          FlatInstruction instruction{Kind::Input, op, op->getLoc(), place};
          instruction.outputs.push_back(buffer);
          instruction.hostName = input.getName().str();
          append(std::move(instruction));
          return success();
        })
        .Case<kern::OutputOp>([&](auto output) {
          FlatInstruction instruction{Kind::Output, op, op->getLoc(), place};
          instruction.inputs.push_back(
              bindings.lookup(output.getValue()).buffer);
          instruction.hostName = output.getName().str();
          append(std::move(instruction));
          return success();
        })
        .Case<arith::ConstantOp>([&](auto constant) -> LogicalResult {
          auto number = dyn_cast<IntegerAttr>(constant.getValue());
          if (!number)
            return op->emitOpError("only integer constants are expected here");
          bindings[constant.getResult()].scalar.constant = number.getInt();
          return success();
        })
        .Case<func::CallOp>(
            [&](auto call) { return inlineCall(call, bindings, place); })
        .Case<func::ReturnOp>([&](auto ret) {
          for (Value value : ret.getOperands())
            results.push_back(bindings.lookup(value));
          return success();
        })
        .Default([&](Operation *other) {
          return other->emitOpError("cannot stand in a scheduled function");
        });
  }

  /// A read names its variable's buffer, so what was read must not be used
  /// after the variable has changed.
  LogicalResult checkReadsPrecede(kern::WriteOp write) {
    for (auto read : write->getBlock()->getOps<kern::ReadOp>())
      if (read.getVariable() == write.getVariable() &&
          read->isBeforeInBlock(write))
        for (Operation *user : read->getUsers())
          if (write->isBeforeInBlock(user)) {
            InFlightDiagnostic diagnostic = user->emitError(
                "uses the old value of a variable after it was written");
            diagnostic.attachNote(write.getLoc()) << "written here";
            return diagnostic;
          }
    return success();
  }

  LogicalResult inlineCall(func::CallOp call, Bindings &bindings,
                           const std::string &place) {
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    if (!callee || callee.isExternal())
      return call.emitOpError("calls a function that has no body: ")
             << call.getCallee();
    Bindings inner;
    for (auto [argument, operand] :
         llvm::zip(callee.getArguments(), call.getOperands()))
      inner[argument] = bindings.lookup(operand);
    StringRef name = nameOf(call.getLoc());
    SmallVector<Binding> results;
    if (failed(walk(callee, inner, name.empty() ? place : name.str(), results)))
      return failure();
    for (auto [result, binding] : llvm::zip(call.getResults(), results))
      bindings[result] = binding;
    return success();
  }

  LogicalResult addCompute(Kind kind, Operation *op, ValueRange inputs,
                           ValueRange instances, Bindings &bindings,
                           const std::string &place, ValueRange scalars = {}) {
    FlatInstruction instruction{kind, op, op->getLoc(), place};
    for (Value input : inputs)
      instruction.inputs.push_back(bindings.lookup(input).buffer);
    for (Value instance : instances)
      instruction.instances.push_back(bindings.lookup(instance).scalar);
    for (Value scalar : scalars)
      instruction.scalars.push_back(bindings.lookup(scalar).scalar);
    std::string name = bufferName(op, place);
    int64_t workspaces = 0;
    if (auto library = dyn_cast<kern::LibraryOp>(op))
      workspaces = library.getWorkspaces();
    int64_t firstWorkspace = op->getNumResults() - workspaces;
    for (OpResult result : op->getResults()) {
      bool isWorkspace = result.getResultNumber() >= firstWorkspace;
      int buffer =
          addBuffer(result.getType(),
                    op->getNumResults() > 1
                        ? Twine(name) + "." + Twine(result.getResultNumber())
                        : Twine(name),
                    isWorkspace ? "workspace" : "activations");
      bindings[result].buffer = buffer;
      instruction.outputs.push_back(buffer);
    }
    append(std::move(instruction));
    return success();
  }

  static std::string bufferName(Operation *op, const std::string &place) {
    std::string what;
    if (StringRef name = nameOf(op->getLoc()); !name.empty())
      what = name.str();
    else if (auto launch = dyn_cast<kern::LaunchOp>(op))
      what = launch.getKernel().str();
    else if (auto library = dyn_cast<kern::LibraryOp>(op))
      what = library.getOp().str();
    else if (auto collective = dyn_cast<kern::CollectiveOp>(op))
      what = collective.getKind().str();
    else
      what = "gemm";
    return place.empty() ? what : place + "." + what;
  }

  void addStore(Kind kind, Operation *op, Binding value,
                FlatSymbolRefAttr variable, const std::string &place) {
    FlatInstruction instruction{kind, op, op->getLoc(), place};
    instruction.inputs.push_back(value.buffer);
    instruction.outputs.push_back(variables.lookup(variable.getAttr()));
    append(std::move(instruction));
  }

  ModuleOp module;
  SymbolTable symbols;
  FlatProgram &program;
  llvm::DenseMap<StringAttr, int> variables;
  SmallVector<Binding> residuals;
  int depth = 0;
};

} // namespace

LogicalResult hocket::kerntoexec::flatten(ModuleOp module,
                                          FlatProgram &program) {
  return Flattener(module, program).run();
}
