//===- AccuracyTest.cpp - Tables, predictions and fits --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/File.h"
#include "passes/planning/accuracy/AccuracyPlot.h"
#include "passes/planning/accuracy/FitConstants.h"
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
          row.problem.system = systemOfRow(row, system);
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
      "Bridge-26.02,DeepSeekV3,DGX-B200,256,MXFP8,,,,4096,4096,1,1,16,,2790,"
      "725,\n"
      "x,Qwen3-30B-A3B,DGX-B200,8,MXFP8,16,2048,48,4096,64,1,1,1,,1,1,\n"
      "x,LLAMA3_70B,DGX-B200,8,FP8,,,,4096,32,1,1,1,,1,1,LoRA Performance\n");
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  ASSERT_EQ(rows->size(), 4u);
  const ThroughputRow &row = (*rows)[0];
  EXPECT_EQ(row.group, "published H100 dense fp8");
  EXPECT_EQ(row.problem.model.kvHeads, 8);
  EXPECT_EQ(row.plan.dp, 2);
  EXPECT_NEAR(row.measured, 128.0 * 8192 / (64 * 1619), 1e-9);
  const ThroughputRow &deep = (*rows)[1];
  EXPECT_EQ(deep.group, "published B200 experts fp8");
  EXPECT_EQ(deep.release, "26.02");
  EXPECT_EQ(deep.skipped, "");
  EXPECT_THAT((*rows)[2].skipped, HasSubstr("heads 16 is not that of Qwen3"));
  EXPECT_THAT((*rows)[3].skipped, HasSubstr("low-rank"));
}

/// Steps of a log of tuning have one plan and software that nobody describes:
/// the last one is predicted, and those of another log stay.
TEST(ThroughputFile, OfATuningLogTheLastStepIsLeft) {
  std::string text = "set,model,system,gpus,precision,seq,gbs,mbs,tp,pp,ep,"
                     "tokens_per_s_per_gpu,tflops_per_gpu,notes\n";
  for (const char *row :
       {"a,DeepSeek-V3 671B,GB200,256,MXFP8,4096,2048,1,1,8,32,2000,,step 0: x",
        "a,DeepSeek-V3 671B,GB200,256,MXFP8,4096,2048,1,1,8,32,3000,,step 1: y",
        "b,DeepSeek-V3,GB200,256,MXFP8,4096,2048,1,1,8,32,3000,,step 7: z",
        "b,DeepSeek-V3,GB200,256,MXFP8,4096,2048,1,1,8,32,3000,,steps"})
    text += std::string(row) + "\n";
  auto rows = readThroughput("t.csv", text);
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  ASSERT_EQ(rows->size(), 4u);
  EXPECT_THAT((*rows)[0].skipped, HasSubstr("tuning log"));
  for (int row : {1, 2, 3})
    EXPECT_EQ((*rows)[row].skipped, "") << row;
}

/// However tables write a name, it is this model's; a part of a name, or more
/// than a name, is another's.
TEST(PublishedModels, AreFoundByWholeNamesAlone) {
  struct Written {
    const char *name;
    int64_t layers, hidden;
  };
  for (const Written &written : std::initializer_list<Written>{
           {"DeepSeek-V3 671B", 62, 7168},
           {"deepseek-ai/DeepSeek-V3-Base", 62, 7168},
           {"DeepSeekV3 (w/ MTP)", 62, 7168},
           {"Qwen3-30B-A3B", 48, 2048},
           {"Qwen3_30B_a3B (tokendrop)", 48, 2048},
           {"Qwen/Qwen3-235B-A22B", 94, 4096},
           {"Llama 3.1 405B", 126, 16384},
           {"meta-llama/Llama-3.1-405B-Instruct", 126, 16384},
           {"LLAMA3_8B", 32, 4096},
           {"Meta Llama 3.3 70B", 80, 8192},
           {"GPT OSS 120B", 36, 2880},
           {"Kimi_K2", 61, 7168},
           {"Mixtral 8x7B", 32, 4096},
           {"NVIDIA-Nemotron-3-Nano-30B-A3B", 23, 2688},
           {"Nemotron_3_Super", 42, 4096},
           {"Nemotron-H-8B", 24, 4096}}) {
    std::string why;
    auto model = publishedModel(written.name, why);
    ASSERT_TRUE(model) << why;
    EXPECT_EQ(model->layers, written.layers) << written.name;
    EXPECT_EQ(model->hidden, written.hidden) << written.name;
    EXPECT_TRUE(checkShapes(*model, {4096, 8}).ok()) << written.name;
  }
  for (const char *name :
       {"", "Llama", "Llama 3", "Qwen3-30B", "Qwen3-235B-A22B-Thinking",
        "Qwen3.5-VL 35B-A3B", "DeepSeek-V3.2", "DeepSeek-V3 16B",
        "DeepSeekV4 Flash", "DeepSeek", "Llama 3.1 405B v2", "8x7B",
        "Nemotron_3_5_Lightning", "Nemotron 3", "GPT OSS", "xGPT OSS 120B"}) {
    std::string why;
    EXPECT_FALSE(publishedModel(name, why)) << name;
    EXPECT_EQ(why, "the sizes of " + std::string(name) + " are not known");
  }
}

/// Sizes against what others publish of the same models: billions of
/// parameters in their reports or model cards, and GFLOP a token as the
/// performance summary of Megatron-Bridge has them (TFLOP/s over tokens/s, each
/// of three or four figures), with its lengths of sequences.
TEST(PublishedModels, HaveTheirReportedParametersAndFlops) {
  struct Reported {
    const char *name;
    double billions; ///< 0: not compared.
    int64_t sequence;
    double teraflops, tokens; ///< Of a device and second; 0: not compared.
  };
  for (const Reported &reported : std::initializer_list<Reported>{
           {"Llama 3.1 405B", 405.9, 8192, 2646, 1048},
           {"Llama 3 70B", 70.6, 8192, 2348, 5248},
           {"Llama 3 8B", 8.03, 8192, 744, 14451},
           {"Mixtral 8x7B", 46.7, 0, 0, 0},
           {"Qwen3-30B-A3B", 30.5, 4096, 1041, 45275},
           {"Qwen3-235B-A22B", 235.1, 4096, 1335, 9015},
           {"GPT OSS 120B", 116.8, 4096, 1081, 33166},
           {"DeepSeek-V3", 685, 4096, 1648, 6338}, // 671 and 14 of MTP.
           {"Kimi K2", 1026, 4096, 1090, 5332},
           // Whose count has one expert more a token than its configuration.
           {"Nemotron 3 Nano", 31.6, 0, 0, 0},
           {"Nemotron 3 Super", 0, 8192, 827, 9728},
           {"Nemotron-H 8B", 8.1, 0, 0, 0},
           {"Nemotron-H 56B", 56.3, 0, 0, 0}}) {
    std::string why;
    auto model = publishedModel(reported.name, why);
    ASSERT_TRUE(model) << why;
    if (reported.billions > 0)
      EXPECT_NEAR(model->parameters() / (reported.billions * 1e9), 1, 0.012)
          << reported.name;
    if (reported.sequence == 0)
      continue;
    StepShape step{reported.sequence, 1};
    double each = modelFlops(*model, step) / double(reported.sequence);
    double theirs = reported.teraflops * 1e12 / reported.tokens;
    EXPECT_NEAR(each / theirs, 1, 0.02) << reported.name;
  }
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

/// Rows of one node are put together from traces, of tokens that are not
/// padded; those of many nodes were measured.
TEST(ThroughputFile, RowsOfOneNodeAreTraced) {
  auto rows = readThroughput(
      "t.csv", measuredHeader + "8,32,4,1024,16,24,1024,2,2,2,219.7\n"
                                "64,512,4,3072,32,30,2048,2,32,1,4\n");
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  const ThroughputRow &one = (*rows)[0], &many = (*rows)[1];
  EXPECT_EQ(one.group, "measured one node");
  EXPECT_EQ(one.problem.model.vocab, 50257);
  EXPECT_FALSE(one.problem.model.tied);
  EXPECT_EQ(many.problem.model.vocab, 51200);
  EXPECT_TRUE(many.problem.model.tied);
  cluster::System a100 = *cluster::systemNamed("a100");
  a100.mutable_software()->set_host_collective_seconds(1e-5);
  cluster::Software expected = a100.software();
  EXPECT_EQ(systemOfRow(many, a100).software().gradient_bytes(), 4);
  EXPECT_EQ(systemOfRow(many, a100).software().host_collective_seconds(), 1e-5);
  expected.MergeFrom(a100.traced());
  const cluster::Software traced = systemOfRow(one, a100).software();
  EXPECT_EQ(traced.gradient_bytes(), 2);
  EXPECT_EQ(traced.host_collective_seconds(), 0);
  EXPECT_EQ(traced.gemm(), a100.software().gemm());
  EXPECT_EQ(traced.unaligned_gemm(), expected.unaligned_gemm());
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
  auto fit = fitConstants({start}, *rows, options);
  ASSERT_TRUE(fit.ok()) << fit.status().message();
  const cluster::Software &found = fit->systems[0].software();
  EXPECT_NEAR(found.gemm() / truth.software().gemm(), 1, 0.03);
  EXPECT_NEAR(found.host_op_seconds() / truth.software().host_op_seconds(), 1,
              0.03);
  EXPECT_LT(fit->heldOut, 0.02);
  auto again = fitConstants({start}, *rows, options);
  EXPECT_EQ(again->systems[0].SerializeAsString(),
            fit->systems[0].SerializeAsString());
  auto validated = crossValidate({start}, *rows, options);
  ASSERT_TRUE(validated.ok()) << validated.status().message();
  ASSERT_EQ(validated->size(), rows->size());
  for (const RowPrediction &row : *validated) {
    EXPECT_TRUE(row.heldOut);
    EXPECT_LT(std::abs(row.error()), 0.03) << row.row.label;
  }
}

/// A table of the published layout whose times are what `systems` predict.
std::vector<ThroughputRow>
invertedRows(const std::vector<cluster::System> &systems) {
  std::string text = "set,model,system,gpus,precision,seq,gbs,mbs,tp,pp,ep,"
                     "iter_time_s,tflops_per_gpu,notes\n";
  for (const char *system : {"GB200", "GB300"})
    for (const char *release : {"25.11", "26.04", "26.08"})
      for (const char *plan : {"1,1,1,8", "2,1,1,8", "4,1,1,16", "1,1,2,8"})
        text += std::string("Bridge-") + release + ",Qwen3-30B-A3B," + system +
                ",16,MXFP8,4096,128," + plan + ",1,,\n";
  std::vector<ThroughputRow> rows = *readThroughput("t.csv", text);
  for (ThroughputRow &row : rows)
    for (const cluster::System &system : systems)
      if (system.name() == row.systemName) {
        ThroughputRow complete = row;
        complete.problem.system = cluster::systemAtRelease(system, row.release);
        completePlan(complete);
        row.measured = *predictRow(complete);
      }
  return rows;
}

/// Constants of both systems, of one, and of software before a release.
TEST(FitConstants, FindsThoseOfSystemsAndReleases) {
  std::vector<cluster::System> truth = {*cluster::systemNamed("gb200"),
                                        *cluster::systemNamed("gb300")};
  for (cluster::System &system : truth) {
    system.mutable_software()->set_memory(0.7);
    ASSERT_EQ(system.earlier(1).before(), "26.05");
    system.mutable_earlier(1)->mutable_software()->set_expert_launches(3);
  }
  truth[0].mutable_software()->set_gemm_8bit(0.4);
  truth[1].mutable_software()->set_gemm_8bit(0.7);
  std::vector<ThroughputRow> rows = invertedRows(truth);
  std::vector<cluster::System> start = truth;
  for (cluster::System &system : start) {
    system.mutable_software()->set_memory(0.9);
    system.mutable_software()->set_gemm_8bit(0.55);
    system.mutable_earlier(1)->mutable_software()->set_expert_launches(1);
  }
  FitOptions options;
  options.constants = {"software.memory", "gb200:software.gemm_8bit",
                       "gb300:software.gemm_8bit",
                       "26.05@software.expert_launches"};
  auto fit = fitConstants(start, rows, options);
  ASSERT_TRUE(fit.ok()) << fit.status().message();
  for (size_t i : {0, 1}) {
    const cluster::Software &found = fit->systems[i].software(),
                            &true_ = truth[i].software();
    EXPECT_NEAR(found.memory() / true_.memory(), 1, 0.05);
    EXPECT_NEAR(found.gemm_8bit() / true_.gemm_8bit(), 1, 0.05);
    EXPECT_NEAR(fit->systems[i].earlier(1).software().expert_launches(), 3,
                0.3);
    EXPECT_EQ(found.expert_launches(), true_.expert_launches());
  }
  // What is held out has no say: with other times the fit is the same.
  std::vector<ThroughputRow> others = rows;
  std::vector<int64_t> turns = turnsOf(rows);
  for (size_t i = 0; i < others.size(); ++i)
    if (turns[i] % 2 == 1)
      others[i].measured *= 3;
  auto same = fitConstants(start, others, options);
  EXPECT_GT(same->heldOut, 1);
  for (size_t i : {0, 1})
    EXPECT_EQ(same->systems[i].software().SerializeAsString(),
              fit->systems[i].software().SerializeAsString());
}

/// What rows of Megatron-Bridge leave to their recipes; of another set,
/// nothing.
TEST(ThroughputFile, RowsHaveTheirRecipes) {
  auto rows = readThroughput(
      "t.csv",
      "set,model,system,gpus,precision,seq,gbs,mbs,tp,pp,ep,iter_time_s,"
      "tflops_per_gpu,notes\n"
      "Bridge-26.04,Nemotron_3_Super,GB200,64,MXFP8,8192,512,1,2,1,64,9,,\n"
      "zoo,Nemotron_3_Super,GB200,64,MXFP8,8192,512,1,2,1,64,9,,\n"
      "Bridge-26.04,Qwen3_235B_a22B,B300,256,MXFP8,4096,8192,1,1,8,8,9,,\n"
      "Bridge-26.02,Qwen3_235B_a22B,GB300,256,MXFP8,4096,8192,1,1,8,8,9,,\n"
      "Bridge-25.09,Qwen3_30B_a3B (tokendrop),B200,8,FP8,4096,512,1,1,1,8,9,,"
      "\n");
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  ASSERT_EQ(rows->size(), 5u);
  auto software = [&](size_t row) {
    const ThroughputRow &one = (*rows)[row];
    return systemOfRow(one, *cluster::systemNamed(one.systemName)).software();
  };
  EXPECT_EQ((*rows)[0].plan.recompute, Recompute::Selective);
  EXPECT_TRUE((*rows)[0].plan.modules.has(RecomputeModule::Moe));
  EXPECT_TRUE(software(0).whole_experts_again());
  EXPECT_EQ((*rows)[1].plan.recompute, Recompute::None);
  EXPECT_FALSE(software(1).whole_experts_again());
  // All-to-all, and no graphs: launches as before 26, the rest as of 26.02.
  cluster::System b300 = *cluster::systemNamed("b300");
  const cluster::Software oldest =
      cluster::systemAtRelease(b300, "25").software();
  EXPECT_FALSE(software(2).dispatch_once());
  EXPECT_EQ(software(2).expert_overlap(), oldest.expert_overlap());
  EXPECT_EQ(software(2).host_op_seconds(), oldest.host_op_seconds());
  EXPECT_EQ(software(2).expert_gemm(),
            cluster::systemAtRelease(b300, "26.04").software().expert_gemm());
  EXPECT_TRUE(software(3).dispatch_once());
  EXPECT_EQ(software(4).expert_host_seconds(), 0);
}

/// An exchange beside another microbatch's passes hides what its system says,
/// and costs the host as much more.
TEST(ThroughputFile, ExchangesRunBesidePassesWhereRecipesSaySo) {
  auto rows = readThroughput(
      "t.csv",
      "set,model,system,gpus,precision,seq,gbs,mbs,tp,pp,vp,ep,iter_time_s,"
      "tflops_per_gpu,notes\n"
      "Bridge-26.04,Qwen3_235B_a22B,H100,256,FP8,4096,8192,1,2,8,4,32,9,,\n"
      "zoo,Qwen3_235B_a22B,H100,256,BF16,4096,8192,1,2,8,4,32,9,,DeepEP\n"
      "zoo,Qwen3_235B_a22B,H100,256,BF16,4096,8192,1,2,8,,32,9,,"
      "DeepEP; EP overlap; VPP12\n");
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  cluster::System h100 = *cluster::systemNamed("h100");
  cluster::Software &set = *h100.mutable_software();
  set.set_expert_overlap(0.1);
  set.set_beside_overlap(0.5);
  set.set_beside_host(3);
  h100.mutable_earlier(0)->mutable_software()->set_expert_overlap(0.1);
  auto software = [&](size_t row) {
    return systemOfRow((*rows)[row], h100).software();
  };
  EXPECT_FALSE(software(0).dispatch_once());
  EXPECT_TRUE(software(1).dispatch_once());
  EXPECT_TRUE(software(2).dispatch_once());
  EXPECT_EQ(software(1).expert_overlap(), 0.1);
  EXPECT_EQ(software(1).host_op_seconds(), set.host_op_seconds());
  for (size_t row : {0, 2}) {
    EXPECT_EQ(software(row).expert_overlap(), 0.5);
    EXPECT_EQ(software(row).host_op_seconds(), 3 * set.host_op_seconds());
    EXPECT_EQ(software(row).host_collective_seconds(),
              3 * set.host_collective_seconds());
    EXPECT_EQ(software(row).expert_host_seconds(),
              3 * set.expert_host_seconds());
  }
  EXPECT_EQ((*rows)[2].plan.chunks, 12);
  EXPECT_FALSE((*rows)[2].anyChunks);
}

/// Tables of Megatron-Bridge say "n/a" where there are no virtual stages; two
/// rows have the plan of another row; and tensors have one scale or many.
TEST(ThroughputFile, PlansAndScalesAreThoseOfRecipes) {
  auto rows = readThroughput(
      "t.csv",
      "set,model,system,gpus,precision,seq,gbs,mbs,tp,pp,vp,ep,iter_time_s,"
      "tflops_per_gpu\n"
      "Bridge-26.04,Qwen3_235B_a22B,GB300,256,MXFP8,4096,8192,2,1,4,,32,9,\n"
      "zoo,Qwen3_235B_a22B,GB300,256,MXFP8,4096,8192,2,1,4,,32,9,\n"
      "Bridge-26.02.01,Qwen3_30B_a3B,H100,16,FP8,4096,1024,1,1,2,12,8,9,\n"
      "Bridge-26.02,Qwen3_30B_a3B,H100,16,FP8,4096,1024,1,1,2,12,8,9,\n"
      "Bridge-26.02.01,LLAMA3_70B,GB300,64,MXFP8,8192,256,2,1,4,,,9,\n"
      "Bridge-26.02.01,LLAMA3_70B,GB300,64,FP8,8192,256,2,1,1,,,9,\n");
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  auto text = [&](size_t row) { return printPlan((*rows)[row].plan); };
  EXPECT_FALSE((*rows)[0].anyChunks);
  EXPECT_TRUE((*rows)[1].anyChunks);
  EXPECT_EQ(text(2), "pp=1,dp=16,tp=1,ep=16,mbs=1,zero=1");
  EXPECT_EQ(text(3), "pp=2,dp=8,tp=1,ep=8,v=12,mbs=1,zero=1");
  EXPECT_EQ(text(4), "pp=4,dp=16,tp=1,v=5,mbs=1,zero=1");
  EXPECT_EQ(text(5), "pp=1,dp=64,tp=1,mbs=2,zero=1");
  cluster::System gb300 = *cluster::systemNamed("gb300");
  gb300.mutable_software()->set_quantize_bytes(5);
  gb300.mutable_software()->set_tensor_quantize_bytes(2);
  auto bytes = [&](size_t row) {
    return systemOfRow((*rows)[row], gb300).software().quantize_bytes();
  };
  EXPECT_EQ(bytes(4), 5);
  EXPECT_EQ(bytes(5), 2);
}

/// What recipes of DeepSeek-V3 have: heads made again until whole steps are
/// graphs, then attention in 8 bits on GB300; on H100 nothing of the tensor and
/// the data axis beside anything.
TEST(ThroughputFile, RecipesTellWhatRunsAgainAndApart) {
  auto rows = readThroughput(
      "t.csv",
      "set,model,system,gpus,precision,seq,gbs,mbs,tp,pp,ep,iter_time_s,"
      "tflops_per_gpu\n"
      "Bridge-25.09,DeepSeekV3 (dropless),H100,1024,FP8,4096,8192,1,2,8,64,9,\n"
      "Bridge-26.04,DeepSeekV3,GB300,256,MXFP8,4096,4096,1,1,2,32,9,\n"
      "Bridge-26.06,DeepSeekV3,GB300,256,MXFP8,4096,4096,1,1,2,32,9,\n"
      "Bridge-25.09,DeepSeekV3 (tokendrop),B200,256,FP8,4096,2048,1,1,16,8,9,\n"
      "Bridge-25.11,Qwen3_235B_a22B,GB200,256,BF16,4096,8192,1,1,8,32,9,\n"
      "zoo,DeepSeekV3,H100,1024,FP8,4096,8192,1,2,8,64,9,\n");
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  auto of = [&](size_t row) {
    const ThroughputRow &one = (*rows)[row];
    return systemOfRow(one, *cluster::systemNamed(one.systemName)).software();
  };
  EXPECT_TRUE(of(0).latent_again());
  EXPECT_EQ(of(0).tensor_overlap(), 0);
  EXPECT_EQ(of(0).data_overlap(), 0);
  EXPECT_TRUE(of(1).latent_again());
  EXPECT_FALSE(of(2).latent_again());
  cluster::System gb300 = *cluster::systemNamed("gb300");
  EXPECT_EQ(of(1).attention(), gb300.software().attention());
  EXPECT_DOUBLE_EQ(of(2).attention() * gb300.device().peak_16bit(),
                   gb300.software().attention() * gb300.device().peak_8bit());
  EXPECT_TRUE(of(3).latent_again());
  EXPECT_EQ(of(3).expert_host_seconds(), 0);
  // Graphs of parts and tokens once, before others had them.
  cluster::System gb200 = *cluster::systemNamed("gb200");
  EXPECT_TRUE(of(4).dispatch_once());
  EXPECT_EQ(of(4).expert_host_seconds(),
            cluster::systemAtRelease(gb200, "26.04")
                .software()
                .expert_host_seconds());
  EXPECT_FALSE(of(5).latent_again());
  EXPECT_GT(of(5).tensor_overlap(), 0);
}

/// Rows that differ in release or batch alone take one turn.
TEST(Accuracy, ConfigurationsTakeTurns) {
  std::vector<ThroughputRow> rows =
      invertedRows({*cluster::systemNamed("gb200")});
  std::vector<int64_t> turns = turnsOf(rows);
  // Four plans in each of three releases, of each of two systems' groups.
  for (size_t i = 0; i < turns.size(); ++i)
    EXPECT_EQ(turns[i], int64_t(i % 4)) << i;
  ThroughputRow larger = rows[1], skipped = rows[2], wider = rows[3];
  larger.problem.step.globalBatch *= 2;
  skipped.skipped = "why";
  wider.problem.devices *= 2;
  EXPECT_THAT(turnsOf({rows[0], rows[1], larger, skipped, wider}),
              testing::ElementsAre(0, 1, 1, -1, 2));
}

TEST(FitConstants, RefusesWhatItCannotFit) {
  cluster::System a100 = *cluster::systemNamed("a100");
  auto rows = readThroughput("t.csv", invertedTable(a100));
  auto why = [&](const cluster::System &system, const char *constant) {
    FitOptions options;
    options.constants = {constant};
    return fitConstants({system}, *rows, options).status().message();
  };
  EXPECT_THAT(why(a100, "software.luck"), HasSubstr("software.luck is no"));
  EXPECT_THAT(why(a100, "26@network.latency"), HasSubstr("is no constant"));
  EXPECT_THAT(why(a100, "h100:software.gemm"), HasSubstr("no system h100"));
  EXPECT_THAT(why(a100, "26@software.gemm"),
              HasSubstr("a100 has no software before 26"));
  EXPECT_THAT(why(*cluster::systemNamed("h100"), "software.gemm"),
              HasSubstr("no row is of the system h100"));
  EXPECT_THAT(why(*cluster::systemNamed("h100"), "traced.loss_bytes"),
              HasSubstr("h100 has no software of traces"));
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

/// Rows that were held out from the fit of the shipped constants: what
/// docs/accuracy.md reports of them, and a fifth more.
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
        Target{"measured-a100-multi-node.csv", "measured many nodes", 0.054},
        Target{"measured-a100-single-node.csv", "measured one node", 0.059},
        Target{"published.csv", "published A100", 0.05},
        Target{"published.csv", "published H100 dense", 0.017},
        Target{"published.csv", "published H100 dense fp8", 0.077},
        Target{"published.csv", "published H100 experts", 0.063},
        Target{"published.csv", "published H100 experts fp8", 0.171},
        Target{"published.csv", "published GB200 dense fp8", 0.122},
        Target{"published.csv", "published GB300 dense fp8", 0.041},
        Target{"published.csv", "published GB200 experts fp8", 0.128},
        Target{"published.csv", "published GB300 experts fp8", 0.111},
        Target{"published.csv", "published B200 experts fp8", 0.11},
        Target{"published.csv", "published B300 experts fp8", 0.079},
        Target{"published.csv", "published memory", 0.03}));

} // namespace
} // namespace hocket::planning
