//===- PickleMachine.cpp - The stack of a pickle and its bytes ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/megatron/PickleMachine.h"

#include "base/Format.h"

#include <algorithm>
#include <utility>

using namespace hocket;
using namespace hocket::megatron;

PickleMachine::PickleMachine(std::string_view bytes) : program(bytes) {}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

Status PickleMachine::wrong(const std::string &what) const {
  return dataLoss("byte " + std::to_string(at) + " of the pickle: " + what);
}

Status PickleMachine::take(uint64_t count, std::string_view &out) {
  if (count > program.size() - at)
    return wrong("the pickle is cut short");
  out = program.substr(at, count);
  at += count;
  return okStatus();
}

Status PickleMachine::takeNumber(int width, uint64_t &out) {
  std::string_view bytes;
  HOCKET_RETURN_IF_ERROR(take(uint64_t(width), bytes));
  out = 0;
  for (int i = width; i-- > 0;)
    out = out << 8 | uint8_t(bytes[size_t(i)]);
  return okStatus();
}

Status PickleMachine::takeLine(std::string_view &out) {
  size_t end = program.find('\n', at);
  if (end == std::string_view::npos)
    return wrong("the pickle is cut short");
  HOCKET_RETURN_IF_ERROR(take(end - at, out));
  ++at;
  return okStatus();
}

Status PickleMachine::pushText(Kind kind, int lengthWidth) {
  uint64_t length;
  std::string_view text;
  HOCKET_RETURN_IF_ERROR(takeNumber(lengthWidth, length));
  HOCKET_RETURN_IF_ERROR(take(length, text));
  Value *value;
  HOCKET_RETURN_IF_ERROR(push(kind, &value));
  value->text = text;
  return okStatus();
}

//===----------------------------------------------------------------------===//
// The stack
//===----------------------------------------------------------------------===//

Status PickleMachine::push(Kind kind, Value **made) {
  if (pickle.values.size() >= Pickle::kMostValues)
    return wrong("more than " + std::to_string(Pickle::kMostValues) +
                 " values");
  pickle.values.emplace_back().kind = kind;
  stack.push_back(&pickle.values.back());
  if (made)
    *made = stack.back();
  return okStatus();
}

/// What there are many of is one value each.
Status PickleMachine::pushConstant(Kind kind, int64_t integer) {
  size_t place = kind == Kind::None   ? 0
                 : kind == Kind::Bool ? 1 + size_t(integer)
                                      : 3 + size_t(integer);
  if (constants.empty())
    constants.resize(3 + 256);
  if (constants[place]) {
    stack.push_back(constants[place]);
    return okStatus();
  }
  HOCKET_RETURN_IF_ERROR(push(kind, &constants[place]));
  constants[place]->integer = integer;
  return okStatus();
}

Status PickleMachine::pushInteger(int64_t integer) {
  if (integer >= 0 && integer < 256)
    return pushConstant(Kind::Int, integer);
  Value *value;
  HOCKET_RETURN_IF_ERROR(push(Kind::Int, &value));
  value->integer = integer;
  return okStatus();
}

/// Two's complement of any length.
Status PickleMachine::pushLong(uint64_t bytes) {
  std::string_view digits;
  HOCKET_RETURN_IF_ERROR(take(bytes, digits));
  if (bytes > 8)
    return push(Kind::LargeInt);
  bool negative = bytes > 0 && (uint8_t(digits.back()) & 0x80);
  uint64_t value = negative ? ~uint64_t{0} : 0;
  for (uint64_t i = bytes; i-- > 0;)
    value = value << 8 | uint8_t(digits[i]);
  return pushInteger(int64_t(value));
}

Status PickleMachine::pop(Value *&value) {
  HOCKET_RETURN_IF_ERROR(top(value));
  stack.pop_back();
  return okStatus();
}

Status PickleMachine::top(Value *&value) {
  if (stack.empty() || (!marks.empty() && stack.size() <= marks.back()))
    return wrong("a value is used that is not there");
  value = stack.back();
  return okStatus();
}

Status PickleMachine::popToMark(Items &items) {
  if (marks.empty())
    return wrong("a mark is used that is not there");
  items.assign(stack.begin() + ptrdiff_t(marks.back()), stack.end());
  stack.resize(marks.back());
  marks.pop_back();
  return okStatus();
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

StatusOr<Pickle> PickleMachine::run() {
  if (program.size() > Pickle::kMostBytes)
    return dataLoss("a pickle of " + std::to_string(program.size()) +
                    " bytes, where at most " +
                    std::to_string(Pickle::kMostBytes) + " are read");
  while (!stopped) {
    std::string_view opcode;
    HOCKET_RETURN_IF_ERROR(take(1, opcode));
    HOCKET_RETURN_IF_ERROR(step(uint8_t(opcode.front())));
  }
  HOCKET_RETURN_IF_ERROR(checkTree());
  return std::move(pickle);
}

Status PickleMachine::step(uint8_t opcode) {
  using Step = Status (PickleMachine::*)(uint8_t, bool &);
  static constexpr Step steps[] = {
      &PickleMachine::stepScalar,    &PickleMachine::stepText,
      &PickleMachine::stepContainer, &PickleMachine::stepFill,
      &PickleMachine::stepMemo,      &PickleMachine::stepObject};
  for (Step each : steps) {
    bool done = true;
    HOCKET_RETURN_IF_ERROR((this->*each)(opcode, done));
    if (done)
      return okStatus();
  }
  --at;
  return wrong(formatText("opcode 0x%02x is none that torch.save writes",
                          unsigned(opcode)));
}

/// Child `index` of a value, or nullptr behind the last.
static const PickleValue *childOf(const PickleValue &value, size_t index) {
  if (index < value.items.size())
    return value.items[index];
  const PickleValue *rest[] = {value.arguments, value.state};
  size_t next = index - value.items.size();
  if (!value.arguments)
    ++next;
  return next < 2 ? rest[next] : nullptr;
}

Status PickleMachine::checkTree() {
  constexpr int32_t within = -1;
  struct Open {
    Value *value;
    size_t next;
    int32_t levels;
  };
  std::vector<Open> path = {{stack.back(), 0, 0}};
  path.back().value->levels = within;
  while (!path.empty()) {
    Open &open = path.back();
    // The machine owns every value.
    auto *child = const_cast<Value *>(childOf(*open.value, open.next++));
    if (!child) {
      int32_t levels = open.value->levels = open.levels + 1;
      path.pop_back();
      if (!path.empty())
        path.back().levels = std::max(path.back().levels, levels);
    } else if (child->levels == within) {
      return dataLoss("the pickle has a value that contains itself");
    } else if (child->levels > 0) {
      open.levels = std::max(open.levels, child->levels);
    } else {
      child->levels = within;
      path.push_back({child, 0, 0});
    }
    if (path.size() > Pickle::kMostDepth ||
        (!path.empty() && path.back().levels > Pickle::kMostDepth))
      return dataLoss("the pickle is nested deeper than " +
                      std::to_string(Pickle::kMostDepth) + " levels");
  }
  pickle.top = stack.back();
  return okStatus();
}

StatusOr<Pickle> Pickle::parse(std::string_view bytes) {
  return PickleMachine(bytes).run();
}
