//===- EmitParameters.cpp - The parameter table ---------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/targets/program/ProgramEmitter.h"

using namespace mlir;
using namespace hocket;

namespace {

/// The whole tensor's shape, of which a rank may hold a shard.
void setShape(exec::ParameterOp op,
              google::protobuf::RepeatedField<uint64_t> &shape) {
  auto type = cast<MemRefType>(op.getBuffer().getType());
  DenseI64ArrayAttr whole = op.getInfo().getShape();
  for (int64_t dim : whole ? whole.asArrayRef() : type.getShape())
    shape.Add(static_cast<uint64_t>(dim));
}

uint64_t elementsOf(const program::Parameter &parameter) {
  uint64_t product = 1; // X0 keeps it below 2^48
  for (uint64_t dim : parameter.shape())
    product *= dim;
  return product;
}

/// Where a rank's shard is, and which ranks hold the same one.
void emitShard(exec::ParameterOp op, GroupTable &groups,
               program::ParameterSlice &slice) {
  ArrayAttr axes = op.getInfo().getAxes();
  auto shape = cast<MemRefType>(op.getBuffer().getType()).getShape();
  for (auto [d, size] : llvm::enumerate(shape)) {
    slice.add_size(static_cast<uint64_t>(size));
    groups.setPlace(axes ? cast<ArrayAttr>(axes[d]) : ArrayAttr(), size,
                    *slice.add_start());
  }
  ArrayAttr replicas =
      groups.axesBeside(axes ? axes : ArrayAttr::get(op.getContext(), {}));
  if (!replicas.empty())
    slice.add_replicas(groups.indexOf(replicas));
}

void emitInitializer(exec::ParameterOp op, program::Initializer &initializer) {
  StringAttr kind = op.getInfo().getInit();
  initializer.set_kind(kind ? kind.getValue().str() : "zeros");
  FloatAttr value = op.getInfo().getValue();
  if (!value)
    return;
  if (initializer.kind() == "normal")
    initializer.set_stddev(value.getValueAsDouble());
  else
    initializer.set_value(value.getValueAsDouble());
}

/// The buffers of the role, numbered as they stand.
llvm::DenseMap<Value, uint32_t> numberBuffers(exec::RoleOp role) {
  llvm::DenseMap<Value, uint32_t> numbers;
  for (auto buffer : role.getBody().getOps<exec::BufferOp>())
    numbers[buffer.getResult()] = static_cast<uint32_t>(numbers.size());
  return numbers;
}

} // namespace

/// The parameters that the program has already, by name.
static llvm::StringMap<int> numberParameters(const program::Program &program) {
  llvm::StringMap<int> numbers;
  for (int i = 0; i < program.parameters_size(); ++i)
    numbers[program.parameters(i).name()] = i;
  return numbers;
}

static void addParameter(exec::ParameterOp op, program::Program &program) {
  auto type = cast<MemRefType>(op.getBuffer().getType());
  auto *parameter = program.add_parameters();
  parameter->set_name(op.getName().str());
  parameter->set_dtype(dtypeOf(type.getElementType()));
  setShape(op, *parameter->mutable_shape());
  emitInitializer(op, *parameter->mutable_initializer());
  if (IntegerAttr key = op.getInfo().getRandomKey())
    parameter->set_random_key(static_cast<uint32_t>(key.getInt()));
  parameter->set_weight_decay(bool(op.getInfo().getDecay()));
  parameter->set_frozen(bool(op.getInfo().getFrozen()));
  if (!op.getName().starts_with("state."))
    program.mutable_model()->set_parameter_count(
        program.model().parameter_count() + elementsOf(*parameter));
}

static void addSlot(exec::ParameterOp op, program::Parameter &parameter) {
  for (const auto &slot : parameter.slots())
    if (op.getState() == slot.name())
      return; // Another role has it too.
  auto *slot = parameter.add_slots();
  slot->set_name(op.getState().str());
  slot->set_dtype(
      dtypeOf(cast<MemRefType>(op.getBuffer().getType()).getElementType()));
  setShape(op, *slot->mutable_shape());
}

hocket::StageOwners hocket::findOwners(ModuleOp module) {
  StageOwners owners;
  for (auto [stage, role] : llvm::enumerate(module.getOps<exec::RoleOp>()))
    for (auto op : role.getBody().getOps<exec::ParameterOp>())
      if (op.getState() == "value")
        owners[op.getName()].push_back(static_cast<int64_t>(stage));
  return owners;
}

LogicalResult hocket::emitParameters(exec::RoleOp role,
                                     const StageOwners &owners,
                                     GroupTable &groups,
                                     program::Program &program) {
  auto numbers = numberBuffers(role);
  llvm::StringMap<int> indices = numberParameters(program);
  // Values first, so that each slot finds its parameter.
  for (bool values : {true, false})
    for (auto op : role.getBody().getOps<exec::ParameterOp>()) {
      if ((op.getState() == "value") != values)
        continue;
      if (values && !indices.count(op.getName())) {
        indices[op.getName()] = program.parameters_size();
        addParameter(op, program);
      }
      auto found = indices.find(op.getName());
      if (found == indices.end())
        return op.emitOpError("is a state of a parameter that has no value");
      if (!values)
        addSlot(op, *program.mutable_parameters(found->second));
      auto *slice =
          program.mutable_roles(program.roles_size() - 1)->add_slices();
      slice->set_parameter(static_cast<uint32_t>(found->second));
      slice->set_state(op.getState().str());
      slice->set_buffer(numbers.lookup(op.getBuffer()));
      emitShard(op, groups, *slice);
      auto stages = owners.find(op.getName());
      if (stages != owners.end() && stages->second.size() > 1)
        slice->add_replicas(groups.indexOf(
            groups.pipelineAxis(op.getContext(), stages->second)));
    }
  return success();
}
