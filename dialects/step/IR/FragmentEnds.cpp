//===- FragmentEnds.cpp - Where a fragment's values come from -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/step/IR/FragmentEnds.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"

#include <optional>
#include <string>

using namespace hocket::step;
using namespace mlir;

//===----------------------------------------------------------------------===//
// Parser
//===----------------------------------------------------------------------===//

ParseResult hocket::step::parseKind(OpAsmParser &parser, FragmentKind &kind) {
  StringRef word;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return failure();
  std::optional<FragmentKind> known = symbolizeFragmentKind(word);
  if (!known)
    return parser.emitError(loc)
           << "expected F, B, W, U, E, P, L or D, found '" << word << "'";
  kind = *known;
  return success();
}

/// `1 tag 3`, behind `rank`.
static ParseResult parseLink(OpAsmParser &parser, Attribute &link) {
  int64_t rank = 0, tag = 0;
  if (parser.parseInteger(rank) || parser.parseKeyword("tag") ||
      parser.parseInteger(tag))
    return failure();
  link = LinkAttr::get(parser.getContext(), rank, tag);
  return success();
}

/// `"tokens" split [["dp"], []]`, behind `host`.
static ParseResult parseHost(OpAsmParser &parser, Attribute &source) {
  std::string name;
  ArrayAttr axes;
  if (parser.parseString(&name))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("split")) &&
      parser.parseAttribute(axes))
    return failure();
  source = HostAttr::get(parser.getContext(),
                         parser.getBuilder().getStringAttr(name), axes);
  return success();
}

/// `F result 2`.
static ParseResult parseSaved(OpAsmParser &parser, Attribute &source) {
  FragmentKind kind{};
  StringRef word;
  int64_t index = 0;
  if (parseKind(parser, kind))
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return failure();
  std::optional<FragmentEnd> end = symbolizeFragmentEnd(word);
  if (!end)
    return parser.emitError(loc)
           << "expected argument or result, found '" << word << "'";
  if (parser.parseInteger(index))
    return failure();
  source = SavedAttr::get(parser.getContext(), kind, *end, index);
  return success();
}

ParseResult hocket::step::parseSource(OpAsmParser &parser, Attribute &source) {
  if (succeeded(parser.parseOptionalKeyword("host")))
    return parseHost(parser, source);
  if (succeeded(parser.parseOptionalKeyword("rank")))
    return parseLink(parser, source);
  return parseSaved(parser, source);
}

ParseResult hocket::step::parseTarget(OpAsmParser &parser, Attribute &target) {
  target = parser.getBuilder().getUnitAttr();
  if (succeeded(parser.parseOptionalKeyword("kept")))
    return success();
  return failure(parser.parseKeyword("rank") || parseLink(parser, target));
}

//===----------------------------------------------------------------------===//
// Printer
//===----------------------------------------------------------------------===//

static void printLink(OpAsmPrinter &p, LinkAttr link) {
  p << "rank " << link.getRank() << " tag " << link.getTag();
}

void hocket::step::printSource(OpAsmPrinter &p, Attribute source) {
  llvm::TypeSwitch<Attribute>(source)
      .Case([&](HostAttr host) {
        p << "host " << host.getName();
        if (host.getAxes())
          p << " split " << host.getAxes();
      })
      .Case([&](LinkAttr link) { printLink(p, link); })
      .Case([&](SavedAttr saved) {
        p << stringifyFragmentKind(saved.getKind()) << ' '
          << stringifyFragmentEnd(saved.getEnd()) << ' ' << saved.getIndex();
      });
}

void hocket::step::printTarget(OpAsmPrinter &p, Attribute target) {
  if (auto link = dyn_cast<LinkAttr>(target))
    printLink(p, link);
  else
    p << "kept";
}

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

/// Whether `dim` is a list of names.
static bool areNames(Attribute dim) {
  auto names = dyn_cast<ArrayAttr>(dim);
  return names && llvm::all_of(names, llvm::IsaPred<StringAttr>);
}

static LogicalResult verifySplit(Operation *op, StringRef rule, Type type,
                                 Attribute source) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return op->emitOpError(rule) << ": takes " << type << ", no tensor";
  auto host = dyn_cast<HostAttr>(source);
  ArrayAttr axes = host ? host.getAxes() : ArrayAttr();
  if (!axes)
    return success();
  if (!llvm::all_of(axes, areNames))
    return op->emitOpError(rule)
           << ": `split` has the names of axes of each dim, not " << axes;
  if (static_cast<int64_t>(axes.size()) != tensor.getRank())
    return op->emitOpError(rule)
           << ": has " << axes << " for the dims of " << type;
  return success();
}

LogicalResult hocket::step::verifyEnds(Operation *op, StringRef rule,
                                       FunctionType type, ArrayAttr sources,
                                       ArrayAttr targets) {
  if (sources.size() != type.getNumInputs() ||
      targets.size() != type.getNumResults())
    return op->emitOpError(rule)
           << ": has " << sources.size() << " sources of "
           << type.getNumInputs() << " arguments and " << targets.size()
           << " targets of " << type.getNumResults() << " results";
  for (auto [input, source] : llvm::zip(type.getInputs(), sources))
    if (failed(verifySplit(op, rule, input, source)))
      return failure();
  return success();
}
