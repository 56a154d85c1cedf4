//===- CheckExplanation.cpp - Checks of what is for people ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/Format.h"
#include "runtime/program/DataType.h"
#include "runtime/program/FaultList.h"

using namespace hocket;
using program::Explanation;
using program::Program;

static bool axesExist(const Program &program,
                      const google::protobuf::RepeatedField<uint32_t> &axes) {
  for (uint32_t axis : axes)
    if (axis >= uint32_t(program.mesh().axes_size()))
      return false;
  return true;
}

static void checkTensor(const Program &program, int index, FaultList &faults) {
  const Explanation::Tensor &tensor = program.explanation().tensors(index);
  std::string place = formatText("explanation of tensor %d", index);
  auto texts = uint32_t(program.explanation().texts_size());
  for (uint32_t text : {tensor.name(), tensor.kind(), tensor.where(),
                        tensor.source(), tensor.why()})
    if (text > texts)
      faults.add(ProgramRule::Explanation, place,
                 formatText("names text %u, there are %u", text, texts));
  if (tensor.local_shape_size() != tensor.shape_size() ||
      tensor.dims_size() != tensor.shape_size())
    faults.add(ProgramRule::Explanation, place,
               formatText("shapes of %d and %d dims, axes of %d",
                          tensor.shape_size(), tensor.local_shape_size(),
                          tensor.dims_size()));
  bool sound = axesExist(program, tensor.partial());
  for (const auto &dim : tensor.dims())
    sound &= axesExist(program, dim.axes());
  if (!sound)
    faults.add(ProgramRule::Explanation, place,
               "names an axis that the mesh lacks");
  if (!tensorBytes(tensor.shape(), tensor.dtype()) ||
      !tensorBytes(tensor.local_shape(), tensor.dtype()))
    faults.add(ProgramRule::Explanation, place, "has more than 2^64 bytes");
}

void hocket::checkExplanation(const Program &program, FaultList &faults) {
  for (int i = 0; i < program.explanation().tensors_size(); ++i)
    checkTensor(program, i, faults);
  auto texts = uint32_t(program.explanation().texts_size());
  for (int r = 0; r < program.roles_size(); ++r)
    for (int s = 0; s < program.roles(r).sequences_size(); ++s) {
      const auto &sequence = program.roles(r).sequences(s);
      for (int i = 0; i < sequence.instructions_size(); ++i)
        if (uint32_t why = sequence.instructions(i).why(); why > texts)
          faults.add(ProgramRule::Explanation,
                     ProgramPlace{program, r, s, i}.text(),
                     formatText("names text %u, there are %u", why, texts));
    }
}
