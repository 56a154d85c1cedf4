//===- PickleMachine.h - The opcodes of a pickle ----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The stack machine behind Pickle.h. One object reads one pickle.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_MEGATRON_PICKLEMACHINE_H
#define HOCKET_RUNTIME_MEGATRON_PICKLEMACHINE_H

#include "runtime/megatron/Pickle.h"

namespace hocket::megatron {

class PickleMachine {
public:
  explicit PickleMachine(std::string_view bytes);

  /// Runs to the opcode that ends a pickle.
  StatusOr<Pickle> run();

private:
  using Value = PickleValue;
  using Kind = PickleValue::Kind;
  using Items = std::vector<PickleValue *>;

  // The program's bytes.
  Status wrong(const std::string &what) const;
  /// Takes the next `count` bytes.
  Status take(uint64_t count, std::string_view &out);
  /// Takes a little-endian number of `width` bytes.
  Status takeNumber(int width, uint64_t &out);
  /// Takes text or bytes, which have their length before them.
  Status pushText(Kind kind, int lengthWidth);
  Status takeLine(std::string_view &out);

  // The stack. Marks are places in it.
  Status push(Kind kind, Value **made = nullptr);
  Status pushInteger(int64_t integer);
  Status pushConstant(Kind kind, int64_t integer);
  Status pushLong(uint64_t bytes);
  Status pop(Value *&value);
  Status popToMark(Items &items);
  Status top(Value *&value);

  // Opcodes. Each says whether the opcode was one of its own in `done`.
  Status step(uint8_t opcode);
  Status stepScalar(uint8_t opcode, bool &done);
  Status stepText(uint8_t opcode, bool &done);
  Status stepContainer(uint8_t opcode, bool &done);
  Status stepFill(uint8_t opcode, bool &done);
  Status stepMemo(uint8_t opcode, bool &done);
  Status stepObject(uint8_t opcode, bool &done);

  Status pushContainer(Kind kind, Items &&items);
  Status pushTuple(size_t count);
  Status addTo(Value *container, const Items &items, bool pairs);
  Status remember(uint64_t index);
  Status recall(uint64_t index);
  Status pushGlobal(std::string_view module, std::string_view name);
  Status pushCall(bool withKeywords);
  Status build();

  /// That no value contains itself and none is nested too deeply.
  Status checkTree();

  std::string_view program;
  uint64_t at = 0;
  bool stopped = false;
  Pickle pickle;
  Items stack, memo;
  std::vector<size_t> marks;
  std::vector<Value *> constants; ///< None, False, True, 0 to 255.
};

} // namespace hocket::megatron

#endif // HOCKET_RUNTIME_MEGATRON_PICKLEMACHINE_H
