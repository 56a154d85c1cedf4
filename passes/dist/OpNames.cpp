//===- OpNames.cpp - A name for every op ----------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/dist/OpNames.h"

#include "passes/dist/ValueNames.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::dist;

/// A word for files whose words end at blanks.
static std::string plain(StringRef text) {
  std::string word = text.str();
  for (char &c : word)
    if (!llvm::isAlnum(c) && !StringRef("_.*-$").contains(c))
      c = '_';
  return word;
}

std::string OpNames::prefixOf(func::FuncOp function) {
  return plain(function.getSymName()) + "/";
}

OpNames::OpNames(ModuleOp module) {
  std::map<std::string, int64_t> counts;
  for (auto function : module.getOps<func::FuncOp>())
    function.walk([&](xf::ShardableOpInterface op) {
      std::string name = prefixOf(function);
      if (StringRef place = nameOfPlace(op->getLoc()); !place.empty())
        name += plain(place) + "/";
      name += op->getName().stripDialect();
      if (int64_t number = ++counts[name]; number > 1)
        name += "@" + std::to_string(number);
      ops.emplace(name, op);
      names.try_emplace(op, std::move(name));
    });
}

Operation *OpNames::find(const std::string &name) const {
  auto found = ops.find(name);
  return found == ops.end() ? nullptr : found->second;
}

StringRef hocket::dist::parameterOf(xf::VariableOp variable) {
  return variable.getOf().value_or(variable.getSymName());
}

ParameterNames::ParameterNames(ModuleOp module) {
  for (auto variable : module.getOps<xf::VariableOp>()) {
    if (variable.getKind() != xf::VariableKind::Parameter)
      continue;
    Type type = variable.getWholeType();
    auto [known, isNew] =
        types.try_emplace(nameOfAnyLayer(variable.getSymName()), type);
    if (!isNew && known->second != type)
      known->second = {};
  }
}

std::string ParameterNames::of(xf::VariableOp variable) const {
  StringRef name = parameterOf(variable);
  std::string shared = nameOfAnyLayer(name);
  auto found = types.find(shared);
  return found != types.end() && !found->second ? name.str() : shared;
}
