//===- PlanFlags.cpp - Options that stand for fields of a plan ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/PlanFlags.h"

#include "base/ByteCount.h"
#include "frontends/spec/text/Overrides.h"
#include "frontends/spec/text/SpecText.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

using namespace hocket;
using namespace hocket::spec;
using Words = std::vector<std::pair<std::string_view, std::string_view>>;

static constexpr std::string_view microbatchesOption = "--microbatches";
static constexpr std::string_view meshOption = "--mesh";

const std::vector<PlanFlagInfo> &spec::planFlags() {
  static const std::vector<PlanFlagInfo> table = {
      {"--mesh",
       "Ranks along axes, e.g. pp=2,dp=2,tp=2; the product of all axes is the\n"
       "number of ranks. pp: pipeline, dp: data, cp: context, tp: tensor, ep:\n"
       "experts (a divisor of dp * cp, times tp / etp), etp: ranks along tp\n"
       "that share an expert. Other axes stay as the specification, the run\n"
       "or --plan has them. Default: 1 of each, etp: as tp",
       true},
      {"--virtual-stages",
       "Chunks of the model on each pipeline rank. More chunks shrink the\n"
       "pipeline's bubble, but cost memory and traffic. Default: 1",
       true},
      {"--schedule",
       "gpipe, 1f1b, interleaved-1f1b, zb-h1, zb-h2, zb-v, dualpipe-v, list, "
       "or a\n"
       "file. Default: interleaved-1f1b with several virtual stages, else 1f1b",
       true},
      {"--microbatches",
       "Microbatches of a step on each dp rank: sets the global batch to\n"
       "N * training.micro_batch_size * dp",
       true},
      {"--sequence-parallel",
       "Shard norms and dropout along the sequence, over tp: less memory for\n"
       "the same traffic",
       false},
      {"--zero",
       "What is sharded over dp. 0: nothing, 1: optimizer state, 2: also\n"
       "gradients, 3: also parameters. Default: 0",
       true},
      {"--cp-strategy",
       "How attention gets the whole sequence over cp: allgather, ring or\n"
       "alltoall. Default: allgather",
       true},
      {"--shardings",
       "A file of `hocket strategy solve --shardings`: how parameters and ops\n"
       "are split over dp and tp, instead of as the other flags imply",
       true},
      {"--recompute",
       "What backward recomputes instead of keeping: none; selective: the\n"
       "--recompute-modules; full: layers from their inputs; auto: the least\n"
       "that makes the peak fit --memory. Default: none",
       true},
      {"--recompute-modules",
       "With --recompute selective, a list of core_attn, layernorm, mlp,\n"
       "shared_experts, moe, moe_act, activation and pointwise. Default:\n"
       "layernorm,activation,pointwise",
       true},
      {"--recompute-method",
       "With --recompute full. uniform: all layers, of saved inputs\n"
       "--recompute-num-layers apart; block: only the first\n"
       "--recompute-num-layers layers of each stage. Default: uniform",
       true},
      {"--recompute-num-layers",
       "The number for --recompute-method. Default: 1", true},
      {"--loss-chunks",
       "Compute the head and the loss in so many chunks of a microbatch's\n"
       "tokens, so that the logits of one chunk exist at a time. Default: 1",
       true},
      {"--memory",
       "Memory of a device, e.g. 80GiB, 500MB or 1000000. A plan whose peak "
       "is\n"
       "larger is refused, and the error lists plans that fit",
       true},
  };
  return table;
}

/// The field that an option sets, where it sets one as it is written.
static std::string_view fieldOf(std::string_view option) {
  static constexpr std::pair<std::string_view, std::string_view> fields[] = {
      {"--virtual-stages", "plan.virtual_stages"},
      {"--schedule", "plan.schedule"},
      {"--sequence-parallel", "plan.sequence_parallel"},
      {"--zero", "plan.zero_stage"},
      {"--cp-strategy", "plan.context_strategy"},
      {"--shardings", "plan.shardings"},
      {"--recompute", "plan.recompute"},
      {"--recompute-modules", "plan.recompute_modules"},
      {"--recompute-method", "plan.recompute_method"},
      {"--recompute-num-layers", "plan.recompute_layers"},
      {"--loss-chunks", "plan.loss_chunks"},
      {"--memory", "cluster.memory_bytes"},
  };
  for (auto [name, field] : fields)
    if (name == option)
      return field;
  return {};
}

static StatusOr<std::string> parseBytes(const PlanFlags::Flag &flag) {
  constexpr uint64_t most = uint64_t(1) << 60;
  std::optional<uint64_t> bytes = parseByteCount(flag.value);
  if (!bytes || *bytes == 0 || *bytes > most)
    return invalidArgument(flag.option + " " + elide(flag.value) +
                           ": S1: expected a number of bytes, like 80GiB, "
                           "500MB or 1000000");
  return std::to_string(*bytes);
}

/// "core_attn,mlp", in lower case as Megatron writes its modules.
static StatusOr<std::string> translateModules(const PlanFlags::Flag &flag) {
  std::string list, result;
  for (int i = 0; i < Plan::RecomputeModule_ARRAYSIZE; ++i) {
    std::string name = Plan::RecomputeModule_Name(Plan::RecomputeModule(i));
    std::ranges::transform(name, name.begin(), [](unsigned char c) {
      return char(std::tolower(c));
    });
    list += (list.empty() ? "" : ", ") + name;
  }
  std::istringstream words(flag.value);
  for (std::string word; std::getline(words, word, ',');) {
    std::string upper = word;
    std::ranges::transform(word, upper.begin(), [](unsigned char c) {
      return char(std::toupper(c));
    });
    if (word == upper ||
        !Plan::RecomputeModule_descriptor()->FindValueByName(upper))
      return invalidArgument(flag.option + " " + elide(flag.value) +
                             ": S1: there is no module '" + elide(word) +
                             "'; write some of " + list);
    result += (result.empty() ? "" : ",") + upper;
  }
  return result;
}

/// The field's spelling of the words that an option has of its own.
static StatusOr<std::string> translate(const PlanFlags::Flag &flag) {
  static const std::map<std::string_view, Words> known = {
      {"--cp-strategy",
       {{"allgather", "ALL_GATHER"},
        {"ring", "RING"},
        {"alltoall", "ALL_TO_ALL"}}},
      {"--recompute",
       {{"none", "NONE"},
        {"selective", "SELECTIVE"},
        {"full", "FULL"},
        {"auto", "AUTO"}}},
      {"--recompute-method", {{"uniform", "UNIFORM"}, {"block", "BLOCK"}}},
  };
  if (flag.option == "--memory")
    return parseBytes(flag);
  if (flag.option == "--recompute-modules")
    return translateModules(flag);
  auto words = known.find(flag.option);
  if (words == known.end())
    return flag.value;
  std::string list;
  for (auto [word, value] : words->second) {
    if (flag.value == word)
      return std::string(value);
    list += (list.empty() ? "" : ", ") + std::string(word);
  }
  return invalidArgument(flag.option + " " + elide(flag.value) +
                         ": S1: write one of " + list);
}

/// `pp=2,dp=4`: each axis at most once.
static Status applyMesh(const PlanFlags::Flag &flag, Spec &spec,
                        FieldLocations &locations) {
  static constexpr std::pair<std::string_view, const char *> axes[] = {
      {"pp", "plan.pipeline_parallel"}, {"dp", "plan.data_parallel"},
      {"cp", "plan.context_parallel"},  {"tp", "plan.tensor_parallel"},
      {"ep", "plan.expert_parallel"},   {"etp", "plan.expert_tensor_parallel"},
  };
  std::string place = flag.option + " " + elide(flag.value);
  std::vector<std::string_view> seen;
  std::string_view rest = flag.value;
  while (true) {
    size_t comma = rest.find(',');
    std::string_view part = rest.substr(0, comma);
    size_t equals = part.find('=');
    std::string_view name = part.substr(0, equals);
    const auto *axis = std::find_if(std::begin(axes), std::end(axes),
                                    [&](auto a) { return a.first == name; });
    if (equals == std::string_view::npos || axis == std::end(axes))
      return invalidArgument(place + ": S1: \"" + elide(part) +
                             "\" is no axis and its size; write for example "
                             "pp=2,dp=2,tp=2 (axes: pp, dp, cp, tp, ep, etp)");
    if (std::find(seen.begin(), seen.end(), name) != seen.end())
      return invalidArgument(place + ": S1: the axis " + std::string(name) +
                             " is there twice");
    seen.push_back(name);
    HOCKET_RETURN_IF_ERROR(setFieldFrom(place, axis->second,
                                        std::string(part.substr(equals + 1)),
                                        spec, locations));
    if (comma == std::string_view::npos)
      return okStatus();
    rest = rest.substr(comma + 1);
  }
}

/// The global batch that makes as many microbatches on each rank.
static Status applyMicrobatches(const PlanFlags::Flag &flag, Spec &spec,
                                FieldLocations &locations) {
  std::string place = flag.option + " " + elide(flag.value);
  int64_t count = 0;
  const char *end = flag.value.data() + flag.value.size();
  auto [stop, error] = std::from_chars(flag.value.data(), end, count);
  if (error != std::errc() || stop != end || count < 1)
    return invalidArgument(place + ": S1: expected a whole number above 0");
  int64_t batch = 0;
  if (__builtin_mul_overflow(count, spec.training().micro_batch_size(),
                             &batch) ||
      __builtin_mul_overflow(batch, spec.plan().data_parallel(), &batch))
    return invalidArgument(place + ": S1: the global batch is out of range");
  return setFieldFrom(place, "training.global_batch_size",
                      std::to_string(batch), spec, locations);
}

Status spec::applyFlags(const PlanFlags &flags, Spec &spec,
                        FieldLocations &locations) {
  for (const PlanFlags::Flag &flag : flags.given) {
    if (flag.option == microbatchesOption)
      continue;
    if (flag.option == meshOption) {
      HOCKET_RETURN_IF_ERROR(applyMesh(flag, spec, locations));
      continue;
    }
    std::string_view field = fieldOf(flag.option);
    if (field.empty())
      return internalError(flag.option + " stands for no field");
    HOCKET_ASSIGN_OR_RETURN(std::string value, translate(flag));
    HOCKET_RETURN_IF_ERROR(setFieldFrom(flag.option + " " + elide(flag.value),
                                        std::string(field), value, spec,
                                        locations));
  }
  // One way to recompute takes another's place, and its modules with it, unless
  // they are asked for beside it.
  auto isGiven = [&](std::string_view option) {
    return std::ranges::any_of(flags.given, [&](const PlanFlags::Flag &flag) {
      return flag.option == option;
    });
  };
  if (isGiven("--recompute") && !isGiven("--recompute-modules") &&
      spec.plan().recompute() != Plan::SELECTIVE)
    spec.mutable_plan()->clear_recompute_modules();
  // Last: the batch depends on the data axis.
  for (const PlanFlags::Flag &flag : flags.given)
    if (flag.option == microbatchesOption)
      HOCKET_RETURN_IF_ERROR(applyMicrobatches(flag, spec, locations));
  return okStatus();
}
