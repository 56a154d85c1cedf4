//===- Families.cpp - Model families of Hugging Face ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/huggingface/Families.h"

#include "frontends/huggingface/FamilyRows.h"
#include "frontends/spec/text/FieldNames.h"

using namespace hocket::huggingface;

static constexpr char gpt2Base[] =
    "norm: LAYER_NORM norm_eps: 1e-5 activation: GELU_TANH position: LEARNED "
    "bias: true tied_embeddings: true "
    "dropout { attention: 0.1 residual: 0.1 embedding: 0.1 } "
    "initializer { stddev: 0.02 depth_scaled: true }";
static constexpr char llamaBase[] =
    "norm: RMS_NORM norm_eps: 1e-6 activation: SWIGLU position: ROTARY "
    "rope { theta: 10000 } bias: false tied_embeddings: false";
static constexpr char languageBase[] =
    "layers: 32 hidden: 4096 heads: 32 ffn: 11008 vocab_size: 32000 "
    "max_positions: 2048 norm: RMS_NORM norm_eps: 1e-6 activation: SWIGLU "
    "position: ROTARY rope { theta: 10000 } bias: false tied_embeddings: false";
static constexpr char llavaBase[] = "image_token: 32000 vision { }";
static constexpr char mistralBase[] =
    "norm: RMS_NORM norm_eps: 1e-6 activation: SWIGLU position: ROTARY "
    "rope { theta: 10000 } bias: false tied_embeddings: false "
    "kv_heads: 8 sliding_window: 4096";
static constexpr char qwen2Base[] =
    "kv_heads: 32 norm: RMS_NORM norm_eps: 1e-6 activation: SWIGLU position: "
    "ROTARY "
    "rope { theta: 10000 } bias: false attention_qkv_bias: true "
    "tied_embeddings: false";
static constexpr char qwen3Base[] =
    "kv_heads: 32 head_dim: 128 norm: RMS_NORM norm_eps: 1e-6 activation: "
    "SWIGLU position: ROTARY "
    "rope { theta: 10000 } bias: false qk_norm: true tied_embeddings: false";

static constexpr char mixtralBase[] =
    "kv_heads: 8 norm: RMS_NORM norm_eps: 1e-5 activation: SWIGLU position: "
    "ROTARY "
    "rope { theta: 1000000 } bias: false tied_embeddings: false "
    "moe { top_k: 2 }";
static constexpr char qwen2MoeBase[] =
    "kv_heads: 16 norm: RMS_NORM norm_eps: 1e-6 activation: SWIGLU position: "
    "ROTARY rope { theta: 10000 } bias: false attention_qkv_bias: true "
    "tied_embeddings: false "
    "moe { top_k: 4 renormalise: false shared_expert_gate: true }";
static constexpr char qwen3MoeBase[] =
    "kv_heads: 4 norm: RMS_NORM norm_eps: 1e-6 activation: SWIGLU position: "
    "ROTARY "
    "rope { theta: 10000 } bias: false qk_norm: true tied_embeddings: false "
    "moe { top_k: 8 renormalise: false }";

static constexpr char olmo2Base[] =
    "norm: RMS_NORM norm_eps: 1e-5 norm_position: BRANCH activation: SWIGLU "
    "position: ROTARY rope { theta: 500000 } bias: false qk_norm: true "
    "qk_norm_scope: ALL_HEADS tied_embeddings: false";
static constexpr char olmoeBase[] =
    "norm: RMS_NORM norm_eps: 1e-5 activation: SWIGLU position: ROTARY "
    "rope { theta: 10000 } bias: false qk_norm: true qk_norm_scope: ALL_HEADS "
    "tied_embeddings: false moe { top_k: 8 renormalise: false }";
static constexpr char exaone4Base[] =
    "kv_heads: 32 norm: RMS_NORM norm_eps: 1e-5 norm_position: BRANCH "
    "activation: SWIGLU position: ROTARY rope { theta: 10000 } bias: false "
    "qk_norm: true tied_embeddings: false";
static constexpr char phi3Base[] =
    "norm: RMS_NORM norm_eps: 1e-5 activation: SWIGLU position: ROTARY "
    "rope { theta: 10000 } bias: false tied_embeddings: false";
static constexpr char seedOssBase[] =
    "kv_heads: 8 head_dim: 128 norm: RMS_NORM norm_eps: 1e-6 activation: "
    "SWIGLU position: ROTARY rope { theta: 10000 } bias: false "
    "attention_qkv_bias: true tied_embeddings: false "
    "dropout { attention: 0.1 residual: 0.1 }";
static constexpr char arceeBase[] =
    "norm: RMS_NORM norm_eps: 1e-5 activation: RELU_SQUARED position: ROTARY "
    "rope { theta: 10000 } bias: false tied_embeddings: false";
static constexpr char gemmaBase[] =
    "kv_heads: 16 head_dim: 256 norm: RMS_NORM norm_eps: 1e-6 "
    "norm_zero_centered: true activation: GEGLU_TANH position: ROTARY "
    "rope { theta: 10000 } bias: false tied_embeddings: true";
static constexpr char ernieBase[] =
    "kv_heads: 2 head_dim: 128 norm: RMS_NORM norm_eps: 1e-5 activation: "
    "SWIGLU position: ROTARY rope { theta: 500000 } bias: false "
    "tied_embeddings: true";
static constexpr char heliumBase[] =
    "kv_heads: 20 head_dim: 128 norm: RMS_NORM norm_eps: 1e-8 activation: "
    "SWIGLU position: ROTARY rope { theta: 100000 } bias: false "
    "tied_embeddings: false";
#define HOCKET_GLM_BASE                                                        \
  "kv_heads: 2 head_dim: 128 norm: RMS_NORM norm_eps: 1.5625e-7 activation: "  \
  "SWIGLU position: ROTARY rope { theta: 10000 rotary_percent: 0.5 } "         \
  "bias: false attention_qkv_bias: true tied_embeddings: false "
static constexpr char glmBase[] = HOCKET_GLM_BASE;
static constexpr char glm4Base[] = HOCKET_GLM_BASE "norm_position: BOTH";
#undef HOCKET_GLM_BASE
#define HOCKET_COHERE_BASE                                                     \
  "norm: LAYER_NORM norm_eps: 1e-5 branches: PARALLEL_ONE_NORM activation: "   \
  "SWIGLU position: ROTARY bias: false norm_bias: false logit_scale: 0.0625 "  \
  "tied_embeddings: true "
static constexpr char cohereBase[] =
    HOCKET_COHERE_BASE "rope { theta: 500000 }";
static constexpr char cohere2Base[] =
    HOCKET_COHERE_BASE "rope { theta: 10000 }";
#undef HOCKET_COHERE_BASE
static constexpr char gptjBase[] =
    "norm: LAYER_NORM norm_eps: 1e-5 branches: PARALLEL_ONE_NORM activation: "
    "GELU_TANH position: ROTARY rope { theta: 10000 } bias: true "
    "attention_qkv_bias: false attention_out_bias: false head_bias: true "
    "tied_embeddings: false";
static constexpr char optBase[] =
    "norm: LAYER_NORM norm_eps: 1e-5 activation: RELU position: LEARNED "
    "bias: true tied_embeddings: true dropout { residual: 0.1 }";
static constexpr char falconBase[] =
    "max_positions: 2048 norm: LAYER_NORM norm_eps: 1e-5 activation: GELU "
    "position: ROTARY rope { theta: 10000 } bias: false norm_bias: true "
    "tied_embeddings: true";
static constexpr char smollm3Base[] =
    "kv_heads: 4 norm: RMS_NORM norm_eps: 1e-6 activation: SWIGLU position: "
    "ROTARY "
    "rope { theta: 2000000 } bias: false tied_embeddings: true";
static constexpr char gemma2Base[] =
    "kv_heads: 4 head_dim: 256 norm: RMS_NORM norm_eps: 1e-6 norm_position: "
    "BOTH norm_zero_centered: true activation: GEGLU_TANH position: ROTARY "
    "rope { theta: 10000 } bias: false tied_embeddings: true "
    "attention_softcap: 50 logit_softcap: 30";
static constexpr char gemma3Base[] =
    "kv_heads: 4 head_dim: 256 norm: RMS_NORM norm_eps: 1e-6 norm_position: "
    "BOTH norm_zero_centered: true activation: GEGLU_TANH position: ROTARY "
    "rope { theta: 1000000 } bias: false qk_norm: true tied_embeddings: true";
static constexpr char graniteBase[] =
    "norm: RMS_NORM norm_eps: 1e-6 activation: SWIGLU position: ROTARY "
    "rope { theta: 10000 } bias: false tied_embeddings: false "
    "attention_scale: 1";
static constexpr char granitemoeBase[] =
    "norm: RMS_NORM norm_eps: 1e-6 activation: SWIGLU position: ROTARY "
    "rope { theta: 10000 } bias: false tied_embeddings: false "
    "attention_scale: 1 moe { top_k: 2 }";
#define HOCKET_DEEPSEEK_BASE                                                   \
  "norm: RMS_NORM norm_eps: 1e-6 activation: SWIGLU position: ROTARY "         \
  "rope { theta: 10000 } bias: false qk_norm: true tied_embeddings: false "    \
  "latent_attention { q_lora_rank: 1536 kv_lora_rank: 512 } "
static constexpr char deepseekV2Base[] = HOCKET_DEEPSEEK_BASE
    "moe { experts: 64 ffn: 1407 shared_experts: 2 renormalise: false }";
static constexpr char deepseekV3Base[] = HOCKET_DEEPSEEK_BASE
    "moe { experts: 256 ffn: 2048 shared_experts: 1 scores: SIGMOID "
    "scale: 2.5 groups: 8 topk_groups: 4 first_dense_layers: 3 "
    "bias_rate: 0.001 }";
#undef HOCKET_DEEPSEEK_BASE
static constexpr char nemotronBase[] =
    "norm: LAYER_NORM norm_eps: 1e-5 norm_zero_centered: true activation: "
    "RELU_SQUARED position: ROTARY rope { theta: 10000 rotary_percent: 0.5 } "
    "bias: false norm_bias: true tied_embeddings: false";
static constexpr char stablelmBase[] =
    "kv_heads: 32 norm: LAYER_NORM norm_eps: 1e-5 activation: SWIGLU position: "
    "ROTARY rope { theta: 10000 rotary_percent: 0.25 } bias: false norm_bias: "
    "true tied_embeddings: false";
static constexpr char starcoder2Base[] =
    "kv_heads: 2 norm: LAYER_NORM norm_eps: 1e-5 activation: GELU_TANH "
    "position: ROTARY rope { theta: 10000 } bias: true tied_embeddings: true";

static constexpr char gptNeoxBase[] =
    "norm: LAYER_NORM norm_eps: 1e-5 branches: PARALLEL activation: GELU "
    "position: ROTARY rope { theta: 10000 rotary_percent: 0.25 } bias: true "
    "tied_embeddings: false";
static constexpr char phiBase[] =
    "norm: LAYER_NORM norm_eps: 1e-5 branches: PARALLEL_ONE_NORM activation: "
    "GELU_TANH position: ROTARY rope { theta: 10000 rotary_percent: 0.5 } "
    "bias: true head_bias: true tied_embeddings: false";

// A state has no limit of positions: sequences are as long as mamba_ssm's
// models were trained on, where nobody says.
static constexpr char mamba2Base[] =
    "norm: RMS_NORM norm_eps: 1e-5 activation: SILU position: NONE "
    "max_positions: 2048 bias: false tied_embeddings: false "
    "initializer { stddev: 0.1 } "
    "state_space { heads: 128 groups: 8 norm_groups: 8 }";
static constexpr char bambaBase[] =
    "kv_heads: 8 norm: RMS_NORM norm_eps: 1e-5 activation: SWIGLU position: "
    "ROTARY rope { theta: 10000 rotary_percent: 0.5 } bias: false "
    "tied_embeddings: false state_space { heads: 128 state_size: 256 }";

static constexpr char nemotronHBase[] =
    "kv_heads: 8 head_dim: 128 norm: RMS_NORM norm_eps: 1e-5 activation: "
    "RELU_SQUARED position: NONE bias: false tied_embeddings: false "
    "initializer { depth_scaled: true } state_space { heads: 128 groups: 8 "
    "norm_groups: 8 step_least: 0.001 }";

// No table of positions ends; this is the length that BLOOM was trained with.
static constexpr char bloomBase[] =
    "max_positions: 2048 norm: LAYER_NORM norm_eps: 1e-5 activation: GELU_TANH "
    "position: ALIBI bias: true embedding_norm: true tied_embeddings: true";

static constexpr char bertBase[] =
    "norm: LAYER_NORM norm_eps: 1e-12 norm_position: POST activation: GELU "
    "position: LEARNED bias: true tied_embeddings: true attention_mask: "
    "BIDIRECTIONAL token_types: 2 embedding_norm: true final_norm: false "
    "head_transform: true head_bias: true "
    "dropout { attention: 0.1 residual: 0.1 embedding: 0.1 } "
    "initializer { stddev: 0.02 }";

#define HOCKET_T5_BASE                                                         \
  "norm: RMS_NORM norm_eps: 1e-6 position: RELATIVE bias: false "              \
  "attention_scale: 1 encoder { } relative_position { } "                      \
  "dropout { attention: 0.1 residual: 0.1 embedding: 0.1 mlp: 0.1 "            \
  "final_norm: 0.1 } "
static constexpr char t5Base[] = HOCKET_T5_BASE "activation: RELU";
static constexpr char mt5Base[] = HOCKET_T5_BASE "activation: GEGLU_TANH";
#undef HOCKET_T5_BASE

static constexpr Trait bertTraits[] = {Trait::Encoder};
static constexpr Trait t5Traits[] = {Trait::TwoStacks, Trait::ScaledHead};
static constexpr Trait mt5Traits[] = {Trait::TwoStacks, Trait::OtherName};
static constexpr Trait llavaTraits[] = {Trait::Vision};
static constexpr Trait gpt2Traits[] = {Trait::ScaleSwitch};
static constexpr Trait mixtralTraits[] = {Trait::Experts};
static constexpr Trait qwenTraits[] = {Trait::MixedWindows,
                                       Trait::WindowSwitch};
static constexpr Trait qwen2MoeTraits[] = {
    Trait::MixedWindows, Trait::WindowSwitch, Trait::Experts,
    Trait::DenseLayers, Trait::SharedExpert};
static constexpr Trait qwen3MoeTraits[] = {Trait::MixedWindows,
                                           Trait::WindowSwitch, Trait::Experts,
                                           Trait::DenseLayers};
static constexpr Trait smollm3Traits[] = {
    Trait::MixedWindows, Trait::WindowSwitch, Trait::MixedRope};
static constexpr Trait gemma2Traits[] = {
    Trait::MixedWindows, Trait::AlternateWindow, Trait::HeadScalar,
    Trait::RootEmbedding};
static constexpr Trait gemma3Traits[] = {
    Trait::MixedWindows, Trait::WindowPattern, Trait::LocalRope,
    Trait::HeadScalar, Trait::RootEmbedding};
static constexpr Trait gemmaTraits[] = {Trait::RootEmbedding};
static constexpr Trait phi3Traits[] = {Trait::PartialRotary, Trait::PlainRope};
static constexpr Trait olmo3Traits[] = {Trait::MixedWindows, Trait::FourthFull,
                                        Trait::LocalRope, Trait::TwoRopes};
static constexpr Trait exaone4Traits[] = {Trait::MixedWindows,
                                          Trait::FourthFull, Trait::FullNope};
static constexpr Trait cohere2Traits[] = {
    Trait::MixedWindows, Trait::FourthFull, Trait::FullNope, Trait::WindowRope};
static constexpr Trait gptjTraits[] = {Trait::RotaryDim};
static constexpr OnlyValue cohereOnly[] = {{"use_qk_norm", "false"}};
static constexpr OnlyValue optOnly[] = {
    {"do_layer_norm_before", "true"},
    {"layer_norm_elementwise_affine", "true"},
    {"_remove_final_layer_norm", "false"},
    {"layerdrop", "0"}};
static constexpr Trait falconTraits[] = {Trait::FalconHeads};
static constexpr OnlyValue falconOnly[] = {{"alibi", "false"},
                                           {"parallel_attn", "true"}};
static constexpr OnlyValue olmoeOnly[] = {{"clip_qkv", "null"}};
static constexpr Trait deepseekV2Traits[] = {Trait::Experts,
                                             Trait::LatentAttention};
static constexpr Trait deepseekV3Traits[] = {
    Trait::Experts, Trait::LatentAttention, Trait::ScoreBias};
static constexpr OnlyValue deepseekV2Only[] = {{"attention_bias", "false"},
                                               {"mlp_bias", "false"},
                                               {"moe_layer_freq", "1"},
                                               {"scoring_func", "\"softmax\""},
                                               {"norm_topk_prob", "false"}};
static constexpr OnlyValue deepseekV3Only[] = {{"attention_bias", "false"},
                                               {"rope_interleave", "true"},
                                               {"moe_layer_freq", "1"},
                                               {"scoring_func", "\"sigmoid\""},
                                               {"topk_method", "\"noaux_tc\""}};
static constexpr Trait graniteTraits[] = {Trait::LogitsScaling};
static constexpr Trait granitemoeTraits[] = {Trait::LogitsScaling,
                                             Trait::Experts};
static constexpr Trait partialTraits[] = {Trait::PartialRotary};
static constexpr Trait stablelmTraits[] = {Trait::PartialRotary,
                                           Trait::ParallelOneNorm};
static constexpr Trait mamba2Traits[] = {Trait::StateSpace,
                                         Trait::ExpandedWidth};
static constexpr Trait nemotronHTraits[] = {Trait::StateSpace,
                                            Trait::LayerLetters};
static constexpr Trait bambaTraits[] = {
    Trait::StateSpace, Trait::ExpandedWidth, Trait::AttentionLayers,
    Trait::PartialRotary, Trait::RopeObject};
static constexpr Trait gptNeoxTraits[] = {Trait::PartialRotary,
                                          Trait::Parallel};

static constexpr Family allFamilies[] = {
    {"gpt2", "GPT2LMHeadModel", gpt2Base, "activation_function", gpt2Rows,
     plainActivations, gpt2Traits},
    {"llama",
     "LlamaForCausalLM",
     llamaBase,
     "hidden_act",
     llamaRows,
     gatedActivations,
     {}},
    {"mistral",
     "MistralForCausalLM",
     mistralBase,
     "hidden_act",
     mistralRows,
     gatedActivations,
     {}},
    {"mixtral", "MixtralForCausalLM", mixtralBase, "hidden_act", mixtralRows,
     gatedActivations, mixtralTraits},
    {"qwen2", "Qwen2ForCausalLM", qwen2Base, "hidden_act", qwen2Rows,
     gatedActivations, qwenTraits},
    {"qwen3", "Qwen3ForCausalLM", qwen3Base, "hidden_act", qwen3Rows,
     gatedActivations, qwenTraits},
    {"qwen2_moe", "Qwen2MoeForCausalLM", qwen2MoeBase, "hidden_act",
     qwen2MoeRows, gatedActivations, qwen2MoeTraits},
    {"qwen3_moe", "Qwen3MoeForCausalLM", qwen3MoeBase, "hidden_act",
     qwen3MoeRows, gatedActivations, qwen3MoeTraits},
    {"smollm3", "SmolLM3ForCausalLM", smollm3Base, "hidden_act", llamaRows,
     gatedActivations, smollm3Traits},
    {"gemma2", "Gemma2ForCausalLM", gemma2Base, "hidden_activation", gemma2Rows,
     gatedActivations, gemma2Traits},
    {"gemma3_text", "Gemma3ForCausalLM", gemma3Base, "hidden_activation",
     gemma3Rows, gatedActivations, gemma3Traits},
    {"olmo2",
     "Olmo2ForCausalLM",
     olmo2Base,
     "hidden_act",
     qwen3Rows,
     gatedActivations,
     {}},
    {"granite", "GraniteForCausalLM", graniteBase, "hidden_act", graniteRows,
     gatedActivations, graniteTraits},
    {"nemotron", "NemotronForCausalLM", nemotronBase, "hidden_act",
     nemotronRows, plainActivations, partialTraits},
    {"stablelm", "StableLmForCausalLM", stablelmBase, "hidden_act",
     stablelmRows, gatedActivations, stablelmTraits},
    {"starcoder2",
     "Starcoder2ForCausalLM",
     starcoder2Base,
     "hidden_act",
     starcoder2Rows,
     starcoderActivations,
     {}},
    {"gpt_neox", "GPTNeoXForCausalLM", gptNeoxBase, "hidden_act", gptNeoxRows,
     exactActivations, gptNeoxTraits},
    {"phi", "PhiForCausalLM", phiBase, "hidden_act", phiRows, plainActivations,
     partialTraits},
    {"bloom",
     "BloomForCausalLM",
     bloomBase,
     "hidden_act",
     bloomRows,
     bloomActivations,
     {}},
    {"gemma", "GemmaForCausalLM", gemmaBase, "hidden_act", qwen3Rows,
     gemmaActivations, gemmaTraits},
    {"olmo3", "Olmo3ForCausalLM", olmo2Base, "hidden_act", qwen3Rows,
     gatedActivations, olmo3Traits},
    {"olmoe", "OlmoeForCausalLM", olmoeBase, "hidden_act", olmoeRows,
     gatedActivations, mixtralTraits, olmoeOnly},
    {"exaone4", "Exaone4ForCausalLM", exaone4Base, "hidden_act", qwen2Rows,
     gatedActivations, exaone4Traits},
    {"phi3", "Phi3ForCausalLM", phi3Base, "hidden_act", phi3Rows,
     gatedActivations, phi3Traits},
    {"seed_oss",
     "SeedOssForCausalLM",
     seedOssBase,
     "hidden_act",
     seedOssRows,
     gatedActivations,
     {}},
    {"arcee",
     "ArceeForCausalLM",
     arceeBase,
     "hidden_act",
     llamaRows,
     plainActivations,
     {}},
    {"ernie4_5",
     "Ernie4_5ForCausalLM",
     ernieBase,
     "hidden_act",
     ernieRows,
     gatedActivations,
     {}},
    {"helium",
     "HeliumForCausalLM",
     heliumBase,
     "hidden_act",
     heliumRows,
     gatedActivations,
     {}},
    {"glm", "GlmForCausalLM", glmBase, "hidden_act", glmRows, gatedActivations,
     partialTraits},
    {"glm4", "Glm4ForCausalLM", glm4Base, "hidden_act", glmRows,
     gatedActivations, partialTraits},
    {"cohere",
     "CohereForCausalLM",
     cohereBase,
     "hidden_act",
     cohereRows,
     gatedActivations,
     {},
     cohereOnly},
    {"cohere2", "Cohere2ForCausalLM", cohere2Base, "hidden_act", cohereRows,
     gatedActivations, cohere2Traits},
    {"gptj", "GPTJForCausalLM", gptjBase, "activation_function", gptjRows,
     plainActivations, gptjTraits},
    {"granitemoe", "GraniteMoeForCausalLM", granitemoeBase, "hidden_act",
     granitemoeRows, gatedActivations, granitemoeTraits},
    {"deepseek_v2", "DeepseekV2ForCausalLM", deepseekV2Base, "hidden_act",
     deepseekRows, gatedActivations, deepseekV2Traits, deepseekV2Only},
    {"deepseek_v3", "DeepseekV3ForCausalLM", deepseekV3Base, "hidden_act",
     deepseekRows, gatedActivations, deepseekV3Traits, deepseekV3Only},
    {"opt",
     "OPTForCausalLM",
     optBase,
     "activation_function",
     optRows,
     exactActivations,
     {},
     optOnly},
    {"falcon", "FalconForCausalLM", falconBase, "activation", falconRows,
     exactActivations, falconTraits, falconOnly},
    {"mamba2", "Mamba2ForCausalLM", mamba2Base, "hidden_act", mamba2Rows,
     mamba2Activations, mamba2Traits},
    {"bamba", "BambaForCausalLM", bambaBase, "hidden_act", bambaRows,
     bambaActivations, bambaTraits},
    {"nemotron_h", "NemotronHForCausalLM", nemotronHBase, "mlp_hidden_act",
     nemotronHRows, plainActivations, nemotronHTraits},
    {"bert", "BertForMaskedLM", bertBase, "hidden_act", bertRows,
     exactActivations, bertTraits},
    {"t5", "T5ForConditionalGeneration", t5Base, "feed_forward_proj", t5Rows,
     t5Activations, t5Traits},
    {"mt5", "MT5ForConditionalGeneration", mt5Base, "feed_forward_proj", t5Rows,
     t5Activations, mt5Traits},
    {"llava", "LlavaForConditionalGeneration", llavaBase, "hidden_act",
     llavaRows, visionActivations, llavaTraits},
};

static constexpr Family language = {"llama",
                                    "LlamaForCausalLM",
                                    languageBase,
                                    "hidden_act",
                                    languageRows,
                                    gatedActivations,
                                    {}};

const Family &hocket::huggingface::languageFamily() { return language; }

std::span<const Family> hocket::huggingface::families() { return allFamilies; }

const Family *hocket::huggingface::findFamily(std::string_view modelType) {
  for (const Family &family : allFamilies)
    if (modelType == family.modelType)
      return &family;
  return nullptr;
}

std::string hocket::huggingface::supportedFamilies() {
  std::vector<std::string> names;
  for (const Family &family : allFamilies)
    names.push_back(family.modelType);
  return spec::joinAlternatives(names);
}
