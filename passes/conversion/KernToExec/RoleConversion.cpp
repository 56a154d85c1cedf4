//===- RoleConversion.cpp - Inline what fragments call --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/conversion/KernToExec/RoleConversion.h"

#include "base/AxisKind.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/TypeSwitch.h"

#include <map>
#include <utility>

using namespace mlir;
using namespace hocket;
using namespace hocket::kerntoexec;
using exec::MemoryKind;

/// Bytes of a statically shaped tensor; -1 if that overflows.
static int64_t byteSize(RankedTensorType type) {
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

/// What a value of the IR is in one context: a buffer, or a number (an i64 or
/// an #exec.place).
struct Binding {
  Value buffer;
  Attribute number;
};
using Bindings = llvm::DenseMap<Value, Binding>;

/// The other end of values that cross between stages.
struct Links {
  SmallVector<Value> buffers;
  SmallVector<int64_t> ranks, tags;

  void add(Value buffer, kern::LinkAttr link) {
    buffers.push_back(buffer);
    ranks.push_back(link.getRank());
    tags.push_back(link.getTag());
  }
};

/// What a fragment was given and has returned.
struct FragmentValues {
  SmallVector<Binding> arguments, results;
};

/// Walks functions and appends to the role.
class RoleConverter {
public:
  RoleConverter(ModuleOp module, const RoleFragments &fragments)
      : module(module), symbols(module), fragments(fragments),
        builder(module.getContext()), buffers(module.getContext()) {}

  LogicalResult run() {
    createRole();
    if (failed(addVariables()))
      return failure();
    for (kern::FragmentOp fragment : fragments.fragments)
      if (failed(addSequence(fragment)))
        return failure();
    if (role.getOps<exec::SequenceOp>().empty())
      return module.emitError("no fragment is scheduled: a `kern.schedule` and "
                              "its fragments are expected");
    for (kern::ScheduleOp schedule : fragments.schedules)
      addEntry(schedule);
    return success();
  }

private:
  void createRole() {
    builder.setInsertionPointToEnd(module.getBody());
    role = builder.create<exec::RoleOp>(
        module.getLoc(), builder.getStringAttr("role" + Twine(fragments.rank)),
        builder.getDenseI64ArrayAttr(ranks()),
        fragments.isCut ? builder.getI64IntegerAttr(fragments.rank)
                        : IntegerAttr(),
        IntegerAttr(), IntegerAttr(), ArrayAttr());
    builder.setInsertionPointToEnd(&role.getBody().emplaceBlock());
  }

  /// The places of the mesh that are this role's: with the pipeline's axis
  /// the slowest, ranks that follow each other; without it, all of them.
  SmallVector<int64_t> ranks() {
    int64_t others = 1, first = 0;
    for (auto mesh : module.getOps<step::MeshOp>())
      for (auto [name, size] : llvm::zip(
               mesh.getAxes().getAsRange<StringAttr>(), mesh.getSizes())) {
        bool pipeline = axisKind(name.getValue()) == AxisKind::Pipeline;
        others *= pipeline ? 1 : size;
        first = pipeline ? fragments.rank : first;
      }
    return llvm::to_vector(
        llvm::seq<int64_t>(first * others, (first + 1) * others));
  }

  //===--------------------------------------------------------------------===//
  // Buffers
  //===--------------------------------------------------------------------===//

  exec::BufferOp addBuffer(Type type, const Twine &name, MemoryKind kind) {
    auto tensor = cast<RankedTensorType>(type);
    // Behind the last one, whatever has come after that.
    if (lastBuffer)
      buffers.setInsertionPointAfter(lastBuffer);
    else
      buffers.setInsertionPointToStart(&role.getBody().front());
    lastBuffer = buffers.create<exec::BufferOp>(
        module.getLoc(),
        MemRefType::get(tensor.getShape(), tensor.getElementType()), name,
        kind);
    return lastBuffer;
  }

  /// All of them, or those that the fragments of one stage of several use. A
  /// parameter that none uses is the first rank's.
  LogicalResult addVariables() {
    llvm::DenseSet<StringAttr> used, usedSomewhere;
    for (kern::FragmentOp fragment : fragments.fragments)
      noteVariables(fragment, used);
    for (auto fragment : module.getOps<kern::FragmentOp>())
      if (fragments.isCut && fragments.rank == 0)
        noteVariables(fragment, usedSomewhere);
    for (auto variable : module.getOps<kern::VariableOp>()) {
      bool isLeft = fragments.rank == 0 &&
                    variable.getKind() == kern::VariableKind::Parameter &&
                    !usedSomewhere.contains(variable.getSymNameAttr());
      if (!fragments.isCut || isLeft ||
          used.contains(variable.getSymNameAttr()))
        if (failed(addVariable(variable)))
          return failure();
    }
    return success();
  }

  void noteVariables(Operation *function, llvm::DenseSet<StringAttr> &used) {
    function->walk([&](Operation *op) {
      if (auto name = op->getAttrOfType<FlatSymbolRefAttr>("variable"))
        used.insert(name.getAttr());
      else if (auto call = dyn_cast<func::CallOp>(op))
        if (auto callee = symbols.lookup<func::FuncOp>(call.getCallee()))
          noteVariables(callee, used);
    });
  }

  static MemoryKind memoryOf(kern::VariableKind kind) {
    switch (kind) {
    case kern::VariableKind::Parameter:
      return MemoryKind::Parameters;
    case kern::VariableKind::Gradient:
      return MemoryKind::Gradients;
    case kern::VariableKind::OptimizerState:
      return MemoryKind::Optimizer;
    case kern::VariableKind::Working:
      return MemoryKind::WorkingCopies;
    case kern::VariableKind::Cache:
      return MemoryKind::Cache;
    case kern::VariableKind::State:
      return MemoryKind::State;
    }
  }

  LogicalResult addVariable(kern::VariableOp variable) {
    auto type = dyn_cast<RankedTensorType>(variable.getType());
    if (!type || !type.hasStaticShape() || byteSize(type) < 0)
      return variable.emitOpError("has no size that can be planned: ")
             << variable.getType();
    exec::BufferOp buffer =
        addBuffer(type, variable.getSymName(), memoryOf(variable.getKind()));
    buffer.setPersistent(true);
    variables[variable.getSymNameAttr()] = buffer;
    addParameter(variable, buffer);
    return success();
  }

  /// Parameters and optimizer states go into the table, and so does state that
  /// must survive a restart; gradients and working copies do not.
  void addParameter(kern::VariableOp variable, Value buffer) {
    StringAttr name, state = builder.getStringAttr("value");
    if (variable.getKind() == kern::VariableKind::Parameter ||
        variable.getKind() == kern::VariableKind::State) {
      name = variable.getSymNameAttr();
    } else if (variable.getKind() == kern::VariableKind::OptimizerState) {
      name = variable.getOfAttr().getAttr();
      state = variable.getSlotAttr();
    }
    if (!name)
      return;
    step::VariableInfoAttr info = variable.getInfoAttr();
    if (!info)
      info = step::VariableInfoAttr::get(builder.getContext(), {}, {}, {}, {},
                                         {}, {}, {});
    builder.create<exec::ParameterOp>(variable.getLoc(), name, state, buffer,
                                      info);
  }

  //===--------------------------------------------------------------------===//
  // Fragments
  //===--------------------------------------------------------------------===//

  LogicalResult addSequence(kern::FragmentOp fragment) {
    createSequence(fragment);
    Bindings bindings;
    FragmentValues values;
    for (unsigned i = 0; i < fragment.getNumArguments(); ++i)
      if (failed(bindArgument(fragment, i, bindings)))
        return failure();
    receiveArguments(fragment, bindings);
    for (Value argument : fragment.getArguments())
      values.arguments.push_back(bindings.lookup(argument));
    if (failed(walk(fragment, bindings, "", values.results)))
      return failure();
    sendResults(fragment, values.results);
    kept[{fragment.getStageNumber(), fragment.getKind()}] = std::move(values);
    return success();
  }

  /// The sequence of a fragment, to whose end the builder goes.
  void createSequence(kern::FragmentOp fragment) {
    builder.setInsertionPointToEnd(&role.getBody().front());
    auto sequence = builder.create<exec::SequenceOp>(
        module.getLoc(), fragment.getSymNameAttr(),
        exec::FragmentKindAttr::get(builder.getContext(), fragment.getKind()),
        fragment.getStageAttr(), StringAttr(), UnitAttr());
    builder.setInsertionPointToEnd(&sequence.getBody().emplaceBlock());
  }

  /// Gives an argument what its source is, unless it is received.
  LogicalResult bindArgument(kern::FragmentOp fragment, unsigned i,
                             Bindings &bindings) {
    Attribute source = fragment.getSources()[i];
    Value argument = fragment.getArgument(i);
    if (auto host = dyn_cast<kern::HostAttr>(source)) {
      StringRef name = host.getName().getValue();
      Value buffer = addBuffer(argument.getType(), name, MemoryKind::Inputs);
      bindings[argument].buffer = buffer;
      addHost(fragment.getLoc(), exec::HostDirection::Input, name, buffer,
              host.getAxes());
    } else if (auto saved = dyn_cast<kern::SavedAttr>(source)) {
      const Binding *binding = keptBy(fragment, saved);
      if (!binding)
        return fragment.emitOpError("takes as argument ")
               << i << " what no fragment before it keeps";
      markResidual(*binding);
      bindings[argument] = *binding;
    }
    return success();
  }

  /// A value of a fragment that was converted before; null if there is none.
  const Binding *keptBy(kern::FragmentOp fragment, kern::SavedAttr saved) {
    auto found = kept.find({fragment.getStageNumber(), saved.getKind()});
    if (found == kept.end())
      return nullptr;
    ArrayRef<Binding> values = saved.getEnd() == kern::FragmentEnd::Argument
                                   ? found->second.arguments
                                   : found->second.results;
    auto index = static_cast<size_t>(saved.getIndex());
    return index < values.size() ? &values[index] : nullptr;
  }

  /// A value that one fragment leaves for another.
  static void markResidual(const Binding &binding) {
    if (!binding.buffer)
      return;
    auto buffer = binding.buffer.getDefiningOp<exec::BufferOp>();
    if (!buffer.getPersistent())
      buffer.setResidual(true);
  }

  void receiveArguments(kern::FragmentOp fragment, Bindings &bindings) {
    Links links;
    for (auto [argument, source] :
         llvm::zip(fragment.getArguments(), fragment.getSources()))
      if (auto link = dyn_cast<kern::LinkAttr>(source)) {
        Value buffer =
            addBuffer(argument.getType(), fragment.getSymName() + ".receive",
                      MemoryKind::Transfers);
        bindings[argument].buffer = buffer;
        links.add(buffer, link);
      }
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(builder.getInsertionBlock());
    addTransfer(fragment, links, /*sends=*/false);
  }

  void sendResults(kern::FragmentOp fragment, ArrayRef<Binding> results) {
    Links links;
    for (auto [result, target] : llvm::zip(results, fragment.getTargets()))
      if (auto link = dyn_cast<kern::LinkAttr>(target))
        links.add(result.buffer, link);
    addTransfer(fragment, links, /*sends=*/true);
  }

  void addTransfer(kern::FragmentOp fragment, const Links &links, bool sends) {
    if (links.buffers.empty())
      return;
    SmallVector<bool> directions(links.buffers.size(), sends);
    builder.create<exec::TransferOp>(
        fragment.getLoc(), links.buffers,
        builder.getDenseBoolArrayAttr(directions),
        builder.getDenseI64ArrayAttr(links.ranks),
        builder.getDenseI64ArrayAttr(links.tags),
        builder.getStrArrayAttr({axisName(AxisKind::Pipeline)}),
        builder.getI64IntegerAttr(0));
  }

  void addHost(Location loc, exec::HostDirection direction, StringRef name,
               Value buffer, ArrayAttr axes = {},
               ArrayRef<int64_t> shape = {}) {
    // The rows of the parts that tokens and labels are stored in.
    int64_t part = 0;
    for (auto mesh : module.getOps<step::MeshOp>())
      part = static_cast<int64_t>(mesh.getParts().value_or(0));
    // Images are whole, and in order.
    if (axes && direction == exec::HostDirection::Input && axes.size() > 1 &&
        cast<ArrayAttr>(axes[1]).empty())
      part = 0;
    bool isOther = axes && !shape.empty() &&
                   shape != cast<MemRefType>(buffer.getType()).getShape();
    builder.create<exec::HostOp>(loc, direction, name, buffer, axes,
                                 isOther ? builder.getDenseI64ArrayAttr(shape)
                                         : DenseI64ArrayAttr(),
                                 axes ? part : 0);
  }

  //===--------------------------------------------------------------------===//
  // Instructions
  //===--------------------------------------------------------------------===//

  /// Converts a fragment, or a function that it calls.
  LogicalResult walk(FunctionOpInterface function, Bindings &bindings,
                     const std::string &place,
                     SmallVectorImpl<Binding> &results) {
    if (++depth > 64)
      return function.emitOpError("is called too deeply to inline");
    for (Operation &op : function.getFunctionBody().front())
      if (failed(visit(&op, bindings, place, results)))
        return failure();
    --depth;
    return success();
  }

  LogicalResult visit(Operation *op, Bindings &bindings,
                      const std::string &place,
                      SmallVectorImpl<Binding> &results) {
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case<kern::LaunchOp, kern::GemmOp, kern::LibraryOp, kern::CollectiveOp,
              kern::ExchangeOp>([&](auto compute) {
          addCompute(compute, bindings, place);
          return success();
        })
        .Case<kern::PlaceOp>([&](auto step) {
          bindings[step.getResult()].number =
              exec::PlaceAttr::get(builder.getContext(), step.getAxes(),
                                   static_cast<int64_t>(step.getStep()));
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
          builder.create<exec::CopyOp>(
              placed(op, place), bindings.lookup(write.getValue()).buffer,
              variables.lookup(write.getVariableAttr().getAttr()),
              builder.getI64IntegerAttr(0));
          return success();
        })
        .Case<kern::AccumulateOp>([&](auto accumulate) {
          builder.create<exec::AccumulateOp>(
              placed(op, place), bindings.lookup(accumulate.getValue()).buffer,
              variables.lookup(accumulate.getVariableAttr().getAttr()),
              accumulate.getAlways() ? exec::Accumulation::Add
                                     : exec::Accumulation::AddUnlessFirst);
          return success();
        })
        .Case<kern::InputOp>([&](auto input) {
          Value buffer =
              addBuffer(input.getType(), input.getName(), MemoryKind::Inputs);
          bindings[input.getResult()].buffer = buffer;
          addHost(placed(op, place), exec::HostDirection::Input,
                  input.getName(), buffer);
          return success();
        })
        .Case<kern::OutputOp>([&](auto output) {
          addHost(
              placed(op, place), exec::HostDirection::Output, output.getName(),
              bindings.lookup(output.getValue()).buffer, output.getAxesAttr(),
              cast<RankedTensorType>(output.getValue().getType()).getShape());
          return success();
        })
        .Case<arith::ConstantOp>([&](auto constant) -> LogicalResult {
          auto number = dyn_cast<IntegerAttr>(constant.getValue());
          if (!number)
            return op->emitOpError("only integer constants are expected here");
          bindings[constant.getResult()].number =
              builder.getI64IntegerAttr(number.getInt());
          return success();
        })
        .Case<func::CallOp>(
            [&](auto call) { return inlineCall(call, bindings, place); })
        .Case<func::ReturnOp, kern::ReturnOp>([&](auto ret) {
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

  /// The location of what comes of `op` in a part of the model.
  Location placed(Operation *op, const std::string &place) {
    if (place.empty())
      return op->getLoc();
    return NameLoc::get(builder.getStringAttr(place), op->getLoc());
  }

  template <typename Op>
  void addCompute(Op op, Bindings &bindings, const std::string &place) {
    auto of = [&](Value value) {
      return value ? bindings.lookup(value).buffer : Value();
    };
    SmallVector<Value> outputs = addResults(op, bindings, place);
    addInstruction(op, place, of, outputs, bindings);
  }

  /// A buffer for each result; scratch memory is the last ones of a library's
  /// op.
  SmallVector<Value> addResults(Operation *op, Bindings &bindings,
                                const std::string &place) {
    std::string name = bufferName(op, place);
    int64_t workspaces = 0;
    if (auto library = dyn_cast<kern::LibraryOp>(op))
      workspaces = library.getWorkspaces();
    int64_t firstWorkspace = op->getNumResults() - workspaces;
    SmallVector<Value> outputs;
    for (OpResult result : op->getResults()) {
      bool isWorkspace = result.getResultNumber() >= firstWorkspace;
      outputs.push_back(addBuffer(
          result.getType(),
          op->getNumResults() > 1
              ? Twine(name) + "." + Twine(result.getResultNumber())
              : Twine(name),
          isWorkspace ? MemoryKind::Workspace : MemoryKind::Activations));
      bindings[result].buffer = outputs.back();
    }
    return outputs;
  }

  using BufferOf = llvm::function_ref<Value(Value)>;

  ArrayAttr numbersOf(ValueRange values, Bindings &bindings) {
    SmallVector<Attribute> numbers;
    for (Value value : values) {
      Attribute number = bindings.lookup(value).number;
      numbers.push_back(number ? number : builder.getI64IntegerAttr(0));
    }
    return builder.getArrayAttr(numbers);
  }

  void addInstruction(kern::LaunchOp launch, const std::string &place,
                      BufferOf of, ArrayRef<Value> outputs,
                      Bindings &bindings) {
    builder.create<exec::LaunchOp>(placed(launch, place), launch.getKernel(),
                                   llvm::map_to_vector(launch.getInputs(), of),
                                   outputs,
                                   numbersOf(launch.getInstances(), bindings));
  }

  void addInstruction(kern::GemmOp gemm, const std::string &place, BufferOf of,
                      ArrayRef<Value> outputs, Bindings &) {
    Value beside = outputs.size() > 1 ? outputs[1] : Value();
    bool sums = gemm.getBiasGradient();
    builder.create<exec::GemmOp>(
        placed(gemm, place), of(gemm.getA()), of(gemm.getB()), outputs[0],
        of(gemm.getBias()), of(gemm.getResidual()), sums ? Value() : beside,
        of(gemm.getPreactivation()), sums ? beside : Value(),
        of(gemm.getScaleA()), of(gemm.getScaleB()), gemm.getMAttr(),
        gemm.getNAttr(), gemm.getKAttr(), gemm.getTransposeAAttr(),
        gemm.getTransposeBAttr(), UnitAttr(),
        exec::EpilogueAttr::get(builder.getContext(), gemm.getEpilogue()),
        gemm.getAlphaAttr(), exec::AccumulationAttr(),
        builder.getI64IntegerAttr(0));
  }

  void addInstruction(kern::LibraryOp library, const std::string &place,
                      BufferOf of, ArrayRef<Value> outputs,
                      Bindings &bindings) {
    SmallVector<int64_t> integers(library.getIntegers());
    if (Value instance = library.getInstance(); instance && library.getRandom())
      if (auto number =
              dyn_cast_or_null<IntegerAttr>(bindings.lookup(instance).number))
        integers.back() += number.getInt();
    builder.create<exec::LibraryOp>(
        placed(library, place), library.getOpAttr(),
        llvm::map_to_vector(library.getInputs(), of), outputs,
        builder.getDenseI64ArrayAttr(integers), library.getFloatsAttr(),
        library.getRandomAttr(), library.getResultsFirstAttr(),
        library.getInPlaceAttr(), numbersOf(library.getScalars(), bindings),
        library.getElementsAttr(), exec::AccumulationAttr(),
        builder.getI64IntegerAttr(0));
  }

  void addInstruction(kern::CollectiveOp collective, const std::string &place,
                      BufferOf of, ArrayRef<Value> outputs, Bindings &) {
    builder.create<exec::CollectiveOp>(
        placed(collective, place),
        exec::CollectiveKindAttr::get(builder.getContext(),
                                      collective.getKind()),
        of(collective.getInput()), outputs, collective.getAxesAttr(),
        collective.getWhyAttr(),
        place.empty() ? StringAttr() : builder.getStringAttr(place),
        builder.getI64IntegerAttr(0));
  }

  void addInstruction(kern::ExchangeOp exchange, const std::string &place,
                      BufferOf of, ArrayRef<Value> outputs, Bindings &) {
    auto rows = cast<RankedTensorType>(exchange.getResult().getType());
    builder.create<exec::ExchangeOp>(
        placed(exchange, place), of(exchange.getRows()), outputs.front(),
        of(exchange.getRanges()), of(exchange.getSegments()),
        exchange.getAxesAttr(),
        builder.getI64IntegerAttr(rows.getShape().back()),
        exchange.getWhyAttr(), exchange.getReturnsAttr(),
        builder.getI64IntegerAttr(0));
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
      what = step::stringifyCollectiveKind(collective.getKind()).str();
    else if (isa<kern::ExchangeOp>(op))
      what = "exchange";
    else
      what = "gemm";
    return place.empty() ? what : place + "." + what;
  }

  //===--------------------------------------------------------------------===//
  // Entries
  //===--------------------------------------------------------------------===//

  void addEntry(kern::ScheduleOp schedule) {
    builder.setInsertionPointToEnd(&role.getBody().front());
    SmallVector<Attribute> sequences;
    SmallVector<int64_t> microbatches, slots;
    for (auto action : schedule.getActions().getAsRange<kern::ActionAttr>()) {
      sequences.push_back(action.getFunction());
      microbatches.push_back(action.getMicrobatch());
      slots.push_back(action.getSlot());
    }
    builder.create<exec::EntryOp>(schedule.getLoc(), schedule.getEntryAttr(),
                                  builder.getArrayAttr(sequences),
                                  builder.getDenseI64ArrayAttr(microbatches),
                                  builder.getDenseI64ArrayAttr(slots));
  }

  ModuleOp module;
  SymbolTable symbols;
  const RoleFragments &fragments;
  exec::RoleOp role;
  OpBuilder builder; ///< at the end of the sequence
  OpBuilder buffers; ///< behind the last buffer
  exec::BufferOp lastBuffer;
  llvm::DenseMap<StringAttr, Value> variables;
  /// What fragments have, by stage and kind.
  std::map<std::pair<int64_t, kern::FragmentKind>, FragmentValues> kept;
  int depth = 0;
};

} // namespace

LogicalResult hocket::kerntoexec::convertRole(ModuleOp module,
                                              const RoleFragments &fragments) {
  return RoleConverter(module, fragments).run();
}
