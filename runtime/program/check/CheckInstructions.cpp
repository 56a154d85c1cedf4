//===- CheckInstructions.cpp - Checks of instructions and their operands --===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/CheckedMath.h"
#include "base/Format.h"
#include "kernels/library/Library.h"
#include "kernels/reference/Gemm.h"
#include "runtime/program/DataType.h"
#include "runtime/program/FaultList.h"
#include "runtime/program/HostNames.h"
#include "runtime/program/InstructionOperands.h"

#include <set>

using namespace hocket;
using program::Buffer;
using program::DType;
using program::Instruction;
using program::Role;

namespace {
/// Checks the instructions of one role, one after the other.
class InstructionChecker {
public:
  InstructionChecker(const program::Program &program, int role,
                     FaultList &faults)
      : program(program), role(role), r(program.roles(role)), faults(faults) {}

  void run() {
    forEachInstruction(
        program, role, faults,
        [&](const ProgramPlace &at, const Instruction &instruction) {
          place = &at;
          check(instruction);
        });
  }

private:
  void add(const std::string &what, ProgramRule rule = ProgramRule::Operands) {
    faults.add(rule, place->text(), what);
  }
  void addName(const std::string &what) { add(what, ProgramRule::Names); }

  void check(const Instruction &instruction) {
    if (instruction.stream() >= std::max(1u, r.streams()))
      addName(formatText("runs on stream %u, there are %u",
                         instruction.stream(), std::max(1u, r.streams())));
    for (const auto &operand : operandsOf(instruction, program))
      if (operand.buffer >= uint32_t(r.buffers_size())) {
        addName(formatText("names buffer %u, there are %d", operand.buffer,
                           r.buffers_size()));
        return;
      }
    switch (instruction.kind_case()) {
    case Instruction::kLaunch:
      return checkLaunch(instruction.launch());
    case Instruction::kGemm:
      return checkGemm(instruction.gemm());
    case Instruction::kLibrary:
      return checkLibrary(instruction.library());
    case Instruction::kCopy:
      return checkCopy(instruction.copy());
    case Instruction::kFill:
      if (instruction.fill().byte_value() > 255)
        add(formatText("fills with %u, which is no byte",
                       instruction.fill().byte_value()));
      return;
    case Instruction::kHost:
      return checkHost(instruction.host());
    case Instruction::kCollective:
    case Instruction::kTransfer:
      return; // CheckCommunication.cpp
    case Instruction::kRecord:
      return checkEvent(instruction.record().event());
    case Instruction::kWait:
      return checkEvent(instruction.wait().event());
    case Instruction::KIND_NOT_SET:
      return addName("is of no known kind");
    }
  }

  const Buffer &buffer(uint32_t index) const { return r.buffers(int(index)); }

  uint64_t elementsOf(uint32_t index) const {
    return *checkedProduct(buffer(index).shape()); // V10 has seen that it is.
  }

  /// Whether so many elements are whole first rows of buffer `index`, fewer
  /// than it has: a learned table of positions is longer than a sequence.
  bool areFirstRows(uint32_t index, uint64_t elements) const {
    const auto &shape = buffer(index).shape();
    return shape.size() >= 2 && elements > 0 && elements < elementsOf(index) &&
           elements % uint64_t(shape[shape.size() - 1]) == 0;
  }

  /// Whether buffer `index` holds just `elements` of a type among `types`.
  void checkOperand(const char *role, uint32_t index, uint64_t elements,
                    const std::set<DType> &types) {
    const Buffer &b = buffer(index);
    if (!types.count(b.dtype()))
      return add(formatText("operand %s, buffer %u, has elements of type %s, "
                            "which it does not take",
                            role, index, dataTypeName(b.dtype())));
    if (elementsOf(index) != elements)
      add(formatText("operand %s, buffer %u, has %llu elements, %llu are "
                     "needed",
                     role, index, wide(elementsOf(index)), wide(elements)));
  }

  /// Whether buffer `index`, of any type, has just so many bytes.
  void checkBytes(const std::string &operand, uint32_t index, uint64_t needed) {
    const Buffer &b = buffer(index);
    if (uint64_t bytes = elementsOf(index) * dataTypeBytes(b.dtype());
        bytes != needed)
      add(formatText("%s, buffer %u, has %llu bytes, %llu are needed",
                     operand.c_str(), index, wide(bytes), wide(needed)));
  }

  void checkScalars(
      const google::protobuf::RepeatedPtrField<program::Scalar> &scalars) {
    for (const program::Scalar &scalar : scalars)
      if (scalar.kind_case() == program::Scalar::KIND_NOT_SET ||
          (scalar.has_step() && (!program::Scalar_Step_IsValid(scalar.step()) ||
                                 scalar.step() == program::Scalar::NONE)))
        return add("has a scalar of no known kind");
  }

  void checkAccumulate(program::Accumulate accumulate) {
    if (!program::Accumulate_IsValid(accumulate))
      add(formatText("accumulates in no known way (%d)", int(accumulate)));
  }

  void checkLaunch(const program::Launch &launch) {
    if (launch.kernel() >= uint32_t(program.kernels_size()))
      return addName(formatText("launches kernel %u, there are %d",
                                launch.kernel(), program.kernels_size()));
    const program::Kernel &kernel = program.kernels(int(launch.kernel()));
    if (launch.buffers_size() != kernel.operands_size() ||
        uint32_t(launch.scalars_size()) != kernel.scalars())
      return add(formatText("passes %d buffers and %d scalars, kernel '%s' "
                            "takes %d and %u",
                            launch.buffers_size(), launch.scalars_size(),
                            kernel.name().c_str(), kernel.operands_size(),
                            kernel.scalars()));
    checkScalars(launch.scalars());
    for (int i = 0; i < launch.buffers_size(); ++i) {
      const program::Kernel::Operand &operand = kernel.operands(i);
      uint32_t buffer = launch.buffers(i);
      bool isPart = operand.access() == program::READ &&
                    areFirstRows(buffer, operand.elements());
      checkOperand(std::to_string(i).c_str(), buffer,
                   isPart ? elementsOf(buffer) : operand.elements(),
                   {operand.dtype()});
    }
    if (kernel.accumulates())
      checkAccumulateScalar(launch.scalars(3));
  }

  /// 0, 1, or 1 but for the first microbatch.
  void checkAccumulateScalar(const program::Scalar &scalar) {
    bool constant = scalar.has_constant() &&
                    (scalar.constant() == 0 || scalar.constant() == 1);
    bool first = scalar.step() == program::Scalar::NOT_FIRST_MICROBATCH &&
                 scalar.multiplier() <= 1 && scalar.multiplier() >= 0 &&
                 scalar.addend() == 0;
    if (!constant && !first)
      add("accumulates in no known way");
  }

  void checkGemm(const program::Gemm &gemm) {
    static const std::set<DType> floating = {program::F32, program::BF16,
                                             program::F16};
    constexpr uint64_t limit = (uint64_t(1) << 31) - 1;
    uint64_t m = gemm.m(), n = gemm.n(), k = gemm.k();
    if (m == 0 || n == 0 || k == 0 || m > limit || n > limit || k > limit)
      return add(formatText("gemm of %llu x %llu x %llu; each must be from 1 "
                            "to 2^31 - 1",
                            wide(m), wide(n), wide(k)));
    bool aliased =
        gemm.d() == gemm.a() || gemm.d() == gemm.b() ||
        (gemm.has_bias() && gemm.d() == gemm.bias()) ||
        (gemm.has_auxiliary() && gemm.d() == gemm.auxiliary()) ||
        (gemm.has_preactivation() && gemm.d() == gemm.preactivation()) ||
        (gemm.has_bias_gradient() && gemm.d() == gemm.bias_gradient()) ||
        (gemm.has_scale_a() && gemm.d() == gemm.scale_a()) ||
        (gemm.has_scale_b() && gemm.d() == gemm.scale_b());
    if (aliased)
      add("gemm's result is one of its inputs");
    checkOperandTypes(gemm);
    checkOperand("d", gemm.d(), m * n, floating);
    if (gemm.has_bias())
      checkOperand("bias", gemm.bias(), n, floating);
    if (gemm.has_auxiliary())
      checkOperand("auxiliary", gemm.auxiliary(), m * n, floating);
    if (gemm.has_residual())
      checkOperand("residual", gemm.residual(), m * n, floating);
    kernels::Epilogue epilogue = kernels::Epilogue::None;
    if (!kernels::parseEpilogue(gemm.epilogue(), epilogue))
      add("gemm has an unknown epilogue '" + gemm.epilogue() + "'");
    checkGradients(gemm, epilogue != kernels::Epilogue::None);
    checkAccumulate(gemm.accumulate());
  }

  /// What only GEMMs of a backward pass have.
  void checkGradients(const program::Gemm &gemm, bool activates) {
    static const std::set<DType> floating = {program::F32, program::BF16,
                                             program::F16};
    bool adds = gemm.has_bias() || gemm.has_residual() || gemm.has_auxiliary();
    if (gemm.has_preactivation()) {
      if (!activates || adds || gemm.accumulate() != program::OVERWRITE)
        add("gemm has a preactivation without an epilogue, or adds something");
      checkOperand("preactivation", gemm.preactivation(), gemm.m() * gemm.n(),
                   floating);
    }
    if (gemm.has_bias_gradient()) {
      if (activates || adds)
        add("gemm has a bias gradient beside an epilogue or what it adds");
      checkOperand("bias gradient", gemm.bias_gradient(), gemm.m(), floating);
    }
  }

  /// A and B, which must go together, and their scales.
  void checkOperandTypes(const program::Gemm &gemm) {
    static const std::set<DType> types = {program::F32, program::BF16,
                                          program::F16, program::F8_E4M3,
                                          program::F8_E5M2};
    DType a = buffer(gemm.a()).dtype();
    DType b = !gemm.b_packed() ? buffer(gemm.b()).dtype()
              : gemm.b_type() == program::DTYPE_UNSPECIFIED ? a
                                                            : gemm.b_type();
    if (types.count(a) && types.count(b))
      if (kernels::KernelError error = kernels::checkOperandTypes(
              kernels::DType(int(a)), kernels::DType(int(b))))
        add(std::string("gemm: ") + error);
    checkOperand("a", gemm.a(), gemm.m() * gemm.k(), types);
    if (gemm.b_packed())
      checkPacked(gemm, b);
    else
      checkOperand("b", gemm.b(), gemm.k() * gemm.n(), types);
    bool scales = gemm.has_scale_a() || gemm.has_scale_b();
    if (scales && !kernels::isF8(kernels::DType(int(a))))
      add("gemm has scales for operands that are not of 8 bits");
    if (gemm.has_scale_a())
      checkOperand("scale_a", gemm.scale_a(), 1, {program::F32});
    if (gemm.has_scale_b())
      checkOperand("scale_b", gemm.scale_b(), 1, {program::F32});
  }

  void checkPacked(const program::Gemm &gemm, DType type) {
    if (type != program::F32 && type != program::BF16 && type != program::F16)
      return add("packed operand b has no floating type");
    int64_t needed = kernels::packedBytes(kernels::DType(int(type)),
                                          int64_t(gemm.n()), int64_t(gemm.k()));
    checkBytes("packed operand b", gemm.b(), uint64_t(needed));
    if (buffer(gemm.b()).dtype() != program::U8)
      add(formatText("packed operand b, buffer %u, has elements of type "
                     "%s, not bytes",
                     gemm.b(), dataTypeName(buffer(gemm.b()).dtype())));
  }

  void checkLibrary(const program::Library &library) {
    const kernels::LibraryOp *op = kernels::findLibraryOp(library.op());
    if (!op) {
      std::vector<std::string> names;
      for (const kernels::LibraryOp &known : kernels::libraryOps())
        names.emplace_back(known.name);
      std::vector<std::string> near = nearestNames(library.op(), names, 1);
      return addName("calls an unknown library op '" + library.op() + "'" +
                     (near.empty()
                          ? ""
                          : "; did the compiler mean '" + near.front() + "'?"));
    }
    checkScalars(library.scalars());
    checkAccumulate(library.accumulate());
    if (!op->accumulates && library.accumulate() != program::OVERWRITE)
      add("library op '" + library.op() + "' never adds to its result");
    std::vector<int64_t> bytes(size_t(library.buffers_size()));
    kernels::KernelError error = kernels::requiredBytes(
        *op, std::span(library.integers().data(), library.integers_size()),
        std::span(library.floats().data(), library.floats_size()),
        size_t(library.scalars_size()), bytes);
    if (error)
      return add("library op '" + library.op() + "': " + error);
    for (int i = 0; i < library.buffers_size(); ++i) {
      uint64_t needed = uint64_t(bytes[size_t(i)]);
      uint64_t width = dataTypeBytes(buffer(library.buffers(i)).dtype());
      bool isPart = i == 0 && library.op() == "slice_shard" && width > 0 &&
                    needed % width == 0 &&
                    areFirstRows(library.buffers(i), needed / width);
      if (!isPart)
        checkBytes(
            formatText("library op '%s': operand %d", library.op().c_str(), i),
            library.buffers(i), needed);
    }
  }

  /// What the training loop knows by name as a number is one.
  void checkHost(const program::Host &host) {
    static const std::set<std::string> numbers = {
        "learning_rate", "microbatches", "loss",
        "grad_norm",     "loss_scale",   "skipped"};
    if (host.name().empty())
      add("moves host data without a name");
    if (!program::Host::Direction_IsValid(host.direction()))
      add(formatText("moves host data in no known direction (%d)",
                     int(host.direction())));
    if (isRowOfEachLabel(host.name()))
      checkOperand(host.name().c_str(), host.buffer(),
                   elementsOf(host.buffer()),
                   {program::F32, program::BF16, program::F16});
    if (numbers.count(host.name()))
      checkOperand(host.name().c_str(), host.buffer(), 1, {program::F32});
    if (isNumberOfEachLabel(host.name()))
      checkOperand(host.name().c_str(), host.buffer(),
                   elementsOf(host.buffer()), {program::F32});
  }

  void checkCopy(const program::Copy &copy) {
    if (buffer(copy.from()).bytes() != buffer(copy.to()).bytes())
      add(formatText("copies %llu bytes into %llu",
                     wide(buffer(copy.from()).bytes()),
                     wide(buffer(copy.to()).bytes())));
    if (copy.from() == copy.to())
      add("copies a buffer onto itself");
  }

  void checkEvent(uint32_t event) {
    if (event >= r.events())
      addName(formatText("names event %u, there are %u", event, r.events()));
  }

  const program::Program &program;
  int role;
  const Role &r;
  const ProgramPlace *place = nullptr;
  FaultList &faults;
};
} // namespace

void hocket::checkInstructions(const program::Program &program, int role,
                               FaultList &faults) {
  InstructionChecker(program, role, faults).run();
}
