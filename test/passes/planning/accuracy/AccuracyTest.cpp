//===- AccuracyTest.cpp - Tables, predictions and fits --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/accuracy/AccuracyPlot.h"
#include "passes/planning/accuracy/FitConstants.h"
#include "runtime/base/File.h"
#include "runtime/cluster/Systems.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

namespace hocket::planning {
namespace {

using testing::HasSubstr;

const std::string measuredHeader =
    "# GPUs,global batch,micro batch,hidden size,attention heads,# layers,"
    "sequence length,tensor parallelism,data parallelism,pipeline parallelism,"
    "iteration time (ms)\n";

/// Rows whose times are what `system` predicts.
std::string invertedTable(const cluster::System &system) {
  std::string text = measuredHeader;
  for (int64_t layers : {12, 24})
    for (int64_t hidden : {1024, 4096})
      for (int64_t tp : {1, 4})
        for (int64_t microBatch : {1, 4}) {
          std::string shape = "8,64," + std::to_string(microBatch) + "," +
                              std::to_string(hidden) + ",16," +
                              std::to_string(layers) + ",1024," +
                              std::to_string(tp) + "," +
                              std::to_string(8 / tp) + ",1,";
          auto rows = readThroughput("t", measuredHeader + shape + "1\n");
          ThroughputRow row = (*rows)[0];
          row.problem.system = system;
          text += shape + std::to_string(*predictRow(row) * 1e3) + "\n";
        }
  return text;
}

TEST(ThroughputFile, ReadsMeasuredRows) {
  auto rows = readThroughput(
      "t.csv", measuredHeader + "64,512,4,3072,32,30,2048,2,32,1,4078.2\n");
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  ASSERT_EQ(rows->size(), 1u);
  const ThroughputRow &row = (*rows)[0];
  EXPECT_EQ(row.problem.devices, 64);
  EXPECT_EQ(printPlan(row.plan), "pp=1,dp=32,tp=2,mbs=4,recompute=full");
  EXPECT_DOUBLE_EQ(row.measured, 4.0782);
}

TEST(ThroughputFile, ReadsPublishedRows) {
  auto rows = readThroughput(
      "t.csv",
      "set,model,system,gpus,precision,heads,hidden,layers,seq,gbs,mbs,tp,pp,"
      "vp,tokens_per_s_per_gpu,tflops_per_gpu,notes\n"
      "x,LLAMA3_70B,DGX-H100,64,FP8,,,,8192,128,1,4,8,5,1619,727,\"a, "
      "\"\"b\"\"\"\n"
      "x,Nemotron_3_Nano,DGX-H100,16,FP8,,,,8192,128,1,1,1,,1,1,\n");
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  ASSERT_EQ(rows->size(), 2u);
  const ThroughputRow &row = (*rows)[0];
  EXPECT_EQ(row.group, "published H100 dense fp8");
  EXPECT_EQ(row.problem.model.kvHeads, 8);
  EXPECT_EQ(row.plan.dp, 2);
  EXPECT_NEAR(row.measured, 128.0 * 8192 / (64 * 1619), 1e-9);
  EXPECT_THAT((*rows)[1].skipped, HasSubstr("state-space"));
}

/// Whatever stands above a row: its sizes are those of the model it names, or
/// none. (Figures of 2205.05198 give names alone.)
TEST(ThroughputFile, ARowNeverHasTheSizesOfAnotherModel) {
  auto rows = readThroughput(
      "t.csv",
      "set,model,system,gpus,precision,heads,hidden,layers,seq,gbs,mbs,tp,pp,"
      "vp,iter_time_s,tflops_per_gpu,notes\n"
      "a,GPT 530B,A100,280,fp16,128,20480,105,2048,280,1,8,35,3,49.05,,\n"
      "SeqSel-Fig1-mem,turing-530B,A100,,,,,,,,,,,,,,first: a=31.6\n"
      "SeqSel-Fig1-mem,gpt3-175B,A100,,,,,,,,,,,,,,first: a=30\n"
      "SeqSel-Fig7-mem,megatron-1T,A100,,,,,,,,,,,,,,first: a=30\n"
      "SeqSel-Fig7-mem,gpt3-13B,A100,,,,,,,,,,,,,,first: a=30\n"
      "b,gpt3-175B,A100,64,fp16,,,,2048,64,1,8,8,3,18.13,,\n");
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  ASSERT_EQ(rows->size(), 6u);
  std::vector<std::pair<int64_t, int64_t>> sizes;
  for (int row : {1, 2, 3}) {
    sizes.emplace_back((*rows)[row].problem.model.layers,
                       (*rows)[row].problem.model.hidden);
    EXPECT_EQ((*rows)[row].skipped, "");
  }
  EXPECT_THAT(sizes,
              testing::ElementsAre(std::pair(105, 20480), std::pair(96, 12288),
                                   std::pair(128, 25600)));
  EXPECT_EQ(printPlan((*rows)[3].plan), "pp=64,dp=1,tp=8,mbs=1");
  for (int row : {4, 5})
    EXPECT_THAT((*rows)[row].skipped, HasSubstr("the sizes of gpt3-1"));
}

TEST(ThroughputFile, BadTablesAreRefused) {
  auto message = [](const std::string &text) {
    return readThroughput("t.csv", text).status().message();
  };
  EXPECT_THAT(message(""), HasSubstr("no line of column names"));
  EXPECT_THAT(message("a,b\n1,2\n"), HasSubstr("neither a column"));
  EXPECT_THAT(message(measuredHeader), HasSubstr("no rows"));
  EXPECT_THAT(message(measuredHeader + "1,2\n"), HasSubstr("2 cells under 11"));
  EXPECT_THAT(message(measuredHeader + "64,512,x,3072,32,30,2048,2,32,1,1\n"),
              HasSubstr("t.csv:2: micro batch 'x'"));
  EXPECT_THAT(message(measuredHeader + "64,512,0,3072,32,30,2048,2,32,1,1\n"),
              HasSubstr("micro batch '0'"));
  EXPECT_THAT(message(measuredHeader + "64,1e300,1,3072,32,30,2048,2,32,1,1\n"),
              HasSubstr("global batch"));
  EXPECT_THAT(message("iteration time (ms)\n1\n"), HasSubstr("no column"));
  EXPECT_THAT(message(measuredHeader + "\"64\n"), HasSubstr("does not end"));
}

/// A row whose plan cannot be is skipped, and says why.
TEST(Accuracy, ImpossibleRowsAreSkipped) {
  auto rows = readThroughput(
      "t.csv", measuredHeader + "64,512,3,3072,32,30,2048,2,32,1,4078.2\n");
  auto predictions = predictRows(*rows, cluster::systemNamed);
  EXPECT_THAT(predictions[0].skipped, HasSubstr("is not a multiple of"));
  EXPECT_EQ(statisticsOf(predictions, [](auto &) { return true; }).rows, 0);
}

TEST(Accuracy, StatisticsAreThoseOfTheErrors) {
  std::vector<RowPrediction> rows(4);
  double predicted[] = {1.1, 0.8, 1, 1.3};
  for (size_t i = 0; i < 4; ++i) {
    rows[i].row.measured = 1;
    rows[i].predicted = predicted[i];
  }
  ErrorStatistics of = statisticsOf(rows, [](auto &) { return true; });
  EXPECT_EQ(of.rows, 4);
  EXPECT_NEAR(of.mean, 0.15, 1e-12);
  EXPECT_NEAR(of.median, 0.15, 1e-12);
  EXPECT_NEAR(of.bias, 0.05, 1e-12);
  EXPECT_NEAR(of.worst, 0.3, 1e-12);
}

/// Measurements made with known constants give them back, from constants that
/// are off, and the held-out rows agree.
TEST(FitConstants, FindsTheConstantsOfATable) {
  cluster::System truth = *cluster::systemNamed("a100"), start = truth;
  auto rows = readThroughput("t.csv", invertedTable(truth));
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  start.mutable_software()->set_gemm(0.6);
  start.mutable_software()->set_host_op_seconds(80e-6);
  FitOptions options;
  options.constants = {"software.gemm", "software.host_op_seconds"};
  auto fit = fitConstants(start, *rows, options);
  ASSERT_TRUE(fit.ok()) << fit.status().message();
  EXPECT_NEAR(fit->system.software().gemm() / truth.software().gemm(), 1, 0.03);
  EXPECT_NEAR(fit->system.software().host_op_seconds() /
                  truth.software().host_op_seconds(),
              1, 0.03);
  EXPECT_LT(fit->heldOut, 0.02);
  auto again = fitConstants(start, *rows, options);
  EXPECT_EQ(again->system.SerializeAsString(), fit->system.SerializeAsString());
}

TEST(FitConstants, RefusesWhatItCannotFit) {
  auto rows =
      readThroughput("t.csv", invertedTable(*cluster::systemNamed("a100")));
  FitOptions options;
  options.constants = {"software.luck"};
  EXPECT_FALSE(
      fitConstants(*cluster::systemNamed("a100"), *rows, options).ok());
  options.constants = {"software.gemm"};
  EXPECT_FALSE(
      fitConstants(*cluster::systemNamed("h100"), *rows, options).ok());
}

TEST(AccuracyPlot, HasAPointForEachRow) {
  auto rows =
      readThroughput("t.csv", invertedTable(*cluster::systemNamed("a100")));
  std::string svg = plotAccuracy(predictRows(*rows, cluster::systemNamed));
  size_t points = 0;
  for (size_t at = 0; (at = svg.find("<circle", at)) != std::string::npos; ++at)
    ++points;
  EXPECT_EQ(points, rows->size());
}

/// The folder of measured and published runs, where there is one.
std::string referenceFile(const std::string &name) {
  const char *given = std::getenv("HOCKET_REFERENCE_DIR");
  std::string folder =
      given ? given : std::string(HOCKET_SOURCE_DIR) + "/shared/reference";
  return folder + "/throughput/" + name;
}

struct Target {
  const char *file, *group;
  double mean;
};

class ReferenceTest : public testing::TestWithParam<Target> {};

/// Rows that were held out from the fit of the shipped constants.
TEST_P(ReferenceTest, HeldOutRowsAreWithinTheTarget) {
  std::string path = referenceFile(GetParam().file);
  auto text = readFile(path, 64 << 20);
  if (!text.ok())
    GTEST_SKIP() << "no table of runs here (HOCKET_REFERENCE_DIR): " << path;
  auto rows = readThroughput(GetParam().file, *text);
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  auto predictions = predictRows(*rows, cluster::systemNamed);
  ErrorStatistics of = statisticsOf(predictions, [](const RowPrediction &row) {
    return row.heldOut && row.row.group == GetParam().group;
  });
  EXPECT_GE(of.rows, 1);
  EXPECT_LE(of.mean, GetParam().mean);
}

INSTANTIATE_TEST_SUITE_P(
    Tables, ReferenceTest,
    testing::Values(
        Target{"measured-a100-multi-node.csv", "measured many nodes", 0.08},
        Target{"measured-a100-single-node.csv", "measured one node", 0.10},
        Target{"published.csv", "published A100", 0.06},
        Target{"published.csv", "published H100 dense", 0.10},
        Target{"published.csv", "published H100 dense fp8", 0.10},
        Target{"published.csv", "published memory", 0.05}));

} // namespace
} // namespace hocket::planning
