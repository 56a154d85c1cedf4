//===- Render.cpp - What a template prints --------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/chat/Render.h"

#include <algorithm>
#include <utility>

using namespace hocket;
using namespace hocket::chat;

static constexpr uint64_t mostSteps = 2'000'000;
/// Of one text, and of all that are made on the way.
static constexpr size_t mostBytes = size_t(8) << 20;
static constexpr uint64_t mostMade = uint64_t(1) << 30;
static constexpr int mostLevels = 64;

const Value *Arguments::find(size_t index, std::string_view name) const {
  if (index < byPosition.size())
    return &byPosition[index];
  for (const auto &[given, value] : byName)
    if (given == name)
      return &value;
  return nullptr;
}

Renderer::Renderer(const std::string &file, Members globals) : file(file) {
  scopes.push_back(std::move(globals));
}

//===----------------------------------------------------------------------===//
// Bounds and names
//===----------------------------------------------------------------------===//

Status Renderer::wrong(const Place &place, const std::string &message) const {
  return invalidArgument(file + ":" + std::to_string(place.line) + ":" +
                         std::to_string(place.column) + ": " + message);
}

Status Renderer::countStep(const Place &place) {
  if (++steps <= mostSteps)
    return okStatus();
  return wrong(place, "the template takes more than " +
                          std::to_string(mostSteps) + " steps");
}

Status Renderer::checkSize(const Place &place, size_t bytes) const {
  if (bytes <= mostBytes)
    return okStatus();
  return wrong(place, "the template makes more than " +
                          std::to_string(mostBytes >> 20) + " MiB of text");
}

Status Renderer::countBytes(const Place &place, size_t bytes) {
  made += bytes;
  if (made <= mostMade)
    return checkSize(place, bytes);
  return wrong(place, "the template makes more than " +
                          std::to_string(mostMade >> 20) +
                          " MiB of text on the way");
}

Status Renderer::print(std::string_view text, const Place &place) {
  out.text += text;
  return checkSize(place, out.text.size());
}

const Value *Renderer::variable(std::string_view name) const {
  for (size_t i = scopes.size(); i-- > 0;)
    for (const auto &[known, value] : scopes[i])
      if (known == name)
        return &value;
  return nullptr;
}

void Renderer::assign(const std::string &name, Value value) {
  for (auto &[known, old] : scopes.back())
    if (known == name) {
      old = std::move(value);
      return;
    }
  scopes.back().emplace_back(name, std::move(value));
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

StatusOr<Renderer::Flow> Renderer::runBody(const Body &body) {
  for (const auto &statement : body) {
    HOCKET_ASSIGN_OR_RETURN(Flow flow, runStatement(*statement));
    if (flow != Flow::Next)
      return flow;
  }
  return Flow::Next;
}

StatusOr<Renderer::Flow> Renderer::runStatement(const Statement &statement) {
  using Kind = Statement::Kind;
  HOCKET_RETURN_IF_ERROR(countStep(statement.place));
  switch (statement.kind) {
  case Kind::Text:
    HOCKET_RETURN_IF_ERROR(print(statement.text, statement.place));
    return Flow::Next;
  case Kind::Output: {
    HOCKET_ASSIGN_OR_RETURN(Value value, evaluate(*statement.expressions[0]));
    HOCKET_RETURN_IF_ERROR(print(value.text(), statement.place));
    return Flow::Next;
  }
  case Kind::If: {
    for (size_t i = 0; i < statement.expressions.size(); ++i) {
      HOCKET_ASSIGN_OR_RETURN(Value value, evaluate(*statement.expressions[i]));
      if (value.isTrue())
        return runBody(statement.bodies[i]);
    }
    if (statement.bodies.size() > statement.expressions.size())
      return runBody(statement.bodies.back());
    return Flow::Next;
  }
  case Kind::For:
    return runFor(statement);
  case Kind::Set:
    HOCKET_RETURN_IF_ERROR(runSet(statement));
    return Flow::Next;
  case Kind::Macro: {
    auto macro = std::make_shared<MacroValue>();
    macro->definition = &statement;
    assign(statement.names.front(), Value::macro(std::move(macro)));
    return Flow::Next;
  }
  case Kind::Generation: {
    size_t begin = out.text.size();
    HOCKET_ASSIGN_OR_RETURN(Flow flow, runBody(statement.bodies.front()));
    out.generated.emplace_back(begin, out.text.size());
    return flow;
  }
  case Kind::Break:
    return Flow::Break;
  case Kind::Continue:
    return Flow::Continue;
  }
  return Flow::Next;
}

Status Renderer::bindTargets(const Statement &statement, const Value &item) {
  const std::vector<std::string> &names = statement.names;
  if (names.size() == 1) {
    assign(names.front(), item);
    return okStatus();
  }
  if (!item.isList() || item.items().size() != names.size())
    return wrong(statement.place, "cannot unpack " + item.kind() + " into " +
                                      std::to_string(names.size()) + " names");
  for (size_t i = 0; i < names.size(); ++i)
    assign(names[i], item.items()[i]);
  return okStatus();
}

/// What `loop` is, at the item `index` of `count`.
static Value loopOf(const Items &items, size_t index) {
  auto number = [](size_t value) { return Value(int64_t(value)); };
  size_t count = items.size();
  return Value::dict(
      {{"index", number(index + 1)},
       {"index0", number(index)},
       {"revindex", number(count - index)},
       {"revindex0", number(count - index - 1)},
       {"first", Value(index == 0)},
       {"last", Value(index + 1 == count)},
       {"length", number(count)},
       {"previtem",
        index > 0 ? items[index - 1] : Value(Undefined{"previtem"})},
       {"nextitem",
        index + 1 < count ? items[index + 1] : Value(Undefined{"nextitem"})}});
}

StatusOr<Renderer::Flow> Renderer::runFor(const Statement &statement) {
  HOCKET_ASSIGN_OR_RETURN(Value over, evaluate(*statement.expressions[0]));
  HOCKET_ASSIGN_OR_RETURN(Items all, itemsOf(*statement.expressions[0], over));
  Items items;
  scopes.emplace_back();
  auto leave = [&](StatusOr<Flow> result) {
    scopes.pop_back();
    return result;
  };
  for (Value &item : all) { // Those that the condition admits, first.
    if (const auto &condition = statement.expressions[1]) {
      Status bound = bindTargets(statement, item);
      if (!bound.ok())
        return leave(bound);
      auto admitted = evaluate(*condition);
      if (!admitted.ok())
        return leave(admitted.status());
      if (!admitted->isTrue())
        continue;
    }
    items.push_back(item);
  }
  for (size_t i = 0; i < items.size(); ++i) {
    scopes.back().clear(); // Each turn has names of its own.
    Status bound = bindTargets(statement, items[i]);
    if (!bound.ok())
      return leave(bound);
    assign("loop", loopOf(items, i));
    auto flow = runBody(statement.bodies.front());
    if (!flow.ok())
      return leave(flow);
    if (*flow == Flow::Break)
      break;
  }
  if (items.empty() && statement.bodies.size() > 1)
    return leave(runBody(statement.bodies[1]));
  return leave(Flow::Next);
}

StatusOr<std::string> Renderer::textOfBody(const Body &body,
                                           const Place &place) {
  size_t generated = out.generated.size();
  std::string before = std::exchange(out.text, "");
  auto flow = runBody(body);
  std::string text = std::exchange(out.text, std::move(before));
  HOCKET_RETURN_IF_ERROR(flow.status());
  if (out.generated.size() > generated)
    return wrong(place, "a generation block inside of a macro or of what is "
                        "set is not supported");
  return text;
}

Status Renderer::runSet(const Statement &statement) {
  Value value;
  if (!statement.expressions.empty()) {
    HOCKET_ASSIGN_OR_RETURN(value, evaluate(*statement.expressions[0]));
  } else {
    HOCKET_ASSIGN_OR_RETURN(
        std::string text,
        textOfBody(statement.bodies.front(), statement.place));
    value = Value(std::move(text));
  }
  if (statement.names.size() == 1) {
    assign(statement.names.front(), std::move(value));
    return okStatus();
  }
  const Value *space = variable(statement.names[0]);
  if (!space || !space->isNamespace())
    return wrong(statement.place, "'" + statement.names[0] +
                                      "' is no namespace, so that nothing in "
                                      "it can be set");
  for (auto &[name, old] : space->spaceMembers())
    if (name == statement.names[1]) {
      old = std::move(value);
      return okStatus();
    }
  space->spaceMembers().emplace_back(statement.names[1], std::move(value));
  return okStatus();
}

StatusOr<Value> Renderer::callMacro(const Statement &macro,
                                    const Arguments &arguments,
                                    const Place &place) {
  if (++level > mostLevels)
    return wrong(place, "macros call each other more than " +
                            std::to_string(mostLevels) + " levels deep");
  size_t count = macro.names.size() - 1;
  size_t firstDefault = count - macro.expressions.size();
  if (arguments.byPosition.size() > count)
    return wrong(place, "the macro '" + macro.names[0] + "' takes " +
                            std::to_string(count) + " arguments");
  Members own;
  for (size_t i = 0; i < count; ++i) {
    const std::string &name = macro.names[i + 1];
    if (const Value *given = arguments.find(i, name)) {
      own.emplace_back(name, *given);
    } else if (i >= firstDefault) {
      HOCKET_ASSIGN_OR_RETURN(Value value,
                              evaluate(*macro.expressions[i - firstDefault]));
      own.emplace_back(name, std::move(value));
    } else {
      own.emplace_back(name, Value(Undefined{name}));
    }
  }
  // A macro sees what the whole template has set, and its arguments.
  std::vector<Members> outer = std::exchange(scopes, {});
  scopes.push_back(outer.front());
  scopes.push_back(std::move(own));
  StatusOr<std::string> text = textOfBody(macro.bodies.front(), place);
  scopes = std::move(outer);
  --level;
  HOCKET_RETURN_IF_ERROR(text.status());
  return Value(*std::move(text));
}

StatusOr<Rendered> Renderer::run(const Body &body) {
  HOCKET_RETURN_IF_ERROR(runBody(body).status());
  return std::move(out);
}
