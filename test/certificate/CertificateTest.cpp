//===- CertificateTest.cpp - Every damage is found ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compiles small models for many plans, and damages the programs. The checker
/// must find each damage, by its rule and its place, and nothing in what the
/// compiler made. HOCKET_DAMAGE_SEED draws other damages.
///
//===----------------------------------------------------------------------===//

#include "runtime/program/certificate/IssueOrder.h"
#include "runtime/program/check/ProgramCheck.h"
#include "test/certificate/Damage.h"
#include "test/certificate/FieldDamage.h"
#include "test/certificate/StreamOracle.h"
#include "test/end_to_end/support/CompiledModel.h"

#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <map>
#include <sstream>

using namespace hocket;
using namespace hocket::test;
using program::Program;

namespace {

const char *const dense =
    "model { layers: 4 hidden: 16 heads: 4 kv_heads: 2 vocab_size: 29 } ";
const char *const experts =
    "model { layers: 2 hidden: 16 heads: 4 kv_heads: 2 ffn: 32 vocab_size: 29 "
    "max_positions: 16 norm: RMS_NORM activation: SWIGLU position: ROTARY "
    "bias: false tied_embeddings: false moe { experts: 4 top_k: 2 ffn: 24 } } ";
const char *const training =
    "training { micro_batch_size: 1 global_batch_size: 12 sequence_length: 8 "
    "optimizer { adamw { } } } ";

struct PlanCase {
  unsigned streams; ///< Of a role that communicate, at most.
  const char *model;
  const char *plan;          ///< Overrides below `plan.`.
  const char *training = ""; ///< Overrides below `training.`.
};

const PlanCase plans[] = {
    {2, dense, "tensor_parallel=2"},
    {4, dense, "tensor_parallel=4 sequence_parallel=true"},
    {2, dense, "data_parallel=2"},
    {2, dense, "data_parallel=3 zero_stage=1"},
    {2, dense, "data_parallel=2 zero_stage=3"},
    {3, dense, "data_parallel=2 tensor_parallel=2 zero_stage=2"},
    {3, dense, "data_parallel=2 tensor_parallel=2"},
    {3, dense, "pipeline_parallel=2"},
    {5, dense, "pipeline_parallel=4 schedule=gpipe"},
    {5, dense, "pipeline_parallel=4"},
    {5, dense, "pipeline_parallel=2 virtual_stages=2", "global_batch_size=4"},
    {5, dense, "pipeline_parallel=4 schedule=zb-h1"},
    {5, dense, "pipeline_parallel=4 schedule=zb-h2", "global_batch_size=8"},
    {7, dense, "pipeline_parallel=2 virtual_stages=2 schedule=zb-v",
     "global_batch_size=6"},
    {7, dense, "pipeline_parallel=2 virtual_stages=2 schedule=dualpipe-v",
     "global_batch_size=6"},
    {6, dense,
     "pipeline_parallel=2 data_parallel=2 tensor_parallel=2 "
     "sequence_parallel=true"},
    {2, experts, "data_parallel=2 expert_parallel=2"},
    {2, experts, "data_parallel=4 expert_parallel=2 zero_stage=3"},
    {4, experts,
     "tensor_parallel=4 sequence_parallel=true expert_parallel=2 "
     "expert_tensor_parallel=2"},
    {3, experts, "context_parallel=4 context_strategy=RING expert_parallel=2"},
};

Program compilePlan(const PlanCase &plan) {
  CompileChoice choice;
  auto add = [&](const char *words, const char *field) {
    std::istringstream list(words);
    for (std::string word; list >> word;)
      choice.overrides.push_back(field + word);
  };
  add(plan.plan, "plan.");
  add(plan.training, "training.");
  return compileProgram(std::string(plan.model) + training, choice);
}

/// Compiled once.
const std::vector<Program> &programs() {
  static const std::vector<Program> all = [] {
    std::vector<Program> result;
    for (const PlanCase &plan : plans) {
      SCOPED_TRACE(plan.plan);
      result.push_back(compilePlan(plan));
    }
    return result;
  }();
  return all;
}

uint64_t seedOfRun() {
  const char *text = std::getenv("HOCKET_DAMAGE_SEED");
  return text ? std::strtoull(text, nullptr, 10) : 20251;
}

std::string textOf(const std::vector<ProgramFault> &faults) {
  std::string text;
  for (const ProgramFault &fault : faults)
    text += "  " + fault.text() + "\n";
  return text.empty() ? "  nothing\n" : text;
}

/// Whether a finding is of the damage's kind and names its place.
bool isFound(const Damage &damage, const std::vector<ProgramFault> &faults) {
  for (const ProgramFault &fault : faults)
    if (damage.rules.count(fault.rule) &&
        fault.text().find(damage.place) != std::string::npos)
      return true;
  return false;
}

/// Damages every program in as many ways as there are kinds, `rounds` times.
/// Returns how many were done, by kind.
std::map<std::string, int> damageAll(std::span<const DamageKind> kinds,
                                     int rounds, Random &random) {
  std::map<std::string, int> done;
  for (int round = 0; round < rounds; ++round)
    for (size_t p = 0; p < programs().size(); ++p)
      for (const DamageKind &kind : kinds) {
        // Most draws do no harm for some kinds.
        std::optional<Damage> damage;
        Program program;
        for (int attempt = 0; attempt < 6 && !damage; ++attempt) {
          program = programs()[p];
          damage = kind.damage(program, random);
        }
        if (!damage)
          continue;
        ++done[kind.name];
        std::vector<ProgramFault> faults = findProgramFaults(program);
        EXPECT_TRUE(isFound(*damage, faults))
            << plans[p].plan << ": " << kind.name << " (" << damage->what
            << ", " << damage->place << "), found was\n"
            << textOf(faults);
      }
  return done;
}

void expectAll(std::span<const DamageKind> kinds,
               const std::map<std::string, int> &done) {
  for (const DamageKind &kind : kinds)
    EXPECT_TRUE(done.count(kind.name)) << kind.name << " was never done";
}

TEST(Certificate, WhatTheCompilerMakesIsSound) {
  for (size_t p = 0; p < programs().size(); ++p) {
    SCOPED_TRACE(plans[p].plan);
    const Program &program = programs()[p];
    EXPECT_EQ(textOf(findProgramFaults(program)), "  nothing\n");
    for (int role = 0; role < program.roles_size(); ++role)
      EXPECT_FALSE(streamFaults(program, role).any()) << "role " << role;
  }
}

/// Pipelines alone receive before they need it, and so may not do one message
/// after the other; what their GPUs need room for follows from their streams.
TEST(Certificate, KnowsWhoseOrderOfIssueEnds) {
  for (size_t p = 0; p < programs().size(); ++p) {
    SCOPED_TRACE(plans[p].plan);
    bool isPipeline =
        std::string_view(plans[p].plan).starts_with("pipeline_parallel");
    EXPECT_EQ(endsInIssueOrder(programs()[p]), !isPipeline);
    EXPECT_EQ(streamsThatCommunicate(programs()[p]), plans[p].streams);
  }
}

bool has(const std::vector<ProgramFault> &faults, ProgramRule rule) {
  return std::any_of(
      faults.begin(), faults.end(),
      [&](const ProgramFault &fault) { return fault.rule == rule; });
}

/// Events that are taken away at random, some of them needless: the checker
/// finds neither more nor less than brute force.
TEST(Certificate, FindsNoHarmWhereThereIsNone) {
  Random random(seedOfRun());
  int harmless = 0, harmful = 0;
  for (int round = 0; round < 4; ++round)
    for (const Program &sound : programs()) {
      auto spot = drawSpot(sound, random,
                           [](const Program &, const program::Instruction &i) {
                             return i.has_wait() || i.has_record();
                           });
      if (!spot)
        continue;
      Program program = sound;
      neutralize(program, *spot);
      StreamFaults expected = streamFaults(program, spot->role);
      std::vector<ProgramFault> faults = findProgramFaults(program);
      EXPECT_EQ(has(faults, ProgramRule::Race), expected.race);
      EXPECT_EQ(has(faults, ProgramRule::EventRecorded), expected.unrecorded);
      ++(expected.any() ? harmful : harmless);
    }
  EXPECT_GT(harmful, 0);
  EXPECT_GT(harmless, 0);
}

TEST(Certificate, EveryDamageIsFound) {
  uint64_t seed = seedOfRun();
  std::cout << "HOCKET_DAMAGE_SEED=" << seed << "\n";
  RecordProperty("seed", std::to_string(seed));
  Random random(seed);
  int all = 0;
  for (auto kinds : {communicationDamages(), tableDamages()}) {
    std::map<std::string, int> done = damageAll(kinds, 1, random);
    expectAll(kinds, done);
    for (const auto &[name, count] : done)
      all += count;
  }
  std::cout << all << " damages\n";
  EXPECT_GE(all, 300);
}

/// Any field of any program, changed: what is not found is of a field whose
/// change does no harm, or is another model's number (FieldDamage.cpp says
/// which, and why). HOCKET_FIELD_ROUNDS draws more.
TEST(Certificate, EveryFieldMattersOrIsKnownNotTo) {
  uint64_t seed = seedOfRun();
  RecordProperty("seed", std::to_string(seed));
  const char *text = std::getenv("HOCKET_FIELD_ROUNDS");
  int rounds = text ? std::atoi(text) : 1;
  Random random(seed);
  std::map<std::string, int> missed;
  int all = 0, found = 0;
  for (size_t p = 0; p < programs().size(); ++p) {
    Program probe = programs()[p];
    std::map<std::string, std::vector<size_t>> byField;
    std::vector<FieldSpot> places = fieldSpots(probe);
    for (size_t i = 0; i < places.size(); ++i)
      byField[places[i].name()].push_back(i);
    for (const auto &[name, list] : byField)
      for (int round = 0; round < rounds; ++round) {
        Program program = programs()[p];
        FieldSpot spot = fieldSpots(program)[list[draw(random, list.size())]];
        std::string before = spot.message->ShortDebugString().substr(0, 400);
        std::string what = damageField(spot, random);
        if (what.empty())
          continue;
        ++all;
        if (!findProgramFaults(program, 1).empty()) {
          ++found;
          continue;
        }
        ++missed[name];
        EXPECT_TRUE(harmlessReason(name))
            << plans[p].plan << ": " << name << " was " << what << " in\n"
            << before << "\nand nothing was found";
      }
  }
  std::cout << "HOCKET_DAMAGE_SEED=" << seed << ": " << all << " fields, "
            << found << " found\n";
  if (text)
    for (const auto &[name, count] : missed)
      std::cout << "  " << count << " harmless changes of " << name << ": "
                << (harmlessReason(name) ? harmlessReason(name) : "?") << "\n";
  EXPECT_GE(found, all / 2);
}

} // namespace
