//===- RoleEmission.cpp - Write the role ----------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/conversion/KernToExec/TransferRuns.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::kerntoexec;
using Kind = FlatInstruction::Kind;

namespace {

/// Builds `exec.role` at the end of the module.
class RoleBuilder {
public:
  explicit RoleBuilder(FlatProgram &program)
      : program(program), builder(program.module.getContext()), runs(program) {}

  void build() {
    // Before the entries are written, so that their events are known.
    std::vector<std::vector<Run>> entries;
    for (kern::ScheduleOp schedule : program.role.schedules)
      entries.push_back(runs.plan(schedule));
    builder.setInsertionPointToEnd(program.module.getBody());
    auto role = builder.create<exec::RoleOp>(
        program.module.getLoc(),
        builder.getStringAttr("role" + Twine(program.role.rank)),
        builder.getDenseI64ArrayAttr(ranks()),
        builder.getI64IntegerAttr(program.arenaBytes),
        builder.getI64IntegerAttr(program.lowerBound));
    builder.createBlock(&role.getBody());
    values.assign(program.buffers.size(), Value());
    // What stands in others comes behind them.
    for (bool stands : {false, true})
      for (size_t b = 0; b < program.buffers.size(); ++b)
        if ((program.buffers[b].within >= 0) == stands)
          addBuffer(b);
    for (const FlatBuffer &buffer : program.buffers)
      if (buffer.persistent())
        addParameter(buffer);
    for (size_t s = 0; s < program.sequences.size(); ++s)
      addSequence(s);
    for (const auto &[name, sync] : runs.syncs())
      addSync(name, sync);
    for (auto [schedule, list] : llvm::zip(program.role.schedules, entries))
      addEntry(schedule, list);
  }

private:
  /// The places of the mesh along "pp" that are this role's: with that axis
  /// the slowest, ranks that follow each other; without it, all of them.
  SmallVector<int64_t> ranks() const {
    int64_t others = 1, first = 0;
    if (auto mesh = program.module->getAttrOfType<DictionaryAttr>("kern.mesh"))
      for (auto [name, size] :
           llvm::zip(mesh.getAs<ArrayAttr>("axes").getAsRange<StringAttr>(),
                     mesh.getAs<DenseI64ArrayAttr>("sizes").asArrayRef())) {
        bool pipeline = name.getValue() == "pp";
        others *= pipeline ? 1 : size;
        first = pipeline ? program.role.rank : first;
      }
    return llvm::to_vector(
        llvm::seq<int64_t>(first * others, (first + 1) * others));
  }

  Value valueOf(int buffer) const { return values[program.find(buffer)]; }

  SmallVector<Value> valuesOf(ArrayRef<int> buffers) const {
    return llvm::map_to_vector(buffers, [&](int b) { return valueOf(b); });
  }

  void addBuffer(size_t b) {
    const FlatBuffer &buffer = program.buffers[b];
    if (buffer.mergedInto >= 0 || (buffer.first < 0 && !buffer.persistent()))
      return;
    bool copies = !buffer.persistent() && buffer.copies > 1;
    const FlatBuffer &host =
        buffer.within < 0 ? buffer : program.buffers[buffer.within];
    int64_t stride = (host.bytes + 255) / 256 * 256;
    std::string kind = buffer.kind;
    if (kind == "activations" && !buffer.isResidual)
      kind = buffer.isLink ? "transfers" : "temporaries";
    values[b] = builder.create<exec::BufferOp>(
        program.module.getLoc(),
        MemRefType::get(buffer.type.getShape(), buffer.type.getElementType()),
        builder.getStringAttr(buffer.name),
        builder.getI64IntegerAttr(buffer.offset), builder.getStringAttr(kind),
        builder.getI64IntegerAttr(std::max<int64_t>(buffer.first, 0)),
        builder.getI64IntegerAttr(std::max<int64_t>(buffer.last, 0)),
        buffer.persistent() ? builder.getUnitAttr() : UnitAttr(),
        builder.getI64IntegerAttr(copies ? buffer.copies : 1),
        builder.getI64IntegerAttr(copies ? stride : 0),
        copies && buffer.byMicrobatch ? builder.getUnitAttr() : UnitAttr(),
        buffer.within < 0 ? Value() : values[buffer.within]);
  }

  /// Parameters and optimizer states go into the table, and so does state that
  /// must survive a restart; gradients and working copies do not.
  void addParameter(const FlatBuffer &buffer) {
    kern::VariableOp variable = buffer.variable;
    StringAttr name, state = builder.getStringAttr("value");
    if (variable.getKind() == "parameter" || variable.getKind() == "state") {
      name = variable.getSymNameAttr();
    } else if (variable.getKind() == "optimizer_state") {
      name = variable.getParameterAttr();
      state = variable.getSlotAttr();
    }
    if (!name || !state)
      return;
    builder.create<exec::ParameterOp>(variable.getLoc(), name, state,
                                      values[&buffer - program.buffers.data()],
                                      variable.getInfo()
                                          ? *variable.getInfo()
                                          : builder.getDictionaryAttr({}));
  }

  /// What it receives, computes and sends, each as a sequence of its own.
  void addSequence(size_t s) {
    const FlatSequence &sequence = program.sequences[s];
    ArrayRef<FlatInstruction> list = sequence.instructions;
    if (!list.empty() && list.front().kind == Kind::Receive) {
      addTransfer(TransferRuns::receiveName(sequence), list.front(),
                  runs.streamOf(s, Kind::Receive));
      list = list.drop_front();
    }
    const FlatInstruction *send = nullptr;
    if (!list.empty() && list.back().kind == Kind::Send) {
      send = &list.back();
      list = list.drop_back();
    }
    {
      auto op = builder.create<exec::SequenceOp>(
          program.module.getLoc(), builder.getStringAttr(sequence.name));
      OpBuilder::InsertionGuard guard(builder);
      builder.createBlock(&op.getBody());
      for (const FlatInstruction &instruction : list)
        addInstruction(instruction);
    }
    if (send)
      addTransfer(TransferRuns::sendName(sequence), *send,
                  runs.streamOf(s, Kind::Send));
  }

  void addTransfer(const std::string &name, const FlatInstruction &transfer,
                   int64_t stream) {
    // Of what the rank sends itself, a receive is both ends.
    auto op = builder.create<exec::SequenceOp>(program.module.getLoc(),
                                               builder.getStringAttr(name));
    OpBuilder::InsertionGuard guard(builder);
    builder.createBlock(&op.getBody());
    SmallVector<Value> buffers;
    SmallVector<bool> directions;
    SmallVector<int64_t> peers, tags;
    for (bool sends : {true, false}) {
      ArrayRef<int> list = sends ? transfer.inputs : transfer.outputs;
      for (auto [buffer, link] : llvm::zip(list, transfer.links)) {
        buffers.push_back(valueOf(buffer));
        directions.push_back(sends);
        peers.push_back(link.rank);
        tags.push_back(link.tag);
      }
    }
    builder.create<exec::TransferOp>(
        transfer.loc, buffers, builder.getDenseBoolArrayAttr(directions),
        builder.getDenseI64ArrayAttr(peers), builder.getDenseI64ArrayAttr(tags),
        builder.getStrArrayAttr({"pp"}), builder.getI64IntegerAttr(stream));
  }

  void addSync(const std::string &name, const SyncSequence &sync) {
    auto op = builder.create<exec::SequenceOp>(program.module.getLoc(),
                                               builder.getStringAttr(name));
    OpBuilder::InsertionGuard guard(builder);
    builder.createBlock(&op.getBody());
    for (const SyncInstruction &instruction : sync)
      addEvent(instruction);
  }

  void addEvent(const SyncInstruction &instruction) {
    IntegerAttr event = builder.getI64IntegerAttr(instruction.event);
    IntegerAttr stream = builder.getI64IntegerAttr(instruction.stream);
    if (instruction.isRecord)
      builder.create<exec::RecordOp>(program.module.getLoc(), event, stream);
    else
      builder.create<exec::WaitOp>(program.module.getLoc(), event, stream);
  }

  IntegerAttr accumulationOf(const FlatInstruction &instruction) {
    return builder.getI64IntegerAttr(
        static_cast<int64_t>(instruction.accumulation));
  }

  ArrayAttr numbersOf(ArrayRef<FlatScalar> scalars) {
    SmallVector<Attribute> numbers;
    for (const FlatScalar &scalar : scalars)
      numbers.push_back(
          scalar.axes ? Attribute(exec::PlaceAttr::get(
                            builder.getContext(), scalar.axes, scalar.step))
                      : Attribute(builder.getI64IntegerAttr(scalar.constant)));
    return builder.getArrayAttr(numbers);
  }

  void addInstruction(const FlatInstruction &instruction) {
    Location loc = instruction.loc;
    if (!instruction.place.empty())
      loc = NameLoc::get(builder.getStringAttr(instruction.place), loc);
    SmallVector<Value> inputs = valuesOf(instruction.inputs);
    SmallVector<Value> outputs = valuesOf(instruction.outputs);
    switch (instruction.kind) {
    case Kind::Launch:
      return addLaunch(instruction, loc, inputs, outputs);
    case Kind::Gemm:
      return addGemm(instruction, loc, inputs, outputs);
    case Kind::Library:
      return addLibrary(instruction, loc, inputs, outputs);
    case Kind::Write:
    case Kind::Copy:
      builder.create<exec::CopyOp>(loc, inputs[0], outputs[0],
                                   builder.getI64IntegerAttr(0));
      return;
    case Kind::Accumulate:
      return addAccumulate(instruction, loc, inputs[0], outputs[0]);
    case Kind::Receive:
    case Kind::Send:
      return; // sequences of their own
    case Kind::Input:
    case Kind::Output: {
      bool in = instruction.kind == Kind::Input;
      builder.create<exec::HostOp>(
          loc, builder.getStringAttr(in ? "input" : "output"),
          builder.getStringAttr(instruction.hostName),
          in ? outputs[0] : inputs[0], instruction.hostAxes,
          builder.getI64IntegerAttr(instruction.hostAxes ? hostPart() : 0),
          builder.getI64IntegerAttr(0));
      return;
    }
    case Kind::Collective: {
      auto collective = cast<kern::CollectiveOp>(instruction.op);
      builder.create<exec::CollectiveOp>(
          loc, collective.getKindAttr(), inputs, outputs,
          collective.getAxesAttr(), collective.getWhyAttr(),
          builder.getI64IntegerAttr(program.streamOf(instruction.lane)));
      return;
    }
    case Kind::Record:
    case Kind::Wait:
      return addEvent({instruction.kind == Kind::Record, instruction.event,
                       program.streamOf(instruction.lane)});
    }
  }

  /// The rows of the parts that tokens and labels are stored in.
  int64_t hostPart() const {
    auto part = program.module->getAttrOfType<IntegerAttr>("kern.part");
    return part ? part.getInt() : 0;
  }

  void addLaunch(const FlatInstruction &instruction, Location loc,
                 ArrayRef<Value> inputs, ArrayRef<Value> outputs) {
    auto launch = cast<kern::LaunchOp>(instruction.op);
    SmallVector<Value> buffers(inputs);
    llvm::append_range(buffers, outputs);
    builder.create<exec::LaunchOp>(loc, launch.getKernelAttr(), buffers,
                                   builder.getI64IntegerAttr(inputs.size()),
                                   numbersOf(instruction.instances),
                                   accumulationOf(instruction),
                                   builder.getI64IntegerAttr(0));
  }

  void addGemm(const FlatInstruction &instruction, Location loc,
               ArrayRef<Value> inputs, ArrayRef<Value> outputs) {
    auto gemm = cast<kern::GemmOp>(instruction.op);
    unsigned next = 2;
    Value bias = gemm.getBias() ? inputs[next++] : Value();
    Value residual = gemm.getResidual() ? inputs[next++] : Value();
    Value preactivation = gemm.getPreactivation() ? inputs[next++] : Value();
    Value scaleA = gemm.getScaleA() ? inputs[next++] : Value();
    Value scaleB = gemm.getScaleB() ? inputs[next++] : Value();
    Value beside = outputs.size() > 1 ? outputs[1] : Value();
    bool sums = gemm.getBiasGradient();
    bool plain = gemm.getEpilogue() == kern::Epilogue::None;
    builder.create<exec::GemmOp>(
        loc, inputs[0], inputs[1], outputs[0], bias, residual,
        sums ? Value() : beside, preactivation, sums ? beside : Value(), scaleA,
        scaleB, gemm.getMAttr(), gemm.getNAttr(), gemm.getKAttr(),
        gemm.getTransposeAAttr(), gemm.getTransposeBAttr(), UnitAttr(),
        builder.getStringAttr(
            plain ? "" : kern::stringifyEpilogue(gemm.getEpilogue())),
        gemm.getAlphaAttr(), accumulationOf(instruction),
        builder.getI64IntegerAttr(0));
  }

  void addLibrary(const FlatInstruction &instruction, Location loc,
                  ArrayRef<Value> inputs, ArrayRef<Value> outputs) {
    auto library = cast<kern::LibraryOp>(instruction.op);
    bool flip = library.getResultsFirst();
    SmallVector<Value> buffers(flip ? outputs : inputs);
    llvm::append_range(buffers, flip ? inputs : outputs);
    SmallVector<int64_t> integers(library.getIntegers());
    if (library.getRandom() && !instruction.instances.empty())
      integers.back() += instruction.instances[0].constant;
    builder.create<exec::LibraryOp>(
        loc, library.getOpAttr(), buffers,
        builder.getDenseI64ArrayAttr(integers), library.getFloatsAttr(),
        library.getRandomAttr(), numbersOf(instruction.scalars),
        library.getElementsAttr(), accumulationOf(instruction),
        builder.getI64IntegerAttr(0));
  }

  /// A contribution that could not be folded: `accumulate` of
  /// kernels/library/Library.h.
  void addAccumulate(const FlatInstruction &instruction, Location loc,
                     Value from, Value to) {
    auto type = cast<MemRefType>(from.getType());
    int64_t dtype = type.getElementType().isF32()    ? 1
                    : type.getElementType().isBF16() ? 2
                                                     : 3;
    builder.create<exec::LibraryOp>(
        loc, builder.getStringAttr("accumulate"), ValueRange{from, to},
        builder.getDenseI64ArrayAttr({dtype, type.getNumElements()}),
        builder.getDenseF64ArrayAttr({}), UnitAttr(), builder.getArrayAttr({}),
        builder.getI64IntegerAttr(0), accumulationOf(instruction),
        builder.getI64IntegerAttr(0));
  }

  void addEntry(kern::ScheduleOp schedule, ArrayRef<Run> list) {
    SmallVector<Attribute> sequences;
    SmallVector<int64_t> microbatches, slots;
    for (const Run &run : list) {
      sequences.push_back(
          FlatSymbolRefAttr::get(builder.getContext(), run.sequence));
      microbatches.push_back(run.microbatch);
      slots.push_back(run.slot);
    }
    builder.create<exec::EntryOp>(schedule.getLoc(), schedule.getEntryAttr(),
                                  builder.getArrayAttr(sequences),
                                  builder.getDenseI64ArrayAttr(microbatches),
                                  builder.getDenseI64ArrayAttr(slots));
  }

  FlatProgram &program;
  OpBuilder builder;
  TransferRuns runs;
  std::vector<Value> values;
};

} // namespace

void hocket::kerntoexec::emit(FlatProgram &program) {
  RoleBuilder(program).build();
}
