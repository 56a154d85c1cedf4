//===- PlanTable.cpp - The plans that must train one model ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/end_to_end/support/PlanTable.h"

using namespace hocket;
using namespace hocket::test;

/// Key biases have no gradient but rounding, whose sign AdamW would make a
/// step of: no biases there.
#define GPT                                                                    \
  "layers: 4 hidden: 32 heads: 4 ffn: 72 vocab_size: 61 max_positions: 32 "    \
  "activation: GELU_TANH attention_qkv_bias: false "
#define LLAMA                                                                  \
  "layers: 4 hidden: 32 heads: 4 vocab_size: 61 max_positions: 16 "            \
  "norm: RMS_NORM activation: SWIGLU position: ROTARY bias: false "            \
  "tied_embeddings: false "

const ModelRow test::gpt = {"Gpt", GPT};
const ModelRow test::gptWithDropout = {
    "Dropout", GPT "dropout { attention: 0.1 residual: 0.2 embedding: 0.1 } "};
const ModelRow test::llama = {"Llama", LLAMA "kv_heads: 2 ffn: 50 "};
const ModelRow test::sliding = {"Sliding",
                                LLAMA "kv_heads: 2 ffn: 50 sliding_window: 5 "};

#define DOCUMENTS                                                              \
  "eod_token: 20 eod_mask_loss: true reset_attention_mask: true "              \
  "reset_position_ids: true "

const ModelRow test::gptOnDocuments = {"GptDocuments", GPT, DOCUMENTS};
const ModelRow test::dropoutOnDocuments = {
    "DropoutDocuments", GPT "dropout { attention: 0.1 residual: 0.2 } ",
    DOCUMENTS};
const ModelRow test::llamaOnDocuments = {
    "LlamaDocuments", LLAMA "kv_heads: 2 ffn: 50 ", DOCUMENTS};

#define MASKED_DOCUMENTS "eod_token: 20 reset_attention_mask: true "

const ModelRow test::gptOnMaskedDocuments = {"GptMaskedDocuments", GPT,
                                             MASKED_DOCUMENTS};
const ModelRow test::slidingOnDocuments = {
    "SlidingDocuments", LLAMA "kv_heads: 2 ffn: 50 sliding_window: 5 ",
    MASKED_DOCUMENTS};

#define EXPERTS                                                                \
  LLAMA "kv_heads: 2 ffn: 64 moe { experts: 4 top_k: 2 ffn: 24 "               \
        "aux_loss: 0.01 z_loss: 0.001 } "

const ModelRow test::experts = {"Experts", EXPERTS};
const ModelRow test::expertsWithDropout = {
    "ExpertsDropout",
    LLAMA "kv_heads: 2 ffn: 64 moe { experts: 4 top_k: 2 ffn: 24 z_loss: 0.001 "
          "input_jitter: 0.1 choice: SINKHORN router_dtype: FP32 } "
          "dropout { attention: 0.1 residual: 0.2 } "};
const ModelRow test::droppingExperts = {
    "Dropping",
    LLAMA "moe { experts: 12 top_k: 2 ffn: 24 capacity_factor: 0.75 "
          "scores: SIGMOID groups: 4 topk_groups: 2 bias_rate: "
          "0.01 shared_experts: 1 shared_expert_gate: true } "};

const ModelRow test::patterned = {
    "Patterned",
    "layers: 4 hidden: 32 heads: 4 kv_heads: 2 ffn: 50 vocab_size: 61 "
    "max_positions: 16 norm: RMS_NORM norm_position: BOTH "
    "norm_zero_centered: true activation: GEGLU_TANH position: ROTARY "
    "rope { theta: 1000 rotary_percent: 0.5 } bias: false qk_norm: true "
    "embedding_scale: 5.6 residual_scale: 0.5 logit_scale: 0.7 "
    "layer_kinds { name: \"local\" sliding_window: 5 rope { theta: 100 } } "
    "layer_kinds { name: \"global\" ffn: 72 } pattern: \"local*2 global\" "};

// Weights that make scores and logits as large as the softcaps.
#define CAPPED                                                                 \
  LLAMA "kv_heads: 2 ffn: 50 attention_scale: 0.4 attention_softcap: 1.5 "     \
        "logit_softcap: 0.8 initializer { stddev: 0.2 } "                      \
        "layer_kinds { name: \"local\" sliding_window: 5 } "                   \
        "layer_kinds { name: \"global\" } pattern: \"local global\" "

const ModelRow test::capped = {"Capped", CAPPED "dropout { attention: 0.1 } "};
const ModelRow test::cappedOnDocuments = {"CappedDocuments", CAPPED, DOCUMENTS};

// DeepSeek's layers: heads of 12, of which 4 rotate, and values of 10.
#define LATENT                                                                 \
  LLAMA "ffn: 50 qk_norm: true latent_attention { q_lora_rank: 20 "            \
        "kv_lora_rank: 18 qk_nope_head_dim: 8 qk_rope_head_dim: 4 "            \
        "v_head_dim: 10 } "

const ModelRow test::latent = {"Latent", LATENT};
const ModelRow test::latentWithDropout = {
    "LatentDropout", LATENT "dropout { attention: 0.1 residual: 0.2 } "};
const ModelRow test::latentExperts = {
    "LatentExperts",
    LATENT "moe { experts: 8 top_k: 4 ffn: 24 shared_experts: 1 scores: "
           "SIGMOID scale: 2.5 groups: 4 topk_groups: 2 bias_rate: 0.01 "
           "first_dense_layers: 1 } "};

// Twelve heads: no power of two.
#define SLOPED                                                                 \
  "layers: 4 hidden: 48 heads: 12 ffn: 72 vocab_size: 61 max_positions: 16 "   \
  "position: ALIBI embedding_norm: true activation: GELU_TANH "                \
  "attention_qkv_bias: false "

const ModelRow test::sloped = {"Sloped", SLOPED "dropout { attention: 0.1 } "};
const ModelRow test::slopedOnDocuments = {"SlopedDocuments",
                                          SLOPED "kv_heads: 4 ", DOCUMENTS};

// T5's layers, whose positions are distances in buckets.
#define RELATIVE                                                               \
  "layers: 4 hidden: 48 heads: 12 ffn: 72 vocab_size: 61 max_positions: 16 "   \
  "norm: RMS_NORM activation: RELU bias: false attention_scale: 1 "            \
  "position: RELATIVE relative_position { buckets: 8 max_distance: 10 } "

const ModelRow test::relative = {"Relative",
                                 RELATIVE "dropout { attention: 0.1 } "};
const ModelRow test::relativeOnDocuments = {"RelativeDocuments",
                                            RELATIVE "kv_heads: 4 ", DOCUMENTS};

const ModelRow test::hybrid = {
    "Hybrid",
    "layers: 6 hidden: 32 heads: 4 kv_heads: 2 ffn: 64 vocab_size: 61 "
    "max_positions: 16 norm: RMS_NORM norm_position: BRANCH qk_norm: true "
    "qk_norm_scope: ALL_HEADS activation: SWIGLU position: ROTARY "
    "bias: false tied_embeddings: false moe { experts: 4 top_k: 2 ffn: 24 "
    "aux_loss: 0.01 } "
    "layer_kinds { name: \"attention\" feed_forward: NO_FEED_FORWARD } "
    "layer_kinds { name: \"nope\" feed_forward: NO_FEED_FORWARD "
    "position: NONE } "
    "layer_kinds { name: \"mlp\" mixer: NO_MIXER ffn: 48 } "
    "layer_kinds { name: \"experts\" mixer: NO_MIXER feed_forward: EXPERTS } "
    "pattern: \"attention mlp nope experts\" "};

#define SIDE_BY_SIDE                                                           \
  "layers: 4 hidden: 32 heads: 4 ffn: 72 vocab_size: 61 max_positions: 16 "    \
  "attention_qkv_bias: false position: ROTARY tied_embeddings: false "         \
  "rope { theta: 1000 rotary_percent: 0.5 } "

const ModelRow test::sideBySide = {"SideBySide", SIDE_BY_SIDE
                                   "branches: PARALLEL "
                                   "dropout { attention: 0.1 residual: 0.2 } "};
const ModelRow test::sideBySideOnOneNorm = {
    "SideBySideOnOneNorm",
    SIDE_BY_SIDE "branches: PARALLEL_ONE_NORM head_bias: true "};
const ModelRow test::stateSpace = {
    "StateSpace",
    "layers: 4 hidden: 32 heads: 4 kv_heads: 4 ffn: 50 vocab_size: 61 "
    "max_positions: 16 norm: RMS_NORM activation: SWIGLU position: ROTARY "
    "bias: false tied_embeddings: false "
    "state_space { heads: 8 head_dim: 6 state_size: 5 groups: 4 norm_groups: 4 "
    "} layer_kinds { name: \"mamba\" mixer: MAMBA2 position: NONE "
    "feed_forward: NO_FEED_FORWARD } layer_kinds { name: \"attention\" } "
    "pattern: \"mamba attention\" "};
const ModelRow test::oneGroup = {
    "OneGroup",
    "layers: 4 hidden: 32 vocab_size: 61 max_positions: 16 norm: RMS_NORM "
    "position: NONE bias: false state_space { heads: 4 head_dim: 8 state_size: "
    "6 } layer_kinds { name: \"mamba\" mixer: MAMBA2 feed_forward: "
    "NO_FEED_FORWARD } pattern: \"mamba\" "};

#define BERT                                                                   \
  "layers: 4 hidden: 32 heads: 4 ffn: 72 vocab_size: 61 max_positions: 16 "    \
  "attention_qkv_bias: false attention_mask: BIDIRECTIONAL token_types: 2 "    \
  "head_transform: true head_bias: true sentence_head: true "
#define MASKED                                                                 \
  "masked_lm { cls_token: 1 sep_token: 2 mask_token: 3 whole_words: true } "

const ModelRow test::bert = {
    "Bert", BERT "norm_position: POST embedding_norm: true final_norm: false ",
    "", MASKED};
// Its last step of an epoch has 4 samples of 12.
#define CLASSES                                                                \
  "layers: 4 hidden: 32 heads: 4 ffn: 72 vocab_size: 61 max_positions: 16 "    \
  "attention_qkv_bias: false attention_mask: BIDIRECTIONAL token_types: 2 "    \
  "embedding_norm: true classes: 3 "
#define FRAMED "classification { cls_token: 1 sep_token: 2 pad_token: 0 } "

const ModelRow test::bertClasses = {
    "BertClasses", CLASSES "norm_position: POST final_norm: false ", "",
    FRAMED};
const ModelRow test::bertClassesWithDropout = {
    "BertClassesDropout",
    CLASSES "dropout { attention: 0.1 residual: 0.2 embedding: 0.1 } ", "",
    FRAMED};
// A bias of the head moves all choices alike: its gradient is rounding.
const ModelRow test::bertChoices = {
    "BertChoices",
    "layers: 4 hidden: 32 heads: 4 ffn: 72 vocab_size: 61 max_positions: 16 "
    "bias: false attention_mask: BIDIRECTIONAL token_types: 2 "
    "embedding_norm: true choices: 3 dropout { residual: 0.1 } ",
    "", FRAMED};
const ModelRow test::relativeBert = {
    "RelativeBert", RELATIVE "attention_mask: BIDIRECTIONAL ", "", MASKED};
const ModelRow test::prefixed = {
    "Prefix", LLAMA "kv_heads: 2 ffn: 50 attention_mask: PREFIX ", "",
    "prefix_lm { least_share: 0.1 most_share: 0.9 } "};
const ModelRow test::relativePrefixed = {
    "RelativePrefix",
    RELATIVE "attention_mask: PREFIX dropout { attention: 0.1 } ", "",
    "prefix_lm { } "};
// Both sequences have padding.
#define SPANS                                                                  \
  "span_corruption { noise_density: 0.3 mean_span_length: 2 sentinels: 20 } "  \
  "encoder_sequence_length: 24 "

const ModelRow test::twoStacks = {
    "TwoStacks", RELATIVE "encoder { layers: 3 } logit_scale: 0.3 ", "", SPANS};
const ModelRow test::twoStacksOfFewInputs = {
    "TwoStacksOfFewInputs", RELATIVE "encoder { layers: 2 } ", "",
    "span_corruption { noise_density: 0.3 mean_span_length: 2 sentinels: 20 } "
    "encoder_sequence_length: 8 "};
const ModelRow test::twoStacksWithDropout = {
    "TwoStacksDropout",
    RELATIVE "encoder { layers: 2 } kv_heads: 4 tied_embeddings: false "
             "dropout { attention: 0.1 residual: 0.2 embedding: 0.1 mlp: 0.2 "
             "final_norm: 0.1 } ",
    "", SPANS};
// Biases of keys are as they were.
#define VISION                                                                 \
  "vision { layers: 3 hidden: 24 heads: 4 ffn: 40 image_size: 4 patch_size: "  \
  "2 } image_token: 7 "
#define ENDS "eod_token: 20 eod_mask_loss: true "
#define IMAGES "images_per_sequence: 2 "

const ModelRow test::sighted = {"Sighted", LLAMA "kv_heads: 2 ffn: 50 " VISION,
                                ENDS,
                                IMAGES "freeze { name: \"vision.*.k.bias\" } "};
const ModelRow test::sightedWithDropout = {
    "SightedDropout", GPT "dropout { attention: 0.1 residual: 0.2 } " VISION,
    ENDS "reset_attention_mask: true reset_position_ids: true ",
    IMAGES "freeze { name: \"vision.*.k.bias\" } "};
const ModelRow test::sightedByProjector = {
    "SightedByProjector", LLAMA "kv_heads: 2 ffn: 50 " VISION, ENDS,
    IMAGES "train_only { name: \"projector.*\" } "};
// Both sequences of a rank have four chunks, and 48 tokens of neighbours.
#define RETRIEVAL                                                              \
  "retrieval { chunk_length: 4 neighbors: 2 retrieved_length: 6 "

const ModelRow test::retrieving = {
    "Retrieving", LLAMA "kv_heads: 2 ffn: 50 " RETRIEVAL "layers: [1, 3] } "};
const ModelRow test::retrievingAtOnce = {
    "RetrievingAtOnce", GPT RETRIEVAL "layers: [0, 1, 2] encoder_layers: 1 } "};
const ModelRow test::retrievingWithDropout = {
    "RetrievingDropout",
    GPT RETRIEVAL "layers: [2] encoder_layers: 3 encoder_dropout: 0.3 } "
                  "dropout { attention: 0.1 residual: 0.2 embedding: 0.1 } "};
const ModelRow test::bertWithDropout = {
    "BertDropout", BERT "dropout { attention: 0.1 residual: 0.2 } ", "",
    MASKED};

#define BALANCED(fields)                                                       \
  LLAMA "kv_heads: 2 moe { experts: 4 top_k: 2 ffn: 24 " fields " } "

const ModelRow test::expertsRunAgain = {
    "RunAgain", BALANCED("aux_loss: 0.01 scores: SIGMOID bias_rate: 0.02 "
                         "expert_capacity_bound: 1 beyond_bound: RERUN")};

static const ModelRow balanced[] = {
    {"Unbalanced", BALANCED("")},
    {"AuxLoss", BALANCED("aux_loss: 0.01")},
    {"ZLoss", BALANCED("z_loss: 0.001 interval: 2")},
    {"Capacity", BALANCED("capacity_factor: 1.25 aux_loss: 0.01")},
    {"BiasAndLosses",
     BALANCED("scores: SIGMOID bias_rate: 0.02 aux_loss: 0.001 z_loss: 0.001 "
              "first_dense_layers: 1")},
    {"BiasAndCapacity", BALANCED("capacity_factor: 1 bias_rate: 0.01 "
                                 "scores: SIGMOID shared_experts: 1")},
    {"Bias", BALANCED("bias_rate: 0.05")},
    {"Sinkhorn", BALANCED("choice: SINKHORN scores: SIGMOID")},
    {"Jitter", BALANCED("input_jitter: 0.1 aux_loss: 0.01")},
    {"AuxLossOfMicrobatch",
     BALANCED("aux_loss: 0.01 aux_loss_scope: MICROBATCH")},
};

#define SP "--sequence-parallel "
#define SCHEDULE(name) "--schedule " name " "
#define CHUNKS "--virtual-stages 2 "
#define RING "--cp-strategy ring "
#define ALL_TO_ALL "--cp-strategy alltoall "
#define LOSS(chunks) "--loss-chunks " chunks " "
#define BUCKETS(bytes) "plan.bucket_bytes=" bytes " "
#define LAYERS(list) "plan.layers_per_stage=" list " "

// clang-format off
static const PlanRow dense[] = {
    // Every axis alone.
    {"Dp2",             "dp=2",           1},
    {"Dp4",             "dp=4",           3},
    {"Dp2Zero1",        "dp=2",           2, "--zero 1"},
    {"Dp4Zero2",        "dp=4",           3, "--zero 2"},
    {"Dp2Zero3",        "dp=2",           2, "--zero 3"},
    {"Dp3Zero3",        "dp=3",           2, "--zero 3"},
    {"Tp2",             "tp=2",           1},
    {"Tp4",             "tp=4",           2},
    {"Tp2Sp",           "tp=2",           1, SP},
    {"Tp4Sp",           "tp=4",           1, SP},
    {"Pp2",             "pp=2",           6},
    // Every schedule.
    {"GPipe",           "pp=4",           4, SCHEDULE("gpipe")},
    {"OneFOneB",        "pp=4",           6, SCHEDULE("1f1b")},
    {"Interleaved",     "pp=2",           4, CHUNKS},
    {"InterleavedBy3",  "pp=2",           6, CHUNKS "plan.schedule_group=3"},
    {"ZeroBubbleH1",    "pp=2",           4, SCHEDULE("zb-h1")},
    {"ZeroBubbleH2",    "pp=4",           6, SCHEDULE("zb-h2")},
    {"ZeroBubbleV",     "pp=2",           4, CHUNKS SCHEDULE("zb-v")},
    {"DualPipeV",       "pp=2",           4, CHUNKS SCHEDULE("dualpipe-v")},
    {"List",            "pp=2",           4, CHUNKS SCHEDULE("list")},
    // Stages that differ: by count, without layers, by cost.
    {"Uneven",          "pp=2,tp=2",      3, LAYERS("3,1")},
    {"EmbeddingAlone",  "pp=3",           2, LAYERS("0,3,1")},
    {"HeadAlone",       "pp=3,dp=2",      2, LAYERS("2,2,0")},
    {"ByCost",          "pp=2,dp=2",      3, "plan.stage_split=COST"},
    // What is computed again.
    {"Selective",       "dp=2,tp=2",      2, "--recompute selective"},
    {"Full",            "pp=2,dp=2",      3, "--recompute full"},
    {"Uniform2",        "tp=2",           2,
     SP "--recompute full plan.recompute_layers=2"},
    {"Block1Zero3",     "dp=3",           2,
     "--zero 3 --recompute full plan.recompute_method=BLOCK"},
    {"Pp2Block1",       "pp=2,dp=2,tp=2", 6,
     "--recompute full plan.recompute_method=BLOCK"},
    {"Auto",            "",               2, "--recompute auto"},
    {"Pp2Auto",         "pp=2",           6, "--recompute auto"},
    {"Pp2Dp2Tp2Auto",   "pp=2,dp=2,tp=2", 6,
     SP "--zero 1 " CHUNKS "--recompute auto"},
    // The loss in chunks of the rows.
    {"Loss2",           "",               2, LOSS("2")},
    {"Dp2Zero1Loss3",   "dp=2",           2, "--zero 1 " LOSS("3")},
    {"Dp2Tp2SpLoss2",   "dp=2,tp=2",      2, SP LOSS("2")},
    {"Tp4Loss3",        "tp=4",           1, LOSS("3")},
    {"GPipeLoss2",      "pp=4",           4, SCHEDULE("gpipe") LOSS("2")},
    {"ZeroBubbleLoss2", "pp=2,tp=2",      4,
     SCHEDULE("zb-h1") LOSS("2") "--recompute selective"},
    {"Pp2SelectiveLoss3", "pp=2",         6,
     "--recompute selective " LOSS("3")},
    {"Pp2FullLoss2",    "pp=2,dp=2",      6,
     CHUNKS "--recompute full " LOSS("2") BUCKETS("4096")},
    {"AutoLoss3",       "pp=2",           6, "--recompute auto " LOSS("3")},
    // Two axes.
    {"Dp2Tp2",          "dp=2,tp=2",      2},
    {"Dp4Tp2SpZero1",   "dp=4,tp=2",      3, SP "--zero 1"},
    {"Dp2Tp4Zero3",     "dp=2,tp=4",      2, "--zero 3"},
    {"Pp2Dp4Zero1",     "pp=2,dp=4",      3, "--zero 1"},
    {"Pp2Dp2Zero3",     "pp=2,dp=2",      3, "--zero 3"},
    {"Pp2Tp2Sp",        "pp=2,tp=2",      4, SP},
    {"Pp4Tp2",          "pp=4,tp=2",      6},
    {"Dp4Tp4SpZero3",   "dp=4,tp=4",      1, SP "--zero 3"},
    // Three, with all else.
    {"Pp2Dp2Tp2",       "pp=2,dp=2,tp=2", 6},
    {"Pp2Dp2Tp4SpZero1", "pp=2,dp=2,tp=4", 3, SP "--zero 1"},
    {"Pp4Dp2Tp2Zero2",  "pp=4,dp=2,tp=2", 6, "--zero 2 " SCHEDULE("zb-h1")},
    {"Pp2Dp2Tp2Chunks", "pp=2,dp=2,tp=2", 6,
     CHUNKS SP "--zero 1 --recompute full"},
    // Gradients in several buckets, and in none.
    {"Buckets",         "dp=2,tp=2",      3, BUCKETS("4096")},
    {"Zero1Buckets",    "dp=2,tp=2",      2, "--zero 1 " BUCKETS("4096")},
    {"Zero2Buckets",    "dp=4",           3, "--zero 2 " BUCKETS("4096")},
    {"Zero3Buckets",    "dp=2",           3, "--zero 3 " BUCKETS("4096")},
    {"Pp2Zero1Buckets", "pp=2,dp=2",      6, "--zero 1 " BUCKETS("2048")},
    {"SplitBuckets",    "pp=2,dp=2",      6,
     "--zero 2 " SCHEDULE("zb-h1") BUCKETS("2048")},
    {"Zero3NoBuckets",  "dp=2,tp=2",      3, "--zero 3 " BUCKETS("0")},
};

/// Of 16 positions.
static const PlanRow context[] = {
    {"Cp2",             "cp=2",           1},
    {"Cp4Tp2Sp",        "cp=4,tp=2",      1, SP},
    {"Dp2Cp2Zero3",     "dp=2,cp=2",      3, "--zero 3"},
    {"Pp2Cp2Tp2",       "pp=2,cp=2,tp=2", 6},
    {"Dp3Cp2Zero2Full", "dp=3,cp=2",      2, "--zero 2 --recompute full"},
    // Blocks of positions over dp that are not made of blocks over both.
    {"Dp3Cp2Zero3",     "dp=3,cp=2",      2, "--zero 3"},
    {"Cp2AllToAll",     "cp=2",           1, ALL_TO_ALL},
    {"Dp2Cp2AllToAll",  "dp=2,cp=2",      2, ALL_TO_ALL "--zero 1"},
    {"Pp2Cp2AllToAll",  "pp=2,cp=2",      6, ALL_TO_ALL},
    {"Cp2Ring",         "cp=2",           1, RING},
    {"Cp4Ring",         "cp=4",           3, RING},
    {"Cp8Ring",         "cp=8",           1, RING},
    {"Dp2Cp2Tp2Ring",   "dp=2,cp=2,tp=2", 2, RING SP "--zero 1"},
    {"Pp2Cp2Ring",      "pp=2,cp=2",      6, RING "--recompute selective"},
    {"Pp2Dp2Cp2Tp2",    "pp=2,dp=2,cp=2,tp=2", 6, SP "--zero 1"},
    {"Cp2Tp2Loss2",     "cp=2,tp=2",      2, RING SP LOSS("2")},
    {"Cp2RingAuto",     "cp=2",           2, RING "--recompute auto"},
    {"Pp2Cp2RingAuto",  "pp=2,cp=2",      6, RING "--recompute auto"},
};

static const PlanRow withExperts[] = {
    {"Ep2",             "dp=2,ep=2",      3},
    {"Dp4Ep2Zero3",     "dp=4,ep=2",      3, "--zero 3"},
    {"Pp2Ep2",          "pp=2,dp=2,ep=2", 3},
    // ZeRO over ep alone: to all but experts it is an axis of the data.
    {"Ep2Tp4Zero3",     "dp=2,ep=2,tp=4", 2, "--zero 3"},
    {"Dp4Ep4Tp2SpZero1", "dp=4,ep=4,tp=2", 1, SP "--zero 1"},
    {"Pp2Dp4Ep2Tp2Full", "pp=2,dp=4,ep=2,tp=2", 3,
     SP "--zero 1 --recompute full"},
    {"Dp2Cp2Ep2",       "dp=2,cp=2,ep=2", 3},
    {"Dp2Cp2Ep2Ring",   "dp=2,cp=2,ep=2", 3, RING "--zero 1"},
    {"Dp2Cp2Ep2Zero3",  "dp=2,cp=2,ep=2", 3, "--zero 3 --recompute full"},
    {"Cp2AllToAll",     "cp=2",           1, ALL_TO_ALL},
    {"Cp4",             "cp=4",           2},
    {"Dp2Cp2RingZero3", "dp=2,cp=2",      3, RING "--zero 3"},
    {"Cp2Tp2",          "cp=2,tp=2",      2, SP},
    {"Cp2Tp2Etp1",      "cp=2,tp=2,etp=1", 2, SP "--recompute full"},
    // Experts over ranks that share sequences too.
    {"Cp2Ep2",          "cp=2,ep=2",      2},
    {"Cp4Ep4Ring",      "cp=4,ep=4",      2, RING},
    {"Pp2Cp2Ep2AllToAll", "pp=2,cp=2,ep=2", 6, ALL_TO_ALL "--recompute selective"},
    {"Dp2Cp2Ep4Zero1",  "dp=2,cp=2,ep=4", 3, "--zero 1"},
    {"Dp4Cp2Ep4Zero3",  "dp=4,cp=2,ep=4", 3, "--zero 3"},
    {"Dp2Cp2Ep4Tp2Zero3", "dp=2,cp=2,ep=4,tp=2", 3, SP "--zero 3"},
    // Experts whole, also where tp splits other layers.
    {"Tp2Etp1",         "tp=2,etp=1",     2, SP},
    {"Tp2Ep2Etp1",      "tp=2,ep=2,etp=1", 2, SP},
    {"Dp2Tp2Ep4Etp1Zero1", "dp=2,tp=2,ep=4,etp=1", 3, SP "--zero 1"},
    {"Dp2Tp2Ep2Etp1Zero3", "dp=2,tp=2,ep=2,etp=1", 3, SP "--zero 3"},
    {"Tp4Ep4Etp1Selective", "tp=4,ep=4,etp=1", 2, SP "--recompute selective"},
    // Too few parts for all of tp: pairs share rows.
    {"Dp2Tp4Ep2Etp1Zero2", "dp=2,tp=4,ep=2,etp=1", 2, SP "--zero 2"},
    {"Tp4Ep2Etp1Zero3", "tp=4,ep=2,etp=1", 2, SP "--zero 3"},
    {"Cp2Tp2Ep4Etp1",   "cp=2,tp=2,ep=4,etp=1", 2, RING SP},
    {"Dp2Cp2Tp2Ep4Etp1", "dp=2,cp=2,tp=2,ep=4,etp=1", 3, SP "--zero 1"},
    {"Pp2Dp2Tp2Ep4Etp1Full", "pp=2,dp=2,tp=2,ep=4,etp=1", 3,
     SP "--zero 1 --recompute full"},
    // Experts over a part of tp, and split over the rest.
    {"Tp4Etp2Zero1",    "tp=4,etp=2",     2, SP "--zero 1"},
    {"Tp4Ep2Etp2",      "tp=4,ep=2,etp=2", 2, SP},
    {"Dp2Tp4Ep4Etp2Zero1", "dp=2,tp=4,ep=4,etp=2", 3, SP "--zero 1"},
    {"Dp2Tp4Ep2Etp2Zero3", "dp=2,tp=4,ep=2,etp=2", 3,
     SP "--zero 3 --recompute selective"},
    {"Dp3Tp4Etp2Zero2", "dp=3,tp=4,etp=2", 2, SP "--zero 2"},
    {"Cp2Tp4Ep4Etp2Full", "cp=2,tp=4,ep=4,etp=2", 2,
     RING SP "--recompute full"},
    {"Dp2Cp2Tp4Ep4Etp2", "dp=2,cp=2,tp=4,ep=4,etp=2", 3, SP "--zero 2"},
    {"Pp2Dp2Tp4Ep4Etp2", "pp=2,dp=2,tp=4,ep=4,etp=2", 3, SP "--zero 1"},
    // Experts over a part of cp: others along it share rows.
    {"Cp4Ep2",          "cp=4,ep=2",      2},
    {"Cp4Ep2Ring",      "cp=4,ep=2",      2, RING "--recompute selective"},
    {"Cp4Ep2Zero3",     "cp=4,ep=2",      2, "--zero 3 --recompute full"},
    {"Cp8Ep4Zero1",     "cp=8,ep=4",      1, RING "--zero 1"},
    {"Dp2Cp4Ep2Zero2",  "dp=2,cp=4,ep=2", 3, "--zero 2"},
    {"Pp2Dp2Cp4Ep2",    "pp=2,dp=2,cp=4,ep=2", 3, RING "--zero 1"},
    {"Cp4Tp2Ep2Sp",     "cp=4,tp=2,ep=2", 2, SP "--zero 1"},
    {"Cp4Tp2Ep4Etp1",   "cp=4,tp=2,ep=4,etp=1", 2, RING SP},
    {"Dp2Cp4Tp2Ep4Etp1", "dp=2,cp=4,tp=2,ep=4,etp=1", 3, SP "--zero 3"},
    {"Cp4Tp4Ep4Etp2",   "cp=4,tp=4,ep=4,etp=2", 2, RING SP "--zero 2"},
    // Five axes.
    {"Pp2Dp2Cp2Ep2Tp2", "pp=2,dp=2,cp=2,ep=2,tp=2", 3, SP "--zero 1"},
};

/// Of 4 key heads, and experts that 3 divides.
static const PlanRow withMoreExperts[] = {
    {"Cp4Ep2AllToAll",  "cp=4,ep=2",      2, ALL_TO_ALL "--zero 1"},
    {"Dp2Cp4Ep2AllToAll", "dp=2,cp=4,ep=2", 3, ALL_TO_ALL "--recompute full"},
    {"Cp2Tp2Ep2AllToAll", "cp=2,tp=2,ep=2,etp=1", 2, ALL_TO_ALL SP "--zero 2"},
    // Over dp where nothing nearer will do: ranks along cp share rows.
    {"Dp3Cp2Ep3Zero3",  "dp=3,cp=2,ep=3", 2, "--zero 3"},
    {"Dp3Cp4Ep6Ring",   "dp=3,cp=4,ep=6", 2, RING "--zero 1"},
    {"Dp3Cp4Ep6AllToAll", "dp=3,cp=4,ep=6", 4, ALL_TO_ALL},
};

static const PlanRow withDropout[] = {
    {"Dp2",             "dp=2",           1},
    {"Tp2",             "tp=2",           1},
    {"Tp4Sp",           "tp=4",           2, SP},
    {"Pp2",             "pp=2",           4},
    {"Dp3Zero3",        "dp=3",           2, "--zero 3"},
    {"Dp2Tp2Full",      "dp=2,tp=2",      2, SP "--recompute full"},
    {"Dp2Selective",    "dp=2",           3, "--recompute selective"},
    {"Tp2Modules",      "tp=2",           2,
     "--recompute selective --recompute-modules core_attn,mlp"},
    {"Pp2Dp2Tp2",       "pp=2,dp=2,tp=2", 3, SP "--zero 1"},
    {"Cp2",             "cp=2",           1},
    {"Cp2AllToAll",     "cp=2",           2, ALL_TO_ALL},
    {"Cp4Ring",         "cp=4",           2, RING},
    {"Dp2Cp2Tp2",       "dp=2,cp=2,tp=2", 2, SP "--recompute full"},
};

static const PlanRow layouts[] = {
    {"One",             "",               3},
    {"Dp2Zero1",        "dp=2",           3, "--zero 1"},
    {"Dp4Zero3",        "dp=4",           3, "--zero 3"},
    {"Tp4Sp",           "tp=4",           3, SP},
    {"Pp2",             "pp=2",           3},
    {"Pp4Uneven",       "pp=4",           3, LAYERS("0,2,1,1")},
    {"Pp2Chunks",       "pp=2",           3, CHUNKS SCHEDULE("zb-v")},
    {"Dp2Tp2Zero2",     "dp=2,tp=2",      3, "--zero 2"},
    {"Dp2Ep2",          "dp=2,ep=2",      3},
    {"Pp2Dp2Tp2Zero1",  "pp=2,dp=2,tp=2", 3, "--zero 1"},
    {"Dp4Ep4Tp2Zero1",  "dp=4,ep=4,tp=2", 3, SP "--zero 1"},
    {"Dp2Cp2Ep4Zero2",  "dp=2,cp=2,ep=4", 3, RING "--zero 2"},
    {"Dp2Cp4Ep2Zero1",  "dp=2,cp=4,ep=2", 3, "--zero 1"},
    {"Cp4Tp2Ep4Etp1Zero3", "cp=4,tp=2,ep=4,etp=1", 3, RING SP "--zero 3"},
    {"Dp2Tp2Ep4Etp1Zero1", "dp=2,tp=2,ep=4,etp=1", 3, SP "--zero 1"},
    {"Dp2Tp4Ep4Etp2Zero2", "dp=2,tp=4,ep=4,etp=2", 3, SP "--zero 2"},
    {"Tp4Etp2Zero3",    "tp=4,etp=2",     3, SP "--zero 3"},
    {"Pp2Dp4Ep2Tp2Zero3", "pp=2,dp=4,ep=2,tp=2", 3, "--zero 3"},
};

static const PlanRow schedules[] = {
    {"GPipe",           "pp=4",           4, SCHEDULE("gpipe")},
    {"1F1B",            "pp=4",           6, SCHEDULE("1f1b")},
    {"Interleaved",     "pp=2,tp=2",      6, CHUNKS SCHEDULE("interleaved")},
    {"InterleavedBy3",  "pp=2",           6, CHUNKS "plan.schedule_group=3"},
    {"ZeroBubbleH1",    "pp=2,dp=2",      6, SCHEDULE("zb-h1")},
    {"ZeroBubbleH2",    "pp=4",           6, SCHEDULE("zb-h2")},
    {"ZeroBubbleV",     "pp=2",           6, CHUNKS SCHEDULE("zb-v")},
    {"DualPipeV",       "pp=2",           6, CHUNKS SCHEDULE("dualpipe-v")},
    {"List",            "pp=4",           6, SCHEDULE("list")},
};

static const PlanRow narrow[] = {
    {"Dp2Zero1",        "dp=2",           2, "--zero 1"},
    {"Dp4Zero2",        "dp=4",           3, "--zero 2"},
    {"Dp3Zero3",        "dp=3",           2, "--zero 3"},
    {"Tp2Sp",           "tp=2",           2, SP},
    {"Tp4",             "tp=4",           2},
    {"Pp2",             "pp=2",           4},
    {"Cp2",             "cp=2",           2},
    {"Cp4Ring",         "cp=4",           2, RING},
    {"Cp2AllToAll",     "cp=2",           2, ALL_TO_ALL},
    {"Dp2Tp2Selective", "dp=2,tp=2",      2, "--recompute selective"},
    {"Pp2Dp2Tp2",       "pp=2,dp=2,tp=2", 3, "--recompute full"},
    {"Pp2Dp2Cp2Tp2",    "pp=2,dp=2,cp=2,tp=2", 6, RING SP "--zero 1"},
    {"Ep2",             "dp=2,ep=2",      3, "--zero 1"},
    {"Dp2Cp2Ep4",       "dp=2,cp=2,ep=4", 3, RING},
    {"Pp2Ep2Tp2",       "pp=2,dp=2,ep=2,tp=2", 3, SP},
    {"Dp2Tp2Ep4Etp1",   "dp=2,tp=2,ep=4,etp=1", 3, SP "--zero 1"},
    {"Dp2Tp4Ep4Etp2",   "dp=2,tp=4,ep=4,etp=2", 3, SP "--zero 1"},
    {"Dp2Cp4Ep2",       "dp=2,cp=4,ep=2", 3, RING "--zero 1"},
};
static constexpr size_t narrowWithExperts = 6; ///< The last rows of narrow.
// clang-format on

std::span<const ModelRow> test::balancedExperts() { return balanced; }

std::span<const PlanRow> test::densePlans() { return dense; }
std::span<const PlanRow> test::contextPlans() { return context; }
std::span<const PlanRow> test::expertPlans() { return withExperts; }
std::span<const PlanRow> test::moreExpertPlans() { return withMoreExperts; }
std::span<const PlanRow> test::dropoutPlans() { return withDropout; }
std::span<const PlanRow> test::checkpointLayouts() { return layouts; }
std::span<const PlanRow> test::schedulePlans() { return schedules; }
std::span<const PlanRow> test::narrowPlans(const ModelRow &model) {
  return std::span(narrow).first(
      std::size(narrow) - (&model == &experts || &model == &expertsWithDropout
                               ? 0
                               : narrowWithExperts));
}

int64_t test::sizeOf(const PlanRow &plan, const std::string &axis) {
  std::string mesh = std::string(",") + plan.mesh;
  size_t at = mesh.find("," + axis + "=");
  return at == std::string::npos
             ? 1
             : std::stoll(mesh.substr(at + axis.size() + 2));
}

std::ostream &test::operator<<(std::ostream &out, const PlanCase &plan) {
  return out << plan.model->name << " --mesh " << plan.plan->mesh
             << " --microbatches " << plan.plan->microbatches << " "
             << plan.plan->flags;
}
