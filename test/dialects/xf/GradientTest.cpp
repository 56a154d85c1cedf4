//===- GradientTest.cpp - Every gradient against finite differences -------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// For every op of the model and its settings: the gradient that it builds,
/// evaluated by the reference, against central differences of its own reference
/// evaluation.
///
//===----------------------------------------------------------------------===//

#include "test/dialects/xf/ReferenceFixture.h"

#include "mlir/IR/IRMapping.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace hocket::xf;

namespace {
/// One op with its attributes, in a function of its operands. Integers are ids
/// below 5; with `ignored`, some are -1.
struct GradientCase {
  const char *name;
  const char *operands; ///< "%a: type, %b: type"
  const char *op;       ///< "xf.op %a, %b {...} : (...) -> ..."
  bool ignored = false;
};

std::ostream &operator<<(std::ostream &os, const GradientCase &c) {
  return os << c.name;
}

class GradientTest : public testing::TestWithParam<GradientCase> {
protected:
  void SetUp() override;

  /// sum(result * weights) with the operands as they are.
  double objective();
  /// The gradients that the op builds, one an operand; no values where none.
  SmallVector<ReferenceTensor> built();
  ReferenceTensor differences(ReferenceTensor &operand);

  ReferenceContext reference;
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  DifferentiableOpInterface op;
  SmallVector<ReferenceTensor> operands;
  ReferenceTensor weights;
  EvaluationContext context;
};
} // namespace

void GradientTest::SetUp() {
  const GradientCase &c = GetParam();
  std::string text =
      std::string("func.func @f(") + c.operands + ") {\n%r" +
      (std::string(c.op).find(") -> (") == std::string::npos ? "" : ":2") +
      " = " + c.op + "\nreturn }\n";
  module = reference.parse(text);
  ASSERT_TRUE(module);
  function = *module->getOps<func::FuncOp>().begin();
  op = cast<DifferentiableOpInterface>(function.front().front());
  FixedNumbers numbers(7);
  for (Type type : function.getArgumentTypes()) {
    ReferenceTensor tensor = zerosOf(type);
    bool real = isa<FloatType>(getElementTypeOrSelf(type));
    for (int64_t i = 0; i < tensor.size(); ++i)
      tensor[i] = real ? numbers.next()
                  : c.ignored && i % 3 == 2
                      ? -1
                      : static_cast<double>((i * 7 + 3) % 5);
    operands.push_back(tensor);
  }
  weights = zerosOf(op->getResult(0).getType());
  numbers.fill(weights);
  context.seed = 11;
  context.step = 2;
  context.microbatch = 1;
}

double GradientTest::objective() {
  auto evaluated = cast<InterpretableOpInterface>(op.getOperation());
  SmallVector<ReferenceTensor> results;
  EXPECT_TRUE(succeeded(evaluated.evaluate(context, operands, results)));
  double sum = 0;
  for (int64_t i = 0; i < weights.size(); ++i)
    sum += weights[i] * results[0][i];
  return sum;
}

SmallVector<ReferenceTensor> GradientTest::built() {
  Block &body = function.front();
  Operation *end = body.getTerminator();
  OpBuilder builder(end);
  SmallVector<Value> gradients(op->getNumResults());
  gradients[0] =
      body.addArgument(op->getResult(0).getType(), function.getLoc());
  SmallVector<Value> returned;
  SmallVector<Value> values = op.buildGradient(builder, gradients);
  EXPECT_EQ(values.size(), op->getNumOperands());
  for (Value value : values)
    if (value)
      returned.push_back(value);
  end->setOperands(returned);
  function.setFunctionType(FunctionType::get(&reference.context,
                                             body.getArgumentTypes(),
                                             ValueRange(returned).getTypes()));
  EXPECT_TRUE(succeeded(mlir::verify(*module)));

  SmallVector<ReferenceTensor> arguments(operands);
  arguments.push_back(weights);
  auto results = interpret(function, arguments, context);
  SmallVector<ReferenceTensor> gradientsOf;
  if (failed(results))
    return gradientsOf;
  size_t next = 0;
  for (Value value : values)
    gradientsOf.push_back(value ? (*results)[next++] : ReferenceTensor());
  return gradientsOf;
}

ReferenceTensor GradientTest::differences(ReferenceTensor &operand) {
  constexpr double h = 1e-5;
  ReferenceTensor result = operand;
  for (int64_t i = 0; i < operand.size(); ++i) {
    double value = operand[i];
    operand[i] = value + h;
    double up = objective();
    operand[i] = value - h;
    result[i] = (up - objective()) / (2 * h);
    operand[i] = value;
  }
  return result;
}

TEST_P(GradientTest, EqualsFiniteDifferences) {
  SmallVector<ReferenceTensor> gradients = built();
  ASSERT_EQ(gradients.size(), operands.size());
  int compared = 0;
  for (auto [index, gradient] : llvm::enumerate(gradients)) {
    if (gradient.values.empty())
      continue;
    EXPECT_LT(relativeError(gradient, differences(operands[index])), 1e-6)
        << "operand " << index;
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

static const GradientCase gradientCases[] = {
    {"embedding", "%i: tensor<2x3xi32>, %t: tensor<5x4xf64>",
     "xf.embedding %i, %t : (tensor<2x3xi32>, tensor<5x4xf64>) -> "
     "tensor<2x3x4xf64>"},
    {"prefix", "%a: tensor<5x4xf64>",
     "xf.prefix %a : (tensor<5x4xf64>) -> tensor<3x4xf64>"},
    {"pad_rows", "%a: tensor<3x4xf64>",
     "xf.pad_rows %a : (tensor<3x4xf64>) -> tensor<5x4xf64>"},
    {"linear", "%x: tensor<2x3x4xf64>, %w: tensor<5x4xf64>",
     "xf.linear %x, %w : (tensor<2x3x4xf64>, tensor<5x4xf64>) -> "
     "tensor<2x3x5xf64>"},
    {"linear_bias",
     "%x: tensor<3x4xf64>, %w: tensor<5x4xf64>, %b: tensor<5xf64>",
     "xf.linear %x, %w, %b : (tensor<3x4xf64>, tensor<5x4xf64>, "
     "tensor<5xf64>) -> tensor<3x5xf64>"},
    {"norm_layer",
     "%x: tensor<2x3x6xf64>, %w: tensor<6xf64>, %b: tensor<6xf64>",
     "xf.norm %x, %w, %b {kind = #xf.norm_kind<layer>, epsilon = 1.0e-5} : "
     "(tensor<2x3x6xf64>, tensor<6xf64>, tensor<6xf64>) -> tensor<2x3x6xf64>"},
    {"norm_layer_without_bias", "%x: tensor<3x6xf64>, %w: tensor<6xf64>",
     "xf.norm %x, %w {kind = #xf.norm_kind<layer>, epsilon = 1.0e-3} : "
     "(tensor<3x6xf64>, tensor<6xf64>) -> tensor<3x6xf64>"},
    {"norm_rms", "%x: tensor<2x2x3x6xf64>, %w: tensor<6xf64>",
     "xf.norm %x, %w {kind = #xf.norm_kind<rms>, epsilon = 1.0e-5} : "
     "(tensor<2x2x3x6xf64>, tensor<6xf64>) -> tensor<2x2x3x6xf64>"},
    {"norm_zero_centered",
     "%x: tensor<3x6xf64>, %w: tensor<6xf64>, %b: tensor<6xf64>",
     "xf.norm %x, %w, %b {kind = #xf.norm_kind<layer>, epsilon = 1.0e-3, "
     "zero_centered} : (tensor<3x6xf64>, tensor<6xf64>, tensor<6xf64>) -> "
     "tensor<3x6xf64>"},
    {"rope", "%x: tensor<2x3x2x4xf64>, %t: tensor<3x2x2xf64>",
     "xf.rope %x, %t : (tensor<2x3x2x4xf64>, tensor<3x2x2xf64>) -> "
     "tensor<2x3x2x4xf64>"},
    {"rope_of_a_part", "%x: tensor<2x3x2x7xf64>, %t: tensor<3x2x2xf64>",
     "xf.rope %x, %t : (tensor<2x3x2x7xf64>, tensor<3x2x2xf64>) -> "
     "tensor<2x3x2x7xf64>"},
    {"rope_inverse", "%x: tensor<1x3x2x6xf64>, %t: tensor<3x3x2xf64>",
     "xf.rope %x, %t {inverse} : (tensor<1x3x2x6xf64>, tensor<3x3x2xf64>) -> "
     "tensor<1x3x2x6xf64>"},
#define QKV(G)                                                                 \
  "%q: tensor<2x5x4x3xf64>, %k: tensor<2x5x" G "x3xf64>, %v: tensor<2x5x" G    \
  "x3xf64>"
#define ATTENTION(G, ATTRIBUTES)                                               \
  "xf.attention %q, %k, %v {" ATTRIBUTES                                       \
  "} : (tensor<2x5x4x3xf64>, tensor<2x5x" G "x3xf64>, tensor<2x5x" G           \
  "x3xf64>) -> (tensor<2x5x4x3xf64>, tensor<2x4x5xf64>)"
#define BIASED(ATTRIBUTES)                                                     \
  "xf.attention %q, %k, %v bias %t {" ATTRIBUTES                               \
  "} : (tensor<2x5x4x3xf64>, tensor<2x5x2x3xf64>, tensor<2x5x2x3xf64>, "       \
  "tensor<5x4xf64>) -> (tensor<2x5x4x3xf64>, tensor<2x4x5xf64>)"
    {"attention_full", QKV("4"), ATTENTION("4", "scale = 0.7")},
    {"attention_causal", QKV("4"), ATTENTION("4", "causal, scale = 0.5")},
    {"attention_grouped", QKV("2"), ATTENTION("2", "causal, scale = 0.5")},
    {"attention_multi_query", QKV("1"), ATTENTION("1", "causal, scale = 1.5")},
    {"attention_window", QKV("2"),
     ATTENTION("2", "causal, scale = 0.5, window = 2 : i64")},
    {"attention_softcap", QKV("2"),
     ATTENTION("2", "causal, scale = 1.5, softcap = 0.8")},
    {"attention_alibi", QKV("2"), ATTENTION("2", "causal, scale = 0.5, alibi")},
    {"attention_to_a_longer_sequence",
     "%q: tensor<2x3x4x3xf64>, %k: tensor<2x5x2x3xf64>, %v: "
     "tensor<2x5x2x3xf64>",
     "xf.attention %q, %k, %v {scale = 0.7} : (tensor<2x3x4x3xf64>, "
     "tensor<2x5x2x3xf64>, tensor<2x5x2x3xf64>) -> (tensor<2x3x4x3xf64>, "
     "tensor<2x4x3xf64>)"},
    {"attention_to_a_shorter_sequence",
     "%q: tensor<2x5x2x3xf64>, %k: tensor<2x3x2x3xf64>, %v: "
     "tensor<2x3x2x3xf64>, %n: i32",
     "xf.attention %q, %k, %v, %n {scale = 0.7, dropout = 0.4, stream = 3 : "
     "i32} : (tensor<2x5x2x3xf64>, tensor<2x3x2x3xf64>, tensor<2x3x2x3xf64>, "
     "i32) -> (tensor<2x5x2x3xf64>, tensor<2x2x5xf64>)"},
    {"attention_bias", QKV("2") ", %t: tensor<5x4xf64>",
     BIASED("causal, scale = 0.5")},
    {"attention_bias_both_directions", QKV("2") ", %t: tensor<5x4xf64>",
     BIASED("scale = 1.0")},
    {"attention_dropout", QKV("2") ", %n: i32",
     "xf.attention %q, %k, %v, %n {causal, scale = 0.5, dropout = 0.4, stream "
     "= 3 : i32} : (tensor<2x5x4x3xf64>, tensor<2x5x2x3xf64>, "
     "tensor<2x5x2x3xf64>, i32) -> (tensor<2x5x4x3xf64>, "
     "tensor<2x4x5xf64>)"},
#define ACTIVATION(KIND)                                                       \
  "xf.activation %x {kind = #xf.activation_kind<" KIND                         \
  ">} : (tensor<3x7xf64>) -> tensor<3x7xf64>"
    {"gelu", "%x: tensor<3x7xf64>", ACTIVATION("gelu")},
    {"gelu_tanh", "%x: tensor<3x7xf64>", ACTIVATION("gelu_tanh")},
    {"silu", "%x: tensor<3x7xf64>", ACTIVATION("silu")},
    {"relu", "%x: tensor<3x7xf64>", ACTIVATION("relu")},
    {"relu_squared", "%x: tensor<3x7xf64>", ACTIVATION("relu_squared")},
    {"tanh", "%x: tensor<3x7xf64>", ACTIVATION("tanh")},
    {"quick_gelu", "%x: tensor<3x7xf64>", ACTIVATION("quick_gelu")},
    {"place_rows",
     "%x: tensor<2x5x3xf64>, %i: tensor<2x5xi32>, %s: tensor<4x3x3xf64>",
     "xf.place_rows %x, %i, %s : (tensor<2x5x3xf64>, tensor<2x5xi32>, "
     "tensor<4x3x3xf64>) -> tensor<2x5x3xf64>",
     true},
    {"split_chunks", "%x: tensor<2x6x3xf64>",
     "xf.split_chunks %x {shift = 2 : i64} : (tensor<2x6x3xf64>) -> "
     "tensor<4x3x3xf64>"},
    {"join_chunks", "%x: tensor<4x3x2xf64>",
     "xf.join_chunks %x {shift = 2 : i64} : (tensor<4x3x2xf64>) -> "
     "tensor<2x6x2xf64>"},
    {"join_heads", "%x: tensor<2x3x4x3xf64>, %s: tensor<2x3x1x2xf64>",
     "xf.join_heads %x, %s : (tensor<2x3x4x3xf64>, tensor<2x3x1x2xf64>) -> "
     "tensor<2x3x4x5xf64>"},
    {"join_heads_of_each", "%x: tensor<2x3x4x3xf64>, %s: tensor<2x3x4x2xf64>",
     "xf.join_heads %x, %s : (tensor<2x3x4x3xf64>, tensor<2x3x4x2xf64>) -> "
     "tensor<2x3x4x5xf64>"},
    {"join_heads_zeros", "%x: tensor<2x3x4x3xf64>",
     "xf.join_heads %x : (tensor<2x3x4x3xf64>) -> tensor<2x3x4x5xf64>"},
    {"part_heads", "%x: tensor<2x3x4x5xf64>",
     "xf.part_heads %x {first = 1 : i64} : (tensor<2x3x4x5xf64>) -> "
     "tensor<2x3x4x3xf64>"},
    {"softcap", "%x: tensor<3x7xf64>",
     "xf.softcap %x {cap = 0.7} : (tensor<3x7xf64>) -> tensor<3x7xf64>"},
#define GATED(KIND)                                                            \
  "xf.gated %g, %u {kind = #xf.activation_kind<" KIND                          \
  ">} : (tensor<3x5xf64>, tensor<3x5xf64>) -> tensor<3x5xf64>"
    {"swiglu", "%g: tensor<3x5xf64>, %u: tensor<3x5xf64>", GATED("silu")},
    {"geglu", "%g: tensor<3x5xf64>, %u: tensor<3x5xf64>", GATED("gelu")},
    {"geglu_tanh", "%g: tensor<3x5xf64>, %u: tensor<3x5xf64>",
     GATED("gelu_tanh")},
    {"row_gate", "%x: tensor<3x5xf64>, %g: tensor<3x1xf64>",
     "xf.row_gate %x, %g : (tensor<3x5xf64>, tensor<3x1xf64>) -> "
     "tensor<3x5xf64>"},
    {"gather_choices", "%x: tensor<6x2x1xf64>",
     "xf.gather_choices %x : (tensor<6x2x1xf64>) -> tensor<6x2x3xf64>"},
    {"causal_conv", "%x: tensor<2x5x3xf64>, %w: tensor<3x4xf64>",
     "xf.causal_conv %x, %w : (tensor<2x5x3xf64>, tensor<3x4xf64>) -> "
     "tensor<2x5x3xf64>"},
    {"causal_conv_bias",
     "%x: tensor<2x5x3xf64>, %w: tensor<3x2xf64>, %b: tensor<3xf64>",
     "xf.causal_conv %x, %w, %b : (tensor<2x5x3xf64>, tensor<3x2xf64>, "
     "tensor<3xf64>) -> tensor<2x5x3xf64>"},
#define SCAN_OPERANDS                                                          \
  "%x: tensor<2x5x4x3xf64>, %d: tensor<2x5x4xf64>, %b: tensor<2x5x2x3xf64>, "  \
  "%c: tensor<2x5x2x3xf64>, %a: tensor<4xf64>, %t: tensor<4xf64>, %s: "        \
  "tensor<4xf64>"
#define SCAN(ATTRIBUTES)                                                       \
  "xf.state_scan %x, %d, %b, %c, %a, %t, %s " ATTRIBUTES                       \
  " : (tensor<2x5x4x3xf64>, tensor<2x5x4xf64>, tensor<2x5x2x3xf64>, "          \
  "tensor<2x5x2x3xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) -> "      \
  "tensor<2x5x4x3xf64>"
    {"state_scan", SCAN_OPERANDS, SCAN("")},
    {"state_scan_limits", SCAN_OPERANDS, SCAN("{least = 0.5, most = 0.9}")},
    {"dropout", "%x: tensor<4x9xf64>, %n: i32",
     "xf.dropout %x, %n {rate = 0.3, stream = 2 : i32} : "
     "(tensor<4x9xf64>, i32) -> tensor<4x9xf64>"},
    {"dropout_without_instance", "%x: tensor<4x9xf64>",
     "xf.dropout %x {rate = 0.3, stream = 2 : i32} : "
     "(tensor<4x9xf64>) -> tensor<4x9xf64>"},
    {"add", "%a: tensor<3x4xf64>, %b: tensor<3x4xf64>",
     "xf.add %a, %b : (tensor<3x4xf64>, tensor<3x4xf64>) -> tensor<3x4xf64>"},
    {"add_broadcast", "%a: tensor<2x3x4xf64>, %b: tensor<3x4xf64>",
     "xf.add %a, %b : (tensor<2x3x4xf64>, tensor<3x4xf64>) -> "
     "tensor<2x3x4xf64>"},
    {"multiply", "%a: tensor<3x4xf64>, %b: tensor<3x4xf64>",
     "xf.multiply %a, %b : (tensor<3x4xf64>, tensor<3x4xf64>) -> "
     "tensor<3x4xf64>"},
    {"multiply_scalar", "%a: tensor<3x4xf64>, %b: tensor<f64>",
     "xf.multiply %a, %b : (tensor<3x4xf64>, tensor<f64>) -> tensor<3x4xf64>"},
    {"sum_leading", "%a: tensor<2x3x4xf64>",
     "xf.sum_leading %a : (tensor<2x3x4xf64>) -> tensor<4xf64>"},
    {"sum_of_all", "%a: tensor<2x3xf64>",
     "xf.sum_leading %a : (tensor<2x3xf64>) -> tensor<f64>"},
    {"reshape", "%a: tensor<2x6xf64>",
     "xf.reshape %a : (tensor<2x6xf64>) -> tensor<2x3x2xf64>"},
    {"cast", "%a: tensor<2x6xf64>",
     "xf.cast %a : (tensor<2x6xf64>) -> tensor<2x6xf64>"},
#define CROSS_ENTROPY(VALID)                                                   \
  "xf.cross_entropy %l, %y {valid_vocab = " VALID                              \
  " : i64} : (tensor<2x3x8xf64>, tensor<2x3xi32>) -> (tensor<f64>, "           \
  "tensor<2x3xf64>)"
    {"cross_entropy", "%l: tensor<2x3x8xf64>, %y: tensor<2x3xi32>",
     CROSS_ENTROPY("8")},
    {"cross_entropy_padded_vocabulary",
     "%l: tensor<2x3x8xf64>, %y: tensor<2x3xi32>", CROSS_ENTROPY("6")},
    {"cross_entropy_ignored_labels",
     "%l: tensor<2x3x8xf64>, %y: tensor<2x3xi32>", CROSS_ENTROPY("8"), true},
#define ROUTER(OPERANDS, TYPES, ATTRIBUTES)                                    \
  "xf.router " OPERANDS " {" ATTRIBUTES "} : (tensor<2x3x6xf64>" TYPES         \
  ") -> (tensor<2x3x2xf64>, tensor<2x3x2xi32>)"
#define SOFTMAX "scores = #xf.router_scores<softmax>"
#define SIGMOID "scores = #xf.router_scores<sigmoid>"
    {"router", "%l: tensor<2x3x6xf64>",
     ROUTER("%l", "", SOFTMAX ", scale = 1.0, top_k = 2 : i64")},
    {"router_renormalised", "%l: tensor<2x3x6xf64>",
     ROUTER("%l", "", SOFTMAX ", renormalise, scale = 0.7, top_k = 2 : i64")},
    {"router_sigmoid", "%l: tensor<2x3x6xf64>",
     ROUTER("%l", "", SIGMOID ", scale = 2.5, top_k = 2 : i64")},
    {"router_bias", "%l: tensor<2x3x6xf64>, %b: tensor<6xf64>",
     ROUTER("%l, %b", ", tensor<6xf64>",
            SIGMOID ", renormalise, scale = 2.5, top_k = 2 : i64")},
    {"router_bias_of_sequences", "%l: tensor<2x3x6xf64>, %b: tensor<2x6xf64>",
     ROUTER("%l, %b", ", tensor<2x6xf64>",
            SOFTMAX ", scale = 1.0, top_k = 2 : i64")},
    {"router_groups", "%l: tensor<2x3x6xf64>, %b: tensor<6xf64>",
     ROUTER("%l, %b", ", tensor<6xf64>",
            SIGMOID ", groups = 3 : i64, renormalise, scale = 1.0, top_k = 2 : "
                    "i64, topk_groups = 1 : i64")},
    {"router_probabilities", "%l: tensor<2x3x6xf64>",
     "xf.router_probabilities %l {" SOFTMAX
     "} : (tensor<2x3x6xf64>) -> tensor<6xf64>"},
    {"router_probabilities_by_sequence", "%l: tensor<2x3x6xf64>",
     "xf.router_probabilities %l {" SIGMOID
     "} : (tensor<2x3x6xf64>) -> tensor<2x6xf64>"},
    {"router_probabilities_sigmoid", "%l: tensor<2x3x6xf64>",
     "xf.router_probabilities %l {" SIGMOID
     "} : (tensor<2x3x6xf64>) -> tensor<6xf64>"},
    {"router_z_loss", "%l: tensor<2x3x6xf64>",
     "xf.router_z_loss %l : (tensor<2x3x6xf64>) -> tensor<f64>"},
    {"dispatch", "%x: tensor<2x2x3xf64>, %s: tensor<2x2x2xi32>",
     "xf.dispatch %x, %s : (tensor<2x2x3xf64>, tensor<2x2x2xi32>) -> "
     "tensor<3x2x2x3xf64>",
     true},
    {"dispatch_weighted",
     "%x: tensor<2x2x3xf64>, %s: tensor<2x2x2xi32>, %w: tensor<2x2x2xf64>",
     "xf.dispatch %x, %s, %w : (tensor<2x2x3xf64>, tensor<2x2x2xi32>, "
     "tensor<2x2x2xf64>) -> tensor<3x2x2x3xf64>"},
    {"dispatch_dropless", "%x: tensor<2x5x3xf64>, %s: tensor<2x5x1xi32>",
     "xf.dispatch %x, %s : (tensor<2x5x3xf64>, tensor<2x5x1xi32>) -> "
     "tensor<2x5x3xf64>"},
    {"dispatch_position_runs", "%x: tensor<1x10x3xf64>, %s: tensor<1x10x1xi32>",
     "xf.dispatch %x, %s {position_runs = 2 : i64} : (tensor<1x10x3xf64>, "
     "tensor<1x10x1xi32>) -> tensor<2x5x3xf64>"},
    {"combine", "%rows: tensor<3x2x2x3xf64>, %s: tensor<2x2x2xi32>",
     "xf.combine %rows, %s : (tensor<3x2x2x3xf64>, tensor<2x2x2xi32>) -> "
     "tensor<2x2x3xf64>"},
    {"combine_weighted",
     "%rows: tensor<3x2x2x3xf64>, %s: tensor<2x2x2xi32>, %w: tensor<2x2x2xf64>",
     "xf.combine %rows, %s, %w : (tensor<3x2x2x3xf64>, tensor<2x2x2xi32>, "
     "tensor<2x2x2xf64>) -> tensor<2x2x3xf64>",
     true},
    {"combine_dropless",
     "%rows: tensor<2x5x3xf64>, %s: tensor<2x5x1xi32>, %w: tensor<2x5x1xf64>",
     "xf.combine %rows, %s, %w : (tensor<2x5x3xf64>, tensor<2x5x1xi32>, "
     "tensor<2x5x1xf64>) -> tensor<2x5x3xf64>"},
    {"combine_position_runs",
     "%rows: tensor<2x5x3xf64>, %s: tensor<1x10x1xi32>, %w: "
     "tensor<1x10x1xf64>",
     "xf.combine %rows, %s, %w {position_runs = 2 : i64} : "
     "(tensor<2x5x3xf64>, tensor<1x10x1xi32>, tensor<1x10x1xf64>) -> "
     "tensor<1x10x3xf64>"},
    {"grouped_linear", "%rows: tensor<3x2x2x4xf64>, %w: tensor<3x5x4xf64>",
     "xf.grouped_linear %rows, %w : (tensor<3x2x2x4xf64>, tensor<3x5x4xf64>) "
     "-> "
     "tensor<3x2x2x5xf64>"},
    {"grouped_linear_dropless",
     "%rows: tensor<2x7x4xf64>, %w: tensor<2x5x4xf64>, %n: tensor<2x2x2xi32>",
     "xf.grouped_linear %rows, %w, %n : (tensor<2x7x4xf64>, "
     "tensor<2x5x4xf64>, tensor<2x2x2xi32>) -> tensor<2x7x5xf64>"},
};

INSTANTIATE_TEST_SUITE_P(EveryOp, GradientTest,
                         testing::ValuesIn(gradientCases),
                         [](const testing::TestParamInfo<GradientCase> &info) {
                           return std::string(info.param.name);
                         });
