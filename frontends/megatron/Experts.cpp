//===- Experts.cpp - Settings of layers with experts ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/megatron/SettingsReader.h"

using namespace hocket;
using namespace hocket::megatron;

/// Megatron-LM takes the softmax of the chosen experts' logits, which is that
/// of all, divided by the chosen ones' sum; or, before the choice, of all.
Status SettingsReader::readRouter() {
  std::string scores = text("moe_router_score_function", "softmax");
  if (scores != "softmax" && scores != "sigmoid")
    return error("moe_router_score_function",
                 "is '" + scores + "'; supported are softmax and sigmoid");
  bool isSigmoid = scores == "sigmoid";
  moe().set_scores(isSigmoid ? spec::Moe::SIGMOID : spec::Moe::SOFTMAX);
  moe().set_renormalise(isSigmoid ? moe().top_k() > 1
                                  : !flag("moe_router_pre_softmax"));
  if (isSet("moe_router_topk_scaling_factor"))
    HOCKET_RETURN_IF_ERROR(
        assignReal("moe_router_topk_scaling_factor", "model.moe.scale"));
  if (isSet("moe_router_num_groups")) {
    HOCKET_RETURN_IF_ERROR(
        assignSize("moe_router_num_groups", "model.moe.groups"));
    if (isSet("moe_router_group_topk"))
      HOCKET_RETURN_IF_ERROR(
          assignSize("moe_router_group_topk", "model.moe.topk_groups"));
  }
  HOCKET_RETURN_IF_ERROR(readBalancing());
  if (isSet("moe_z_loss_coeff"))
    HOCKET_RETURN_IF_ERROR(assignReal("moe_z_loss_coeff", "model.moe.z_loss"));
  if (isSet("moe_input_jitter_eps"))
    HOCKET_RETURN_IF_ERROR(
        assignReal("moe_input_jitter_eps", "model.moe.input_jitter"));
  if (flag("moe_router_enable_expert_bias")) {
    moe().set_bias_rate(1e-3); // Megatron-LM's default.
    if (isSet("moe_router_bias_update_rate"))
      HOCKET_RETURN_IF_ERROR(
          assignReal("moe_router_bias_update_rate", "model.moe.bias_rate"));
  }
  std::string dtype = text("moe_router_dtype", "");
  if (dtype == "fp32")
    moe().set_router_dtype(spec::Moe::FP32);
  else if (!dtype.empty())
    return error("moe_router_dtype", "is '" + dtype + "'; supported is fp32");
  return okStatus();
}

/// Whatever the scores are said to be, they are sigmoids of one expert, and of
/// several the softmax over all.
Status SettingsReader::readSinkhorn() {
  HOCKET_ASSIGN_OR_RETURN(double loss, real("moe_aux_loss_coeff", 0));
  if (loss != 0)
    return error("moe_aux_loss_coeff",
                 "is not 0, and Megatron-LM has no such loss beside sinkhorn");
  moe().set_choice(spec::Moe::SINKHORN);
  moe().set_scores(moe().top_k() == 1 ? spec::Moe::SIGMOID
                                      : spec::Moe::SOFTMAX);
  moe().set_renormalise(false);
  return okStatus();
}

/// What has tokens spread over experts evenly.
Status SettingsReader::readBalancing() {
  const char *balancing = "moe_router_load_balancing_type";
  std::string kind = text(balancing, "none");
  if (isSet(balancing) && text(balancing, "").empty())
    return error(balancing, "names several; supported is one of seq_aux_loss, "
                            "aux_loss, sinkhorn and none");
  if (kind == "global_aux_loss")
    return error(balancing, "is 'global_aux_loss', whose loads are those of "
                            "the whole step, known when it is over; supported "
                            "are seq_aux_loss, aux_loss and none");
  if (kind == "sinkhorn")
    return readSinkhorn();
  if (kind != "none" && kind != "aux_loss" && kind != "seq_aux_loss")
    return error(balancing, "is '" + kind +
                                "'; supported are seq_aux_loss, aux_loss, "
                                "sinkhorn and none");
  if (kind == "none" || !isSet("moe_aux_loss_coeff"))
    return okStatus();
  if (kind == "aux_loss")
    moe().set_aux_loss_scope(spec::Moe::MICROBATCH);
  return assignReal("moe_aux_loss_coeff", "model.moe.aux_loss");
}

Status SettingsReader::readExperts() {
  HOCKET_RETURN_IF_ERROR(assignSize("num_experts", "model.moe.experts"));
  if (isSet("moe_router_topk"))
    HOCKET_RETURN_IF_ERROR(assignSize("moe_router_topk", "model.moe.top_k"));
  if (isSet("moe_ffn_hidden_size"))
    HOCKET_RETURN_IF_ERROR(assignSize("moe_ffn_hidden_size", "model.moe.ffn"));
  if (flag("add_bias_linear"))
    return error("add_bias_linear", "is set, and experts have no biases here");
  if (isSet("moe_shared_expert_intermediate_size")) {
    const char *name = "moe_shared_expert_intermediate_size";
    HOCKET_RETURN_IF_ERROR(assignSize(name, "model.moe.shared_experts"));
    int64_t all = moe().shared_experts();
    int64_t each = moe().has_ffn() ? moe().ffn() : model().ffn();
    if (each <= 0 || all % each)
      return error(name, "is no multiple of an expert's size, " +
                             std::to_string(each));
    moe().set_shared_experts(all / each);
  }
  for (const char *name :
       {"moe_shared_expert_gate", "moe_use_shared_expert_gate"})
    if (flag(name))
      moe().set_shared_expert_gate(true);
  if (isSet("moe_expert_capacity_factor"))
    HOCKET_RETURN_IF_ERROR(
        assignReal("moe_expert_capacity_factor", "model.moe.capacity_factor"));
  return readRouter();
}
