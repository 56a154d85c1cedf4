//===- PickleOpcodes.cpp - What each opcode does --------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/megatron/PickleMachine.h"

#include <bit>
#include <utility>

using namespace hocket;
using namespace hocket::megatron;

//===----------------------------------------------------------------------===//
// Scalars and text
//===----------------------------------------------------------------------===//

Status PickleMachine::stepScalar(uint8_t opcode, bool &done) {
  uint64_t number;
  switch (opcode) {
  case 'N':
    return pushConstant(Kind::None, 0);
  case 0x88: // NEWTRUE
    return pushConstant(Kind::Bool, 1);
  case 0x89: // NEWFALSE
    return pushConstant(Kind::Bool, 0);
  case 'J': // BININT
    HOCKET_RETURN_IF_ERROR(takeNumber(4, number));
    return pushInteger(int32_t(uint32_t(number)));
  case 'K': // BININT1
    HOCKET_RETURN_IF_ERROR(takeNumber(1, number));
    return pushInteger(int64_t(number));
  case 'M': // BININT2
    HOCKET_RETURN_IF_ERROR(takeNumber(2, number));
    return pushInteger(int64_t(number));
  case 0x8a: // LONG1
    HOCKET_RETURN_IF_ERROR(takeNumber(1, number));
    return pushLong(number);
  case 0x8b: // LONG4
    HOCKET_RETURN_IF_ERROR(takeNumber(4, number));
    return pushLong(number);
  case 'G': { // BINFLOAT, big-endian
    HOCKET_RETURN_IF_ERROR(takeNumber(8, number));
    Value *value;
    HOCKET_RETURN_IF_ERROR(push(Kind::Float, &value));
    value->real = std::bit_cast<double>(__builtin_bswap64(number));
    return okStatus();
  }
  default:
    done = false;
    return okStatus();
  }
}

Status PickleMachine::stepText(uint8_t opcode, bool &done) {
  switch (opcode) {
  case 'X': // BINUNICODE
  case 'T': // BINSTRING
    return pushText(Kind::String, 4);
  case 0x8c: // SHORT_BINUNICODE
  case 'U':  // SHORT_BINSTRING
    return pushText(Kind::String, 1);
  case 0x8d: // BINUNICODE8
    return pushText(Kind::String, 8);
  case 'C': // SHORT_BINBYTES
    return pushText(Kind::Bytes, 1);
  case 'B': // BINBYTES
    return pushText(Kind::Bytes, 4);
  case 0x8e: // BINBYTES8
  case 0x96: // BYTEARRAY8
    return pushText(Kind::Bytes, 8);
  default:
    done = false;
    return okStatus();
  }
}

//===----------------------------------------------------------------------===//
// Containers
//===----------------------------------------------------------------------===//

Status PickleMachine::pushContainer(Kind kind, Items &&items) {
  Value *value;
  HOCKET_RETURN_IF_ERROR(push(kind, &value));
  return addTo(value, items, kind == Kind::Dict);
}

Status PickleMachine::pushTuple(size_t count) {
  Items items(count);
  for (size_t i = count; i-- > 0;)
    HOCKET_RETURN_IF_ERROR(pop(items[i]));
  return pushContainer(Kind::Tuple, std::move(items));
}

Status PickleMachine::stepContainer(uint8_t opcode, bool &done) {
  auto fromMark = [&](Kind kind) -> Status {
    Items items;
    HOCKET_RETURN_IF_ERROR(popToMark(items));
    return pushContainer(kind, std::move(items));
  };
  switch (opcode) {
  case ']':
    return push(Kind::List);
  case ')':
    return push(Kind::Tuple);
  case '}':
    return push(Kind::Dict);
  case 0x8f: // EMPTY_SET
    return push(Kind::Set);
  case 'l':
    return fromMark(Kind::List);
  case 't':
    return fromMark(Kind::Tuple);
  case 'd':
    return fromMark(Kind::Dict);
  case 0x91: // FROZENSET
    return fromMark(Kind::Set);
  case 0x85: // TUPLE1
  case 0x86:
  case 0x87:
    return pushTuple(opcode - size_t{0x84});
  default:
    done = false;
    return okStatus();
  }
}

/// A call may make a list or a dict, and be filled as one.
Status PickleMachine::addTo(Value *container, const Items &items, bool pairs) {
  bool isCall = container->is(Kind::Call);
  bool fits = pairs ? container->is(Kind::Dict)
                    : container->is(Kind::List) || container->is(Kind::Set) ||
                          container->is(Kind::Tuple);
  if (!isCall && !fits)
    return wrong("items are put into " + describe(*container));
  if (pairs && items.size() % 2)
    return wrong("a key without a value");
  container->items.insert(container->items.end(), items.begin(), items.end());
  return okStatus();
}

/// Items on the stack go into the container below them.
Status PickleMachine::stepFill(uint8_t opcode, bool &done) {
  bool pairs = opcode == 's' || opcode == 'u';
  Items items;
  switch (opcode) {
  case 'a': // APPEND
    items.resize(1);
    break;
  case 's': // SETITEM
    items.resize(2);
    break;
  case 'e':  // APPENDS
  case 'u':  // SETITEMS
  case 0x90: // ADDITEMS
    HOCKET_RETURN_IF_ERROR(popToMark(items));
    break;
  default:
    done = false;
    return okStatus();
  }
  if (opcode == 'a' || opcode == 's')
    for (size_t i = items.size(); i-- > 0;)
      HOCKET_RETURN_IF_ERROR(pop(items[i]));
  Value *container;
  HOCKET_RETURN_IF_ERROR(top(container));
  return addTo(container, items, pairs);
}

//===----------------------------------------------------------------------===//
// Memo, marks and frames
//===----------------------------------------------------------------------===//

/// A writer numbers what it remembers in order.
Status PickleMachine::remember(uint64_t index) {
  Value *value;
  HOCKET_RETURN_IF_ERROR(top(value));
  if (index > memo.size())
    return wrong("memo " + std::to_string(index) + " is written before memo " +
                 std::to_string(memo.size()));
  if (index == memo.size())
    memo.push_back(value);
  else
    memo[index] = value;
  return okStatus();
}

Status PickleMachine::recall(uint64_t index) {
  if (index >= memo.size())
    return wrong("memo " + std::to_string(index) + " is read and was never " +
                 "written");
  stack.push_back(memo[index]);
  return okStatus();
}

Status PickleMachine::stepMemo(uint8_t opcode, bool &done) {
  uint64_t number;
  Value *value;
  Items items;
  switch (opcode) {
  case 'h': // BINGET
  case 'j': // LONG_BINGET
    HOCKET_RETURN_IF_ERROR(takeNumber(opcode == 'h' ? 1 : 4, number));
    return recall(number);
  case 'q': // BINPUT
  case 'r': // LONG_BINPUT
    HOCKET_RETURN_IF_ERROR(takeNumber(opcode == 'q' ? 1 : 4, number));
    return remember(number);
  case 0x94: // MEMOIZE
    return remember(memo.size());
  case '(':
    marks.push_back(stack.size());
    return okStatus();
  case '0':
    return pop(value);
  case '1': // POP_MARK
    return popToMark(items);
  case '2': // DUP
    HOCKET_RETURN_IF_ERROR(top(value));
    stack.push_back(value);
    return okStatus();
  case 0x80: // PROTO
    HOCKET_RETURN_IF_ERROR(takeNumber(1, number));
    return number >= 2 && number <= 5
               ? okStatus()
               : wrong("protocol " + std::to_string(number) +
                       ", where 2 to 5 are read");
  case 0x95: // FRAME: how far a reader may read ahead.
    return takeNumber(8, number);
  case '.':
    stopped = true;
    return top(value);
  default:
    done = false;
    return okStatus();
  }
}

//===----------------------------------------------------------------------===//
// Names and calls, none of which is made
//===----------------------------------------------------------------------===//

Status PickleMachine::pushGlobal(std::string_view module,
                                 std::string_view name) {
  std::string global = std::string(module) + " " + std::string(name);
  if (!isKnownGlobal(global))
    return wrong("it names '" + std::string(module) + "." + std::string(name) +
                 "', which no checkpoint of Megatron-LM needs; nothing of it "
                 "was run. If you trust the file, save it again without that "
                 "object");
  Value *value;
  HOCKET_RETURN_IF_ERROR(push(Kind::Global, &value));
  value->text = std::move(global);
  return okStatus();
}

Status PickleMachine::pushCall(bool withKeywords) {
  Value *keywords = nullptr, *arguments, *callee, *call;
  if (withKeywords)
    HOCKET_RETURN_IF_ERROR(pop(keywords));
  HOCKET_RETURN_IF_ERROR(pop(arguments));
  HOCKET_RETURN_IF_ERROR(pop(callee));
  if (!arguments->is(Kind::Tuple))
    return wrong("a call with " + describe(*arguments) + " for its arguments");
  HOCKET_RETURN_IF_ERROR(push(Kind::Call, &call));
  // What a call gives, e.g. an enum's value, may be called only by Python.
  if (!callee->is(Kind::Global))
    return wrong("a call of " + describe(*callee));
  call->callee = callee;
  call->arguments = arguments;
  call->state = keywords;
  return okStatus();
}

Status PickleMachine::build() {
  Value *state, *object;
  HOCKET_RETURN_IF_ERROR(pop(state));
  HOCKET_RETURN_IF_ERROR(top(object));
  if (!object->is(Kind::Call))
    return wrong("a state is given to " + describe(*object));
  object->state = state;
  return okStatus();
}

Status PickleMachine::stepObject(uint8_t opcode, bool &done) {
  std::string_view module, name;
  Value *first, *second;
  switch (opcode) {
  case 'c': // GLOBAL
    HOCKET_RETURN_IF_ERROR(takeLine(module));
    HOCKET_RETURN_IF_ERROR(takeLine(name));
    return pushGlobal(module, name);
  case 0x93: // STACK_GLOBAL
    HOCKET_RETURN_IF_ERROR(pop(second));
    HOCKET_RETURN_IF_ERROR(pop(first));
    if (!first->is(Kind::String) || !second->is(Kind::String))
      return wrong("a name that is no text");
    return pushGlobal(first->text, second->text);
  case 'R':  // REDUCE
  case 0x81: // NEWOBJ
    return pushCall(false);
  case 0x92: // NEWOBJ_EX
    return pushCall(true);
  case 'b': // BUILD
    return build();
  case 'Q': // BINPERSID
    HOCKET_RETURN_IF_ERROR(pop(first));
    HOCKET_RETURN_IF_ERROR(push(Kind::Persistent, &second));
    second->arguments = first;
    return okStatus();
  default:
    done = false;
    return okStatus();
  }
}
