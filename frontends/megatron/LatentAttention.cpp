//===- LatentAttention.cpp - Settings of multi-head latent attention ------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/megatron/SettingsReader.h"

#include <cmath>

using namespace hocket;
using namespace hocket::megatron;

Status SettingsReader::readLatentAttention() {
  struct {
    const char *name;
    const char *path;
  } sizes[] = {
      {"kv_lora_rank", "kv_lora_rank"},
      {"qk_head_dim", "qk_nope_head_dim"},
      {"qk_pos_emb_head_dim", "qk_rope_head_dim"},
      {"v_head_dim", "v_head_dim"},
  };
  const std::string within = "model.latent_attention.";
  if (isSet("q_lora_rank"))
    HOCKET_RETURN_IF_ERROR(assignSize("q_lora_rank", within + "q_lora_rank"));
  for (const auto &row : sizes) {
    if (!isSet(row.name))
      return error(row.name, "is not there, and latent attention needs it");
    HOCKET_RETURN_IF_ERROR(assignSize(row.name, within + row.path));
  }
  if (isSet("rotary_base"))
    HOCKET_RETURN_IF_ERROR(assignReal("rotary_base", "model.rope.theta"));
  std::string rope = text("rope_type", "yarn");
  if (rope != "rope" && rope != "yarn")
    return error("rope_type", "is '" + rope + "'; supported are rope and yarn");
  for (const char *name :
       {"use_rope_scaling", "rotary_seq_len_interpolation_factor"})
    if (isSet(name))
      return error(name, "is set, and latent attention's rope is scaled by "
                         "rotary_scaling_factor");
  HOCKET_ASSIGN_OR_RETURN(double percent, real("rotary_percent", 1));
  if (percent != 1)
    return error("rotary_percent",
                 "is not 1, and qk_pos_emb_head_dim says what rotates");
  return rope == "yarn" ? readYarn() : okStatus();
}

/// YaRN, with DeepSeek's two scales: mscale over mscale_all_dim is that of what
/// rotates, and the square of the second that of scores.
Status SettingsReader::readYarn() {
  const char *name = "rotary_scaling_factor";
  if (!isSet(name))
    return error(name, "is not there, and yarn needs it");
  HOCKET_ASSIGN_OR_RETURN(double factor, real(name, 1));
  if (factor <= 1)
    return okStatus(); // Nothing is scaled.
  const std::string yarn = "model.rope.scaling.yarn.";
  HOCKET_RETURN_IF_ERROR(assignReal(name, yarn + "factor"));
  for (const char *inner : {"beta_fast", "beta_slow"})
    if (isSet(inner))
      HOCKET_RETURN_IF_ERROR(assignReal(inner, yarn + inner));
  spec::Rope::Yarn &scaling =
      *model().mutable_rope()->mutable_scaling()->mutable_yarn();
  scaling.set_original_max_positions(4096); // Megatron-Core's default.
  if (isSet("original_max_position_embeddings"))
    HOCKET_RETURN_IF_ERROR(assignSize("original_max_position_embeddings",
                                      yarn + "original_max_positions"));
  HOCKET_ASSIGN_OR_RETURN(double turned, real("mscale", 1));
  HOCKET_ASSIGN_OR_RETURN(double all, real("mscale_all_dim", 0));
  auto scaleOf = [&](double scale) {
    return 0.1 * scale * std::log(factor) + 1;
  };
  scaling.set_attention_factor(scaleOf(turned) / scaleOf(all));
  const spec::LatentAttention &latent = model().latent_attention();
  double width = static_cast<double>(latent.qk_nope_head_dim()) +
                 static_cast<double>(latent.qk_rope_head_dim());
  if (width > 0)
    model().set_attention_scale(scaleOf(all) * scaleOf(all) / std::sqrt(width));
  return okStatus();
}
