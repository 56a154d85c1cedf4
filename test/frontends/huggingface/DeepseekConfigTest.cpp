//===- DeepseekConfigTest.cpp - Configs of DeepSeek-V2 and V3 -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/huggingface/WriteConfig.h"
#include "frontends/spec/model/Sizes.h"
#include "test/frontends/huggingface/ReadModel.h"

#include <cmath>

using namespace hocket;
using namespace hocket::huggingface;
using hocket::test::read;
using hocket::test::readSpec;
using spec::Model;

namespace {

struct DeepseekConfig {
  const char *config;
  const char *model;
  int64_t parameters;
};

// As they were published, but for V3's quantization.
const DeepseekConfig deepseekConfigs[] = {
    {R"({
  "architectures": ["DeepseekV2ForCausalLM"], "attention_bias": false,
  "attention_dropout": 0.0, "aux_loss_alpha": 0.001, "bos_token_id": 100000,
  "eos_token_id": 100001, "first_k_dense_replace": 1, "hidden_act": "silu",
  "hidden_size": 2048, "initializer_range": 0.02, "intermediate_size": 10944,
  "kv_lora_rank": 512, "max_position_embeddings": 163840,
  "model_type": "deepseek_v2", "moe_intermediate_size": 1408,
  "moe_layer_freq": 1, "n_group": 1, "n_routed_experts": 64,
  "n_shared_experts": 2, "norm_topk_prob": false, "num_attention_heads": 16,
  "num_experts_per_tok": 6, "num_hidden_layers": 27,
  "num_key_value_heads": 16, "pretraining_tp": 1, "q_lora_rank": null,
  "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "rms_norm_eps": 1e-06,
  "rope_scaling": {"beta_fast": 32, "beta_slow": 1, "factor": 40,
    "mscale": 0.707, "mscale_all_dim": 0.707,
    "original_max_position_embeddings": 4096, "type": "yarn"},
  "rope_theta": 10000, "routed_scaling_factor": 1.0,
  "scoring_func": "softmax", "seq_aux": true, "tie_word_embeddings": false,
  "topk_group": 1, "topk_method": "greedy", "torch_dtype": "bfloat16",
  "use_cache": true, "v_head_dim": 128, "vocab_size": 102400
})",
     R"(layers: 27 hidden: 2048 heads: 16 ffn: 10944 vocab_size: 102400
        max_positions: 163840 norm: RMS_NORM norm_eps: 1e-6 activation: SWIGLU
        position: ROTARY rope { scaling { yarn { factor: 40
        original_max_positions: 4096 attention_factor: 1 } } } bias: false
        qk_norm: true tied_embeddings: false
        latent_attention { kv_lora_rank: 512 } moe { experts: 64 top_k: 6
        ffn: 1408 shared_experts: 2 renormalise: false first_dense_layers: 1
        })",
     15706484224},
    {R"({
  "architectures": ["DeepseekV3ForCausalLM"], "attention_bias": false,
  "attention_dropout": 0.0, "bos_token_id": 0, "eos_token_id": 1,
  "ep_size": 1, "first_k_dense_replace": 3, "hidden_act": "silu",
  "hidden_size": 7168, "initializer_range": 0.02, "intermediate_size": 18432,
  "kv_lora_rank": 512, "max_position_embeddings": 163840,
  "model_type": "deepseek_v3", "moe_intermediate_size": 2048,
  "moe_layer_freq": 1, "n_group": 8, "n_routed_experts": 256,
  "n_shared_experts": 1, "norm_topk_prob": true, "num_attention_heads": 128,
  "num_experts_per_tok": 8, "num_hidden_layers": 61,
  "num_key_value_heads": 128, "num_nextn_predict_layers": 1,
  "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
  "rms_norm_eps": 1e-06,
  "rope_scaling": {"beta_fast": 32, "beta_slow": 1, "factor": 40,
    "mscale": 1.0, "mscale_all_dim": 1.0,
    "original_max_position_embeddings": 4096, "type": "yarn"},
  "rope_theta": 10000, "routed_scaling_factor": 2.5,
  "scoring_func": "sigmoid", "tie_word_embeddings": false, "topk_group": 4,
  "topk_method": "noaux_tc", "torch_dtype": "bfloat16", "use_cache": true,
  "v_head_dim": 128, "vocab_size": 129280
})",
     R"(layers: 61 hidden: 7168 heads: 128 ffn: 18432 vocab_size: 129280
        max_positions: 163840 norm: RMS_NORM norm_eps: 1e-6 activation: SWIGLU
        position: ROTARY rope { scaling { yarn { factor: 40
        original_max_positions: 4096 attention_factor: 1 } } } bias: false
        qk_norm: true tied_embeddings: false
        latent_attention { q_lora_rank: 1536 kv_lora_rank: 512 }
        moe { experts: 256 top_k: 8 ffn: 2048 shared_experts: 1
        scores: SIGMOID scale: 2.5 groups: 8 topk_groups: 4
        first_dense_layers: 3 bias_rate: 0.001 })",
     671026404352}};

class DeepseekConfigs : public testing::TestWithParam<DeepseekConfig> {};

TEST_P(DeepseekConfigs, GiveTheSpecOneWouldWrite) {
  Model model = read(GetParam().config).spec.model();
  EXPECT_EQ(parameterCount(model).get(), GetParam().parameters);
  double all = GetParam().parameters > 1e11 ? 1 : 0.707;
  double scale = 0.1 * all * std::log(40) + 1;
  EXPECT_NEAR(model.attention_scale(), scale * scale / std::sqrt(192), 1e-15);
  Model expected = readSpec(GetParam().model).spec.model();
  expected.set_attention_scale(model.attention_scale());
  EXPECT_EQ(model.DebugString(), expected.DebugString());
}

TEST_P(DeepseekConfigs, AreWrittenAsTheyAreRead) {
  spec::Spec spec = read(GetParam().config).spec;
  auto written = writeConfig(spec.model(), "float32", {}, spec.name());
  ASSERT_TRUE(written.ok()) << written.status().message();
  spec::Spec again = read(*written).spec;
  EXPECT_EQ(again.name(), spec.name());
  EXPECT_EQ(again.model().DebugString(), spec.model().DebugString());
}

INSTANTIATE_TEST_SUITE_P(All, DeepseekConfigs,
                         testing::ValuesIn(deepseekConfigs));

std::string deepseekRefusal(const std::string &family,
                            const std::string &more) {
  std::string config = R"({"model_type": ")" + family +
                       R"(", "hidden_size": 8, "vocab_size": 300,
"num_attention_heads": 2, "num_hidden_layers": 2, "intermediate_size": 16,
"max_position_embeddings": 16, "first_k_dense_replace": 1,
"num_experts_per_tok": 4, )" +
                       more + "}";
  auto loaded = parseConfig(config, "config.json");
  return loaded.ok() ? "" : loaded.status().message();
}

TEST(DeepseekConfig, RefusesOtherModels) {
  struct {
    const char *family, *more, *message;
  } rows[] = {
      {"deepseek_v2", R"("attention_bias": true)",
       "config.json:5:1: H5: attention_bias is true; only false is supported"},
      {"deepseek_v2", R"("rms_norm_eps": 1e-5)",
       "config.json:5:1: H5: rms_norm_eps is 1e-05; only 1e-06 is supported"},
      {"deepseek_v2", R"("topk_method": "noaux_tc")",
       "config.json:5:1: H5: topk_method is \"noaux_tc\"; supported are greedy "
       "or group_limited_greedy"},
      {"deepseek_v2", R"("topk_method": 3)",
       "config.json:5:1: H3: topk_method is 3; write a name"},
      {"deepseek_v2",
       R"("topk_method": "group_limited_greedy", "n_group": 8, "topk_group": 2)",
       "config.json:5:57: H5: topk_group is 2 with num_experts_per_tok 4; "
       "groups are worth as many of their experts as a token has in each, and "
       "supported for deepseek_v2 is one"},
      {"deepseek_v3", R"("n_group": 8, "topk_group": 4)",
       "config.json:5:15: H5: topk_group is 4 with num_experts_per_tok 4; "
       "groups are worth as many of their experts as a token has in each, and "
       "supported for deepseek_v3 are two"},
      {"deepseek_v3", R"("topk_group": 2, "rope_interleave": false)",
       "config.json:5:18: H5: rope_interleave is false; only true is "
       "supported"},
      {"deepseek_v3",
       R"("topk_group": 2, "rope_scaling": {"type": "yarn", "factor": 4,
"mscale": "one"})",
       "config.json:6:1: H3: rope_scaling.mscale is \"one\"; write a number"},
      {"deepseek_v3",
       R"("topk_group": 2, "rope_scaling": {"type": "yarn", "factor": 4,
"mscale": 1.0, "mscale_all_dim": 0.5})",
       "config.json:5:18: S9: attention_factor scales whole heads, of which a "
       "part turns; write attention_factor: 1, and the scale of scores as "
       "model.attention_scale"}};
  for (const auto &row : rows) {
    std::string said = deepseekRefusal(row.family, row.more);
    EXPECT_EQ(
        said.substr(said.find(": ")),
        std::string(row.message).substr(std::string(row.message).find(": ")))
        << said;
  }
  EXPECT_EQ(deepseekRefusal("deepseek_v2", R"("n_group": 8)"), "");
  EXPECT_EQ(deepseekRefusal("deepseek_v3", R"("topk_group": 2)"), "");
}

} // namespace
