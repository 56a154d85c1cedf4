//===- KernFragment.cpp - The parts of a step -----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Parser, printer and verifier of `kern.fragment`.
///
//===----------------------------------------------------------------------===//

#include "dialects/kern/IR/Kern.h"

#include "dialects/step/IR/FragmentEnds.h"

using namespace hocket::kern;
using namespace mlir;
namespace step = hocket::step;

//===----------------------------------------------------------------------===//
// Parser
//===----------------------------------------------------------------------===//

/// `from host "tokens"`, `from rank 1 tag 3` or `from F result 2`.
static ParseResult parseFrom(OpAsmParser &parser, Attribute &source) {
  return failure(parser.parseKeyword("from") ||
                 step::parseSource(parser, source));
}

/// `to rank 1 tag 3`, which may be absent.
static ParseResult parseTo(OpAsmParser &parser, Attribute &target) {
  target = parser.getBuilder().getUnitAttr();
  if (failed(parser.parseOptionalKeyword("to")))
    return success();
  return step::parseTarget(parser, target);
}

ParseResult FragmentOp::parse(OpAsmParser &parser, OperationState &state) {
  Builder &builder = parser.getBuilder();
  FragmentKind kind{};
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<Type> argumentTypes, resultTypes;
  SmallVector<Attribute> sources, targets;
  auto parseArgument = [&]() -> ParseResult {
    if (parser.parseArgument(arguments.emplace_back(), /*allowType=*/true))
      return failure();
    argumentTypes.push_back(arguments.back().type);
    return parseFrom(parser, sources.emplace_back());
  };
  auto parseResult = [&]() -> ParseResult {
    return failure(parser.parseType(resultTypes.emplace_back()) ||
                   parseTo(parser, targets.emplace_back()));
  };
  using Delimiter = OpAsmParser::Delimiter;
  if (step::parseKind(parser, kind) ||
      parser.parseSymbolName(name, "sym_name", state.attributes) ||
      parser.parseCommaSeparatedList(Delimiter::Paren, parseArgument))
    return failure();
  if (succeeded(parser.parseOptionalArrow()) &&
      parser.parseCommaSeparatedList(Delimiter::Paren, parseResult))
    return failure();
  if (int64_t stage = 0; succeeded(parser.parseOptionalKeyword("stage"))) {
    if (parser.parseInteger(stage))
      return failure();
    state.addAttribute("stage", builder.getI64IntegerAttr(stage));
  }
  state.addAttribute("kind", FragmentKindAttr::get(parser.getContext(), kind));
  state.addAttribute("function_type", TypeAttr::get(builder.getFunctionType(
                                          argumentTypes, resultTypes)));
  state.addAttribute("sources", builder.getArrayAttr(sources));
  state.addAttribute("targets", builder.getArrayAttr(targets));
  return failure(parser.parseOptionalAttrDictWithKeyword(state.attributes) ||
                 parser.parseRegion(*state.addRegion(), arguments));
}

//===----------------------------------------------------------------------===//
// Printer
//===----------------------------------------------------------------------===//

void FragmentOp::print(OpAsmPrinter &p) {
  p << ' ' << stringifyFragmentKind(getKind()) << ' ';
  p.printSymbolName(getSymName());
  p << '(';
  llvm::interleaveComma(llvm::zip(getBody().getArguments(), getSources()), p,
                        [&](auto each) {
                          p.printRegionArgument(std::get<0>(each));
                          p << " from ";
                          step::printSource(p, std::get<1>(each));
                        });
  p << ')';
  if (!getTargets().empty()) {
    p << " -> (";
    llvm::interleaveComma(llvm::zip(getResultTypes(), getTargets()), p,
                          [&](auto each) {
                            p << std::get<0>(each);
                            if (!isa<UnitAttr>(std::get<1>(each))) {
                              p << " to ";
                              step::printTarget(p, std::get<1>(each));
                            }
                          });
    p << ')';
  }
  if (getStage())
    p << " stage " << *getStage();
  p.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(),
      {"kind", "sym_name", "function_type", "sources", "targets", "stage"});
  p << ' ';
  p.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

/// K16: each argument has a source, each result a target, and only stages have
/// links.
LogicalResult FragmentOp::verify() {
  if (getArgAttrs() || getResAttrs())
    return emitOpError("K16: has attributes of arguments or results beside "
                       "their sources and targets");
  if (failed(step::verifyEnds(*this, "K16", getFunctionType(), getSources(),
                              getTargets())))
    return failure();
  if (getStageNumber() < 0)
    return emitOpError("K16: is of stage ") << getStageNumber();
  if (getStage())
    return success();
  auto isLink = llvm::IsaPred<LinkAttr>;
  if (llvm::any_of(getSources(), isLink) || llvm::any_of(getTargets(), isLink))
    return emitOpError("K16: meets another rank and says no `stage`");
  return success();
}

/// K16: as many values as the fragment has results, and of their types.
LogicalResult ReturnOp::verify() {
  auto fragment = cast<FragmentOp>((*this)->getParentOp());
  if (getValues().getTypes() == TypeRange(fragment.getResultTypes()))
    return success();
  return emitOpError("K16: returns ")
         << getValues().getTypes() << " where its fragment states "
         << fragment.getResultTypes();
}
