//===- KernAssembly.cpp - How fused regions are written -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Parsers and printers of `kern.rows`, `kern.columns` and `kern.kernel`. All
/// three read alike: a label, the iteration space, the operands with the names
/// that they have inside, the results with their accesses, the region.
///
//===----------------------------------------------------------------------===//

#include "dialects/kern/IR/Kern.h"

#include <optional>
#include <string>

using namespace hocket::kern;
using namespace mlir;

//===----------------------------------------------------------------------===//
// Shards
//===----------------------------------------------------------------------===//

/// `"label"`, which may be absent.
static void parseLabel(OpAsmParser &parser, OperationState &state) {
  std::string label;
  if (succeeded(parser.parseOptionalString(&label)))
    state.addAttribute("label", parser.getBuilder().getStringAttr(label));
}

/// `[rows x cols]`.
static ParseResult parseSpace(OpAsmParser &parser, OperationState &state) {
  SmallVector<int64_t, 2> dims;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLSquare() ||
      parser.parseDimensionList(dims, /*allowDynamic=*/false,
                                /*withTrailingX=*/false) ||
      parser.parseRSquare())
    return failure();
  if (dims.size() != 2)
    return parser.emitError(loc, "expected an iteration space [rows x cols]");
  Builder &builder = parser.getBuilder();
  state.addAttribute("rows", builder.getI64IntegerAttr(dims[0]));
  state.addAttribute("cols", builder.getI64IntegerAttr(dims[1]));
  return success();
}

/// `as ACCESS`.
static ParseResult parseAccess(OpAsmParser &parser,
                               SmallVectorImpl<Attribute> &accesses) {
  StringRef word;
  SMLoc loc;
  if (parser.parseKeyword("as") ||
      (loc = parser.getCurrentLocation(), parser.parseKeyword(&word)))
    return failure();
  std::optional<Access> access = symbolizeAccess(word);
  if (!access)
    return parser.emitError(loc)
           << "expected full, tiled, row, col or scalar, found '" << word
           << "'";
  accesses.push_back(AccessAttr::get(parser.getContext(), *access));
  return success();
}

namespace {
/// What is read of a region's operands and arguments.
struct Arguments {
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> types;
  SmallVector<Attribute> accesses;
};
} // namespace

/// `(%a = %x as full : type, ...)`.
static ParseResult parseInputs(OpAsmParser &parser, Arguments &inputs) {
  return parser.parseCommaSeparatedList(
      OpAsmParser::Delimiter::Paren, [&]() -> ParseResult {
        if (parser.parseArgument(inputs.arguments.emplace_back()) ||
            parser.parseEqual() ||
            parser.parseOperand(inputs.operands.emplace_back()) ||
            parseAccess(parser, inputs.accesses) ||
            parser.parseColonType(inputs.types.emplace_back()))
          return failure();
        inputs.arguments.back().type = parser.getBuilder().getF32Type();
        return success();
      });
}

/// `(type as full, ...)`, or `(type, ...)` where `accesses` is null.
static ParseResult parseResults(OpAsmParser &parser,
                                SmallVectorImpl<Type> &types,
                                SmallVectorImpl<Attribute> *accesses) {
  return parser.parseCommaSeparatedList(
      OpAsmParser::Delimiter::Paren, [&]() -> ParseResult {
        if (parser.parseType(types.emplace_back()))
          return failure();
        return accesses ? parseAccess(parser, *accesses) : ParseResult();
      });
}

template <typename OpTy>
static ParseResult parseBody(OpAsmParser &parser, OperationState &state,
                             ArrayRef<OpAsmParser::Argument> arguments) {
  Region *body = state.addRegion();
  if (parser.parseOptionalAttrDictWithKeyword(state.attributes) ||
      parser.parseRegion(*body, arguments))
    return failure();
  OpTy::ensureTerminator(*body, parser.getBuilder(), state.location);
  return success();
}

static void printHead(OpAsmPrinter &p, StringRef label, int64_t rows,
                      int64_t cols) {
  if (!label.empty()) {
    p << ' ';
    p.printString(label);
  }
  p << " [" << rows << " x " << cols << "] ";
}

static void printInputs(OpAsmPrinter &p, ValueRange inputs, ArrayAttr accesses,
                        Block &body) {
  p << '(';
  llvm::interleaveComma(llvm::seq<size_t>(0, inputs.size()), p, [&](size_t i) {
    p << body.getArgument(i) << " = " << inputs[i] << " as "
      << stringifyAccess(cast<AccessAttr>(accesses[i]).getValue()) << " : "
      << inputs[i].getType();
  });
  p << ')';
}

static void printResults(OpAsmPrinter &p, TypeRange types, ArrayAttr accesses) {
  p << " -> (";
  llvm::interleaveComma(llvm::seq<size_t>(0, types.size()), p, [&](size_t i) {
    p << types[i];
    if (accesses)
      p << " as " << stringifyAccess(cast<AccessAttr>(accesses[i]).getValue());
  });
  p << ')';
}

static void printBody(OpAsmPrinter &p, Operation *op, Region &body,
                      ArrayRef<StringRef> elided) {
  p.printOptionalAttrDictWithKeyword(op->getAttrs(), elided);
  p << ' ';
  p.printRegion(body, /*printEntryBlockArgs=*/false);
}

//===----------------------------------------------------------------------===//
// kern.rows
//===----------------------------------------------------------------------===//

ParseResult RowsOp::parse(OpAsmParser &parser, OperationState &state) {
  Builder &builder = parser.getBuilder();
  Arguments inputs;
  parseLabel(parser, state);
  if (parseSpace(parser, state) || parseInputs(parser, inputs))
    return failure();
  size_t count = inputs.operands.size();
  if (succeeded(parser.parseOptionalKeyword("instances")) &&
      parser.parseCommaSeparatedList(
          OpAsmParser::Delimiter::Paren, [&]() -> ParseResult {
            if (parser.parseArgument(inputs.arguments.emplace_back()) ||
                parser.parseEqual() ||
                parser.parseOperand(inputs.operands.emplace_back()))
              return failure();
            inputs.types.push_back(builder.getI32Type());
            inputs.arguments.back().type = builder.getI32Type();
            return success();
          }))
    return failure();
  SmallVector<Attribute> accesses;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseArrow() || parseResults(parser, state.types, &accesses) ||
      parser.resolveOperands(inputs.operands, inputs.types, loc,
                             state.operands))
    return failure();
  state.addAttribute("input_accesses", builder.getArrayAttr(inputs.accesses));
  state.addAttribute("result_accesses", builder.getArrayAttr(accesses));
  state.getOrAddProperties<Properties>().operandSegmentSizes = {
      static_cast<int32_t>(count),
      static_cast<int32_t>(inputs.operands.size() - count)};
  return parseBody<RowsOp>(parser, state, inputs.arguments);
}

void RowsOp::print(OpAsmPrinter &p) {
  Block &block = getBody().front();
  printHead(p, getLabel(), getRows(), getCols());
  printInputs(p, getInputs(), getInputAccesses(), block);
  if (!getInstances().empty()) {
    p << " instances (";
    size_t first = getInputs().size();
    llvm::interleaveComma(llvm::enumerate(getInstances()), p, [&](auto it) {
      p << block.getArgument(first + it.index()) << " = " << it.value();
    });
    p << ')';
  }
  printResults(p, getOutputs().getTypes(), getResultAccesses());
  printBody(p, *this, getBody(),
            {"rows", "cols", "label", "input_accesses", "result_accesses",
             "operandSegmentSizes"});
}

//===----------------------------------------------------------------------===//
// kern.columns
//===----------------------------------------------------------------------===//

ParseResult ColumnsOp::parse(OpAsmParser &parser, OperationState &state) {
  Arguments inputs;
  parseLabel(parser, state);
  SMLoc loc = parser.getCurrentLocation();
  if (parseSpace(parser, state) || parseInputs(parser, inputs) ||
      parser.parseArrow() || parseResults(parser, state.types, nullptr) ||
      parser.resolveOperands(inputs.operands, inputs.types, loc,
                             state.operands))
    return failure();
  state.addAttribute("input_accesses",
                     parser.getBuilder().getArrayAttr(inputs.accesses));
  return parseBody<ColumnsOp>(parser, state, inputs.arguments);
}

void ColumnsOp::print(OpAsmPrinter &p) {
  printHead(p, getLabel(), getRows(), getCols());
  printInputs(p, getInputs(), getInputAccesses(), getBody().front());
  printResults(p, getOutputs().getTypes(), nullptr);
  printBody(p, *this, getBody(), {"rows", "cols", "label", "input_accesses"});
}

//===----------------------------------------------------------------------===//
// kern.kernel
//===----------------------------------------------------------------------===//

/// `(%a: type as full, ...)`.
static ParseResult parseKernelInputs(OpAsmParser &parser, Arguments &inputs) {
  return parser.parseCommaSeparatedList(
      OpAsmParser::Delimiter::Paren, [&]() -> ParseResult {
        if (parser.parseArgument(inputs.arguments.emplace_back()) ||
            parser.parseColonType(inputs.types.emplace_back()) ||
            parseAccess(parser, inputs.accesses))
          return failure();
        inputs.arguments.back().type = parser.getBuilder().getF32Type();
        return success();
      });
}

/// `instances (%i, ...)`, which may be absent.
static ParseResult parseKernelInstances(OpAsmParser &parser,
                                        Arguments &inputs) {
  if (failed(parser.parseOptionalKeyword("instances")))
    return success();
  return parser.parseCommaSeparatedList(
      OpAsmParser::Delimiter::Paren, [&]() -> ParseResult {
        inputs.arguments.emplace_back().type = parser.getBuilder().getI32Type();
        OpAsmParser::Argument &argument = inputs.arguments.back();
        Type type = argument.type;
        if (parser.parseArgument(argument))
          return failure();
        argument.type = type;
        return success();
      });
}

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &state) {
  Builder &builder = parser.getBuilder();
  Arguments inputs;
  StringAttr name;
  if (parser.parseSymbolName(name, "sym_name", state.attributes))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("by_columns")))
    state.addAttribute("by_columns", builder.getUnitAttr());
  parseLabel(parser, state);
  if (parseSpace(parser, state) || parseKernelInputs(parser, inputs) ||
      parseKernelInstances(parser, inputs))
    return failure();
  SmallVector<Type> types;
  SmallVector<Attribute> accesses;
  if (parser.parseArrow() || parseResults(parser, types, &accesses))
    return failure();
  state.addAttribute("input_types", builder.getTypeArrayAttr(inputs.types));
  state.addAttribute("result_types", builder.getTypeArrayAttr(types));
  state.addAttribute("input_accesses", builder.getArrayAttr(inputs.accesses));
  state.addAttribute("result_accesses", builder.getArrayAttr(accesses));
  state.addAttribute(
      "instances",
      builder.getI64IntegerAttr(inputs.arguments.size() - inputs.types.size()));
  return parseBody<KernelOp>(parser, state, inputs.arguments);
}

void KernelOp::print(OpAsmPrinter &p) {
  Block &block = getBody().front();
  p << ' ';
  p.printSymbolName(getSymName());
  if (getByColumns())
    p << " by_columns";
  printHead(p, getLabel(), getRows(), getCols());
  size_t count = getInputTypes().size();
  p << '(';
  llvm::interleaveComma(llvm::seq<size_t>(0, count), p, [&](size_t i) {
    p << block.getArgument(i) << ": " << getInputTypes()[i] << " as "
      << stringifyAccess(getInputAccess(i));
  });
  p << ')';
  if (getInstances() > 0) {
    p << " instances (";
    llvm::interleaveComma(block.getArguments().drop_front(count), p);
    p << ')';
  }
  SmallVector<Type> types(getResultTypes().getAsValueRange<TypeAttr>());
  printResults(p, types, getResultAccesses());
  printBody(p, *this, getBody(),
            {"sym_name", "by_columns", "label", "rows", "cols", "input_types",
             "result_types", "input_accesses", "result_accesses", "instances"});
}
