//===- ReadLatentAttention.cpp - DeepSeek's attention and router ----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/huggingface/ConfigReader.h"

#include <algorithm>
#include <cmath>

using namespace hocket;
using namespace hocket::huggingface;
using spec::Model;

/// The elements of a head, 0 where they are out of range.
static int64_t headWidth(const Model &model) {
  constexpr int64_t most = 1 << 20;
  const spec::LatentAttention &latent = model.latent_attention();
  int64_t plain = latent.qk_nope_head_dim(), turns = latent.qk_rope_head_dim();
  bool fits = plain > 0 && plain <= most && turns > 0 && turns <= most;
  return fits ? plain + turns : 0;
}

/// DeepSeek's two scales: `mscale` over `mscale_all_dim` is that of what
/// rotates, and the square of the second that of scores.
Status ConfigReader::readScoreScale(const std::string &key) {
  if (!family.has(Trait::LatentAttention))
    return okStatus();
  Model &model = *loaded.spec.mutable_model();
  spec::Rope::Yarn &yarn =
      *model.mutable_rope()->mutable_scaling()->mutable_yarn();
  double scales[2] = {0, 0};
  const char *names[2] = {".mscale", ".mscale_all_dim"};
  for (int i = 0; i < 2; ++i) {
    const ConfigValue *found = config.find(key + names[i]);
    if (!found)
      continue;
    if (const auto *whole = std::get_if<int64_t>(&found->value))
      scales[i] = static_cast<double>(*whole);
    else if (const auto *real = std::get_if<double>(&found->value))
      scales[i] = *real;
    else
      return wrongType(key + names[i], "a number");
  }
  auto scaleOf = [&](double scale) {
    double factor = yarn.factor();
    return factor > 1 ? 0.1 * scale * std::log(factor) + 1 : 1;
  };
  auto [turned, all] = scales;
  if (!yarn.has_attention_factor())
    yarn.set_attention_factor(
        turned != 0 && all != 0 ? scaleOf(turned) / scaleOf(all) : scaleOf(1));
  int64_t width = headWidth(model);
  if (all == 0 || width == 0)
    return okStatus();
  model.set_attention_scale(std::pow(static_cast<double>(width), -0.5) *
                            scaleOf(all) * scaleOf(all));
  loaded.locations.set("model.attention_scale", config.place(key + names[1]));
  return okStatus();
}

/// DeepSeek-V2's choice of experts; that of V3 is `noaux_tc`.
Status ConfigReader::readTopkMethod() {
  const std::string key = "topk_method";
  const ConfigValue *found = config.find(key);
  const auto *name = found ? std::get_if<std::string>(&found->value) : nullptr;
  if (found && !name)
    return wrongType(key, "a name");
  if (!name || *name == "greedy") { // Whatever groups there are.
    loaded.spec.mutable_model()->mutable_moe()->clear_groups();
    loaded.spec.mutable_model()->mutable_moe()->clear_topk_groups();
    return okStatus();
  }
  if (*name == "group_limited_greedy")
    return okStatus();
  return error(5, key,
               key + " is " + describe(*found) +
                   "; supported are greedy or group_limited_greedy");
}

Status ConfigReader::readLatentAttention() {
  if (!family.has(Trait::LatentAttention))
    return okStatus();
  // Norms of latents have this one whatever the config says.
  HOCKET_RETURN_IF_ERROR(expectNumber("rms_norm_eps", 1e-6));
  bool hasBias = family.has(Trait::ScoreBias);
  if (!hasBias)
    HOCKET_RETURN_IF_ERROR(readTopkMethod());
  const spec::Moe &moe = loaded.spec.model().moe();
  if (moe.groups() <= 1 || moe.topk_groups() < 1)
    return okStatus();
  int64_t counted =
      std::clamp<int64_t>(moe.top_k() / moe.topk_groups(), 1,
                          std::max<int64_t>(1, moe.experts() / moe.groups()));
  if (counted == (hasBias ? 2 : 1))
    return okStatus();
  return error(5, "topk_group",
               "topk_group is " + std::to_string(moe.topk_groups()) +
                   " with num_experts_per_tok " + std::to_string(moe.top_k()) +
                   "; groups are worth as many of their experts as a token "
                   "has in each, and supported for " +
                   family.modelType + (hasBias ? " are two" : " is one"));
}
