//===- PickleValue.cpp - Looking into a pickle's values -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/megatron/Pickle.h"

using namespace hocket;
using namespace hocket::megatron;
using Kind = PickleValue::Kind;

bool PickleValue::isMap() const {
  return kind == Kind::Dict || calls("collections OrderedDict") ||
         calls("collections defaultdict");
}

const PickleValue *PickleValue::find(std::string_view key) const {
  if (!isMap())
    return nullptr;
  for (size_t i = 0; i + 1 < items.size(); i += 2)
    if (items[i]->is(Kind::String) && items[i]->text == key)
      return items[i + 1];
  return nullptr;
}

const PickleValue *PickleValue::attribute(std::string_view name) const {
  return kind == Kind::Call && state ? state->find(name) : nullptr;
}

std::string megatron::describe(const PickleValue &value) {
  switch (value.kind) {
  case Kind::None:
    return "None";
  case Kind::Bool:
    return value.integer ? "True" : "False";
  case Kind::Int:
    return std::to_string(value.integer);
  case Kind::LargeInt:
    return "a number of more than 64 bits";
  case Kind::Float:
    return std::to_string(value.real);
  case Kind::String:
    return "'" + value.text.substr(0, 80) + "'";
  case Kind::Bytes:
    return "bytes";
  case Kind::List:
    return "a list";
  case Kind::Tuple:
    return "a tuple";
  case Kind::Set:
    return "a set";
  case Kind::Dict:
    return "a dict";
  case Kind::Global:
    return "the name '" + value.text + "'";
  case Kind::Call:
    return "an object of '" + value.callee->text + "'";
  case Kind::Persistent:
    return "a storage";
  }
  return "a value";
}
