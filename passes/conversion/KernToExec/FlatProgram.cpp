//===- FlatProgram.cpp - Inline the scheduled functions -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/conversion/KernToExec/FlatProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/TypeSwitch.h"

#include <map>

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

StringAttr fragmentOf(func::FuncOp function) {
  return function->getAttrOfType<StringAttr>("kern.fragment");
}

/// Walks functions and appends to the program.
class Flattener {
public:
  Flattener(ModuleOp module, FlatProgram &program)
      : module(module), symbols(module), program(program) {}

  LogicalResult run() {
    program.module = module;
    if (failed(addVariables()))
      return failure();
    for (func::FuncOp function : program.role.functions)
      if (failed(
              addSequence(function, fragmentOf(function).getValue().front())))
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

  /// All of them, or those that the functions of one stage of several use.
  LogicalResult addVariables() {
    llvm::DenseSet<StringAttr> used;
    for (func::FuncOp function : program.role.functions)
      noteVariables(function, used);
    for (auto variable : module.getOps<kern::VariableOp>())
      if (!program.role.isCut || used.contains(variable.getSymNameAttr()))
        if (failed(addVariable(variable)))
          return failure();
    return success();
  }

  void noteVariables(func::FuncOp function, llvm::DenseSet<StringAttr> &used) {
    function.walk([&](Operation *op) {
      if (auto name = op->getAttrOfType<FlatSymbolRefAttr>("variable"))
        used.insert(name.getAttr());
      else if (auto call = dyn_cast<func::CallOp>(op))
        if (auto callee = symbols.lookup<func::FuncOp>(call.getCallee()))
          noteVariables(callee, used);
    });
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

  //===--------------------------------------------------------------------===//
  // Fragments of one stage of several
  //===--------------------------------------------------------------------===//

  LogicalResult addStageSequence(func::FuncOp function, char fragment) {
    auto stage = function->getAttrOfType<IntegerAttr>("kern.stage").getInt();
    program.sequences.push_back(
        {function.getSymName().str(), fragment, stage, {}});
    Bindings bindings;
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (failed(bindArgument(function, i, stage, bindings)))
        return failure();
    receiveArguments(function, stage, bindings);
    SmallVector<Binding> results;
    if (failed(walk(function, bindings, "", results)))
      return failure();
    sendResults(function, stage, results);
    kept[{stage, fragment}] = std::move(results);
    return success();
  }

  LogicalResult bindArgument(func::FuncOp function, unsigned i, int64_t stage,
                             Bindings &bindings) {
    if (auto name = function.getArgAttrOfType<StringAttr>(i, "kern.host"))
      return addInput(function, i, name.getValue(), bindings);
    auto saved = function.getArgAttrOfType<ArrayAttr>(i, "kern.saved");
    if (!saved)
      return success();
    char maker = cast<StringAttr>(saved[0]).getValue().front();
    size_t index = cast<IntegerAttr>(saved[1]).getInt();
    auto found = kept.find({stage, maker});
    if (found == kept.end() || index >= found->second.size())
      return function.emitOpError("takes what no fragment before it keeps: ")
             << saved;
    Binding binding = found->second[index];
    if (binding.buffer >= 0)
      if (FlatBuffer &buffer = program.buffers[binding.buffer];
          !buffer.persistent()) {
        buffer.isResidual = true;
        buffer.copies = copiesOf(stage);
      }
    bindings[function.getArgument(i)] = binding;
    return success();
  }

  /// At most; countCopies() looks closer.
  int64_t copiesOf(int64_t stage) {
    auto found = program.role.copies.find(stage);
    return found == program.role.copies.end() ? 1
                                              : found->second.forwardToWeight;
  }

  void noteLink(FlatInstruction &instruction, SmallVectorImpl<int> &buffers,
                int buffer, DenseI64ArrayAttr link, int64_t copies) {
    buffers.push_back(buffer);
    instruction.links.push_back({link[0], link[1]});
    program.buffers[buffer].isLink = true;
    program.buffers[buffer].copies = copies;
  }

  /// Evaluation has one microbatch in flight.
  int64_t copiesOfLinks(int64_t stage) {
    return program.sequences.back().fragment == 'E' ? 1 : copiesOf(stage);
  }

  void receiveArguments(func::FuncOp function, int64_t stage,
                        Bindings &bindings) {
    FlatInstruction receive{Kind::Receive, function, function.getLoc()};
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (auto link =
              function.getArgAttrOfType<DenseI64ArrayAttr>(i, "kern.receive")) {
        int buffer = addBuffer(function.getArgumentTypes()[i],
                               function.getSymName() + ".receive", "transfers");
        bindings[function.getArgument(i)].buffer = buffer;
        noteLink(receive, receive.outputs, buffer, link, copiesOfLinks(stage));
      }
    if (!receive.outputs.empty()) {
      auto &list = program.sequences.back().instructions;
      list.insert(list.begin(), std::move(receive));
    }
  }

  void sendResults(func::FuncOp function, int64_t stage,
                   ArrayRef<Binding> results) {
    FlatInstruction send{Kind::Send, function, function.getLoc()};
    for (auto [i, result] : llvm::enumerate(results))
      if (auto link =
              function.getResultAttrOfType<DenseI64ArrayAttr>(i, "kern.send"))
        noteLink(send, send.inputs, result.buffer, link, copiesOfLinks(stage));
    if (!send.inputs.empty())
      append(std::move(send));
  }

  //===--------------------------------------------------------------------===//
  // Fragments of the only stage
  //===--------------------------------------------------------------------===//

  LogicalResult addSequence(func::FuncOp function, char fragment) {
    if (function->hasAttr("kern.stage"))
      return addStageSequence(function, fragment);
    program.sequences.push_back(
        {function.getSymName().str(), fragment, -1, {}});
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
        if (failed(addInputByPlace(function, i, bindings)))
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
        if (residual.buffer >= 0) {
          program.buffers[residual.buffer].isResidual = true;
          program.buffers[residual.buffer].copies = program.slots;
        }
    }
    return success();
  }

  /// Tokens and labels.
  LogicalResult addInputByPlace(func::FuncOp function, unsigned i,
                                Bindings &bindings) {
    static constexpr StringLiteral names[] = {"tokens", "labels"};
    if (i >= std::size(names))
      return function.emitOpError("takes more than tokens and labels");
    return addInput(function, i, names[i], bindings);
  }

  LogicalResult addInput(func::FuncOp function, unsigned i, StringRef name,
                         Bindings &bindings) {
    int buffer = addBuffer(function.getArgumentTypes()[i], name, "inputs");
    bindings[function.getArgument(i)].buffer = buffer;
    FlatInstruction input{Kind::Input, function, function.getLoc()};
    input.outputs.push_back(buffer);
    input.hostName = name.str();
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
  SmallVector<Binding> residuals; ///< of the only stage
  /// What fragments of stages return, by stage and kind.
  std::map<std::pair<int64_t, char>, SmallVector<Binding>> kept;
  int depth = 0;
};

} // namespace

LogicalResult hocket::kerntoexec::flatten(ModuleOp module,
                                          FlatProgram &program) {
  return Flattener(module, program).run();
}
