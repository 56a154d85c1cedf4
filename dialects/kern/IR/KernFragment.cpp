//===- KernFragment.cpp - The parts of a step
//------------------------------===//
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

#include "llvm/ADT/TypeSwitch.h"

#include <optional>
#include <string>

using namespace hocket::kern;
using namespace mlir;

//===----------------------------------------------------------------------===//
// Parser
//===----------------------------------------------------------------------===//

/// `F`.
static ParseResult parseKind(OpAsmParser &parser, FragmentKind &kind) {
  StringRef word;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return failure();
  std::optional<FragmentKind> known = hocket::step::symbolizeFragmentKind(word);
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
  source = parser.getChecked<HostAttr>(
      parser.getContext(), parser.getBuilder().getStringAttr(name), axes);
  return success(source != Attribute());
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
  std::optional<FragmentEnd> end = hocket::step::symbolizeFragmentEnd(word);
  if (!end)
    return parser.emitError(loc)
           << "expected argument or result, found '" << word << "'";
  if (parser.parseInteger(index))
    return failure();
  source = SavedAttr::get(parser.getContext(), kind, *end, index);
  return success();
}

/// `from host "tokens"`, `from rank 1 tag 3` or `from F result 2`.
static ParseResult parseSource(OpAsmParser &parser, Attribute &source) {
  if (parser.parseKeyword("from"))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("host")))
    return parseHost(parser, source);
  if (succeeded(parser.parseOptionalKeyword("rank")))
    return parseLink(parser, source);
  return parseSaved(parser, source);
}

/// `to rank 1 tag 3`, which may be absent.
static ParseResult parseTarget(OpAsmParser &parser, Attribute &target) {
  target = parser.getBuilder().getUnitAttr();
  if (failed(parser.parseOptionalKeyword("to")))
    return success();
  return failure(parser.parseKeyword("rank") || parseLink(parser, target));
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
    return parseSource(parser, sources.emplace_back());
  };
  auto parseResult = [&]() -> ParseResult {
    return failure(parser.parseType(resultTypes.emplace_back()) ||
                   parseTarget(parser, targets.emplace_back()));
  };
  using Delimiter = OpAsmParser::Delimiter;
  if (parseKind(parser, kind) ||
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

static void printLink(OpAsmPrinter &p, LinkAttr link) {
  p << "rank " << link.getRank() << " tag " << link.getTag();
}

static void printSource(OpAsmPrinter &p, Attribute source) {
  p << " from ";
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

void FragmentOp::print(OpAsmPrinter &p) {
  p << ' ' << stringifyFragmentKind(getKind()) << ' ';
  p.printSymbolName(getSymName());
  p << '(';
  llvm::interleaveComma(llvm::zip(getBody().getArguments(), getSources()), p,
                        [&](auto each) {
                          p.printRegionArgument(std::get<0>(each));
                          printSource(p, std::get<1>(each));
                        });
  p << ')';
  if (!getTargets().empty()) {
    p << " -> (";
    llvm::interleaveComma(
        llvm::zip(getResultTypes(), getTargets()), p, [&](auto each) {
          p << std::get<0>(each);
          if (auto link = dyn_cast<LinkAttr>(std::get<1>(each))) {
            p << " to ";
            printLink(p, link);
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

/// K16: what splits a value is names of axes for each of its dims.
LogicalResult HostAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               StringAttr, ArrayAttr axes) {
  auto areNames = [](Attribute dim) {
    auto names = llvm::dyn_cast<ArrayAttr>(dim);
    return names && llvm::all_of(names, llvm::IsaPred<StringAttr>);
  };
  if (!axes || llvm::all_of(axes, areNames))
    return success();
  return emitError() << "K16: `split` has the names of axes of each dim, not "
                     << axes;
}

/// K16: a source that is split has axes for each dim of the argument.
static LogicalResult verifySplits(FragmentOp fragment) {
  for (auto [type, source] :
       llvm::zip(fragment.getArgumentTypes(), fragment.getSources())) {
    auto host = dyn_cast<HostAttr>(source);
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return fragment.emitOpError("K16: takes ") << type << ", no tensor";
    if (host && host.getAxes() &&
        static_cast<int64_t>(host.getAxes().size()) != tensor.getRank())
      return fragment.emitOpError("K16: has ")
             << host.getAxes() << " for the dims of " << type;
  }
  return success();
}

/// K16: each argument has a source, each result a target, and only stages have
/// links.
LogicalResult FragmentOp::verify() {
  if (getSources().size() != getArgumentTypes().size() ||
      getTargets().size() != getResultTypes().size())
    return emitOpError("K16: has ")
           << getSources().size() << " sources of " << getArgumentTypes().size()
           << " arguments and " << getTargets().size() << " targets of "
           << getResultTypes().size() << " results";
  if (getArgAttrs() || getResAttrs())
    return emitOpError("K16: has attributes of arguments or results beside "
                       "their sources and targets");
  if (failed(verifySplits(*this)))
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
