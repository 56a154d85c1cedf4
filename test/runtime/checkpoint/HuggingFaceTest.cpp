//===- HuggingFaceTest.cpp - Against models that transformers saved -------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/hugging_face/HuggingFace.h"
#include "test/runtime/checkpoint/TensorBytes.h"
#include "test/runtime/data/TokenFiles.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

using namespace hocket;
using namespace hocket::checkpoint;
using namespace hocket::test;

namespace {
/// Lists the weights of the models of golden/generate.py.
class GoldenWeights {
public:
  explicit GoldenWeights(std::string family) : family(std::move(family)) {}

  ModelWeights build(uint64_t layers) {
    layers += family == "nemotron_h"; // A layer has one branch.
    weights.layers = layers;
    weights.vocabulary = 5;
    weights.tied =
        isOneOf({"gpt2", "qwen2", "qwen3", "qwen3_moe", "smollm3", "gemma2",
                 "gemma3_text", "starcoder2", "bamba", "bloom", "bert", "t5"});
    add("embedding.weight", {5, 4});
    if (isOneOf({"t5", "t5_gated"}))
      return buildT5();
    if (isOneOf({"gpt2", "bert"}))
      add("position_embedding.weight", {3, 4});
    if (family == "bert")
      addEndsOfBert();
    if (family == "bloom")
      addNorm("embedding_norm");
    if (family == "llava")
      addTower();
    for (uint64_t layer = 0; layer < layers; ++layer)
      addLayer("layers." + std::to_string(layer) + ".", layer);
    if (family != "bert")
      addNorm("final_norm");
    if (!weights.tied)
      add("head.weight", {5, 4});
    if (family == "phi")
      add("head.bias", {5});
    weights.headDim = 2;
    return std::move(weights);
  }

private:
  /// Of two layers and one.
  ModelWeights buildT5() {
    weights.gated = family == "t5_gated";
    for (const std::string stack : {"encoder.", ""}) {
      add(stack + "relative_position.weight", {4, 2});
      for (int layer = 0; layer < (stack.empty() ? 1 : 2); ++layer) {
        const std::string in = stack + "layers." + std::to_string(layer) + ".";
        for (const std::string name : {"attention", "cross_attention"}) {
          if (name != "attention" && !stack.empty())
            continue;
          add(in + name + "_norm.weight", {4});
          for (const char *each : {".q", ".k", ".v"})
            addLinear(in + name + each, 6, 4, false);
          addLinear(in + name + ".o", 4, 6, false);
        }
        add(in + "mlp_norm.weight", {4});
        if (weights.gated)
          addLinear(in + "mlp.gate", 6, 4, false);
        addLinear(in + "mlp.up", 6, 4, false);
        addLinear(in + "mlp.down", 4, 6, false);
      }
      add(stack + "final_norm.weight", {4});
    }
    if (!weights.tied)
      add("head.weight", {5, 4});
    return std::move(weights);
  }
  bool isOneOf(std::initializer_list<const char *> families) const {
    return std::find(families.begin(), families.end(), family) !=
           families.end();
  }
  void add(const std::string &name, std::vector<uint64_t> shape) {
    weights.tensors.push_back({{name, ""}, ElementType::F32, std::move(shape)});
  }
  void addNorm(const std::string &name) {
    add(name + ".weight", {4});
    if (isOneOf({"gpt2", "nemotron", "stablelm", "starcoder2", "bert",
                 "gpt_neox", "phi", "bloom"}))
      add(name + ".bias", {4});
  }
  void addLinear(const std::string &name, uint64_t out, uint64_t in,
                 bool bias) {
    add(name + ".weight", {out, in});
    if (bias)
      add(name + ".bias", {out});
  }
  /// Three layers, of images of four patches.
  void addTower() {
    auto addBoth = [&](const std::string &name, uint64_t size) {
      add(name + ".weight", {size});
      add(name + ".bias", {size});
    };
    weights.layers = 3;
    add("vision.patch_embedding.weight", {6, 27});
    add("vision.class_embedding.weight", {6});
    add("vision.position_embedding.weight", {5, 6});
    addBoth("vision.pre_norm", 6);
    for (const char *number : {"0", "1", "2"}) {
      const std::string layer = std::string("vision.layers.") + number + ".";
      addBoth(layer + "attention_norm", 6);
      for (const char *part : {"q", "k", "v", "o"})
        addLinear(layer + "attention." + part, 6, 6, true);
      addBoth(layer + "mlp_norm", 6);
      addLinear(layer + "mlp.up", 8, 6, true);
      addLinear(layer + "mlp.down", 6, 8, true);
    }
    addBoth("vision.post_norm", 6);
    addLinear("projector.up", 4, 6, true);
    addLinear("projector.down", 4, 4, true);
  }
  void addEndsOfBert() {
    add("token_type_embedding.weight", {2, 4});
    addNorm("embedding_norm");
    addLinear("head_transform", 4, 4, true);
    addNorm("head_norm");
    add("head.bias", {5});
    addLinear("pooler", 4, 4, true);
    addLinear("sentence_head", 2, 4, true);
  }
  void addAttention(const std::string &attention) {
    bool hasNorms = isOneOf({"qwen3", "qwen3_moe", "gemma3_text"});
    uint64_t headDim = hasNorms || isOneOf({"nemotron", "gemma2"}) ? 4 : 2;
    bool alike = isOneOf({"gpt2", "bert", "gpt_neox", "bloom"});
    uint64_t keys = (alike ? 2 : 1) * headDim;
    bool bias = biasEverywhere || isOneOf({"qwen2", "qwen2_moe", "stablelm"});
    addLinear(attention + "q", 2 * headDim, 4, bias);
    addLinear(attention + "k", keys, 4, bias);
    addLinear(attention + "v", keys, 4, bias);
    addLinear(attention + "o", 4, 2 * headDim, biasEverywhere);
    bool together = family == "olmo2"; // of all heads
    for (auto [name, heads] :
         {std::pair<const char *, uint64_t>{"q_norm", 2}, {"k_norm", 1}})
      if (hasNorms || together)
        add(attention + name + ".weight", {together ? heads * 2 : headDim});
  }
  /// Of 4 heads of 2, with a group or two of maps of 3 and two tokens in a
  /// convolution.
  void addMixer(const std::string &layer) {
    bool bias = family == "mamba2";
    uint64_t maps = bias ? 6 : 3;
    addNorm(layer + "mixer_norm");
    std::string mixer = layer + "mixer.";
    for (auto [name, rows] : {std::pair<const char *, uint64_t>{"z", 8},
                              {"x", 8},
                              {"b", maps},
                              {"c", maps},
                              {"dt", 4}})
      addLinear(mixer + name, rows, 4, bias);
    for (auto [name, rows] : {std::pair<const char *, uint64_t>{"conv_x", 8},
                              {"conv_b", maps},
                              {"conv_c", maps}})
      addLinear(mixer + name, rows, 2, true);
    for (const char *name : {"decay", "step_bias", "skip"})
      add(mixer + name, {4});
    add(mixer + "gated_norm.weight", {8});
    addLinear(mixer + "out", 4, 8, bias);
  }
  void addLayer(const std::string &layer, uint64_t index) {
    if (family == "mamba2")
      return addMixer(layer);
    if (family == "nemotron_h" && index == 0)
      return addMixer(layer);
    if (family == "nemotron_h" && index == 1) {
      addNorm(layer + "attention_norm");
      return addAttention(layer + "attention.");
    }
    if (family == "nemotron_h") {
      addNorm(layer + "mlp_norm");
      return addMlp(layer + "mlp.");
    }
    if (family == "bamba" && index == 0) {
      addMixer(layer);
      addNorm(layer + "mlp_norm");
      return addMlp(layer + "mlp.");
    }
    addAttention(layer + "attention.");
    if (family != "olmo2")
      addNorm(layer + "attention_norm");
    if (!isOneOf({"olmo2", "phi"}))
      addNorm(layer + "mlp_norm");
    for (const char *name : {"attention_post_norm", "mlp_post_norm"})
      if (isOneOf({"gemma2", "gemma3_text", "olmo2"}))
        addNorm(layer + name);
    if (family == "mixtral" ||
        (isOneOf({"qwen2_moe", "qwen3_moe"}) && index > 0))
      return addExperts(layer + "mlp.", family == "mixtral" ? 6 : 3);
    addMlp(layer + "mlp.");
  }
  void addMlp(const std::string &mlp) {
    if (!biasEverywhere && !isOneOf({"nemotron", "nemotron_h"}))
      addLinear(mlp + "gate", 6, 4, false);
    uint64_t ffn = family == "bloom" ? 16 : 6;
    addLinear(mlp + "up", ffn, 4, biasEverywhere);
    addLinear(mlp + "down", 4, ffn, biasEverywhere);
  }
  void addExperts(const std::string &mlp, uint64_t ffn) {
    add(mlp + "router.weight", {3, 4});
    add(mlp + "experts.gate.weight", {3, ffn, 4});
    add(mlp + "experts.up.weight", {3, ffn, 4});
    add(mlp + "experts.down.weight", {3, 4, ffn});
    if (family != "qwen2_moe")
      return;
    addLinear(mlp + "shared.gate", 6, 4, false);
    addLinear(mlp + "shared.up", 6, 4, false);
    addLinear(mlp + "shared.down", 4, 6, false);
    addLinear(mlp + "shared_gate", 1, 4, false);
  }

  std::string family;
  bool biasEverywhere =
      isOneOf({"gpt2", "starcoder2", "bert", "gpt_neox", "phi", "bloom"});
  ModelWeights weights;
};
} // namespace

static ModelWeights weightsOf(const std::string &family, uint64_t layers = 2) {
  return GoldenWeights(family).build(layers);
}

namespace {
class HuggingFaceTest : public ::testing::TestWithParam<std::string> {
protected:
  std::string family = GetParam();
  ModelWeights weights = weightsOf(family);
  ScratchFolder folder;

  /// Imports a folder into a checkpoint; "" or the error.
  std::string import(const std::string &dir) {
    auto from = HuggingFaceFolder::open(dir);
    if (!from.ok())
      return from.status().message();
    auto tensors = importHuggingFace(*from, family, weights);
    if (!tensors.ok())
      return tensors.status().message();
    return saveCheckpoint(folder / "c", RunState(), *tensors).message();
  }
  void expectImported(const std::string &golden) {
    ASSERT_EQ(import(goldenFolder + golden), "");
    auto checkpoint = Checkpoint::open(folder / "c");
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
    auto canonical =
        SafetensorsFile::open(goldenFolder + golden + ".canonical.safetensors");
    ASSERT_TRUE(canonical.ok());
    EXPECT_EQ(checkpoint->tensors().size(), canonical->tensors().size());
    for (const TensorInfo &info : canonical->tensors())
      EXPECT_EQ(weight(*checkpoint, {{info.name, ""}, info.type, info.shape}),
                *canonical->read(info))
          << info.name;
  }
  void expectExportedAgain(const std::string &golden) {
    ASSERT_EQ(import(goldenFolder + golden), "");
    auto checkpoint = Checkpoint::open(folder / "c");
    ASSERT_TRUE(checkpoint.ok());
    HuggingFaceExport to{folder / "out/model", family, "{\"a\": 1}\n"};
    Status status = exportHuggingFace(*checkpoint, weights, to);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(readBytes(folder / "out/model/model.safetensors"),
              readBytes(goldenFolder + golden + "/model.safetensors"));
    EXPECT_EQ(readBytes(folder / "out/model/config.json"), to.configText);
  }
  std::vector<uint8_t> weight(const Checkpoint &checkpoint,
                              const TensorSpec &spec) {
    std::vector<uint8_t> bytes(*tensorBytes(spec.shape, spec.type));
    EXPECT_TRUE(checkpoint.read(spec, wholeOf(spec.shape), bytes).ok());
    return bytes;
  }
};
} // namespace

TEST_P(HuggingFaceTest, ImportsWhatTransformersSaved) {
  expectImported(family);
}

TEST_P(HuggingFaceTest, ExportsTheSameFileAgain) {
  expectExportedAgain(family);
}

TEST_P(HuggingFaceTest, PaddedRowsAreZeroAndDoNotLeave) {
  for (TensorSpec &spec : weights.tensors)
    if (spec.key.name == "embedding.weight" || spec.key.name == "head.weight")
      spec.shape = {8, 4};
    else if (spec.key.name == "head.bias")
      spec.shape = {8};
  ASSERT_EQ(import(goldenFolder + family), "");
  auto checkpoint = Checkpoint::open(folder / "c");
  ASSERT_TRUE(checkpoint.ok());
  auto rows =
      weight(*checkpoint, {{"embedding.weight", ""}, ElementType::F32, {8, 4}});
  EXPECT_EQ(std::count(rows.begin() + 5 * 16, rows.end(), 0), 3 * 16);
  EXPECT_NE(std::count(rows.begin(), rows.begin() + 5 * 16, 0), 5 * 16);
  HuggingFaceExport to{folder / "out", family, "{}"};
  ASSERT_TRUE(exportHuggingFace(*checkpoint, weights, to).ok());
  EXPECT_EQ(readBytes(folder / "out/model.safetensors"),
            readBytes(goldenFolder + family + "/model.safetensors"));
}

namespace {
/// Families whose models differ in their names.
class OtherModelsTest : public HuggingFaceTest {};
} // namespace

TEST_P(OtherModelsTest, GoInAndOut) {
  weights = weightsOf("t5_gated");
  expectImported("t5_gated");
  std::filesystem::remove_all(folder / "c");
  expectExportedAgain("t5_gated");
}

INSTANTIATE_TEST_SUITE_P(T5, OtherModelsTest, ::testing::Values("t5"));

// A model in several files is the same model.
TEST_P(HuggingFaceTest, ImportsSeveralFiles) {
  auto whole =
      SafetensorsFile::open(goldenFolder + family + "/model.safetensors");
  ASSERT_TRUE(whole.ok());
  std::vector<TensorToWrite> files[2];
  std::string map;
  size_t next = 0;
  std::filesystem::create_directory(folder / "hf");
  for (const TensorInfo &info : whole->tensors()) {
    size_t file = next++ % 2;
    files[file].push_back(
        {info.name, info.type, info.shape, bytesOf(*whole, info)});
    map += (map.empty() ? "\"" : ",\"") + info.name + "\":\"part" +
           std::to_string(file) + ".safetensors\"";
  }
  for (size_t i : {0, 1})
    ASSERT_TRUE(
        writeSafetensors(
            folder / ("hf/part" + std::to_string(i) + ".safetensors"), files[i])
            .ok());
  writeBytes(folder / "hf/model.safetensors.index.json",
             "{\"metadata\":{},\"weight_map\":{" + map + "}}");
  ASSERT_EQ(import(folder / "hf"), "");
  auto checkpoint = Checkpoint::open(folder / "c");
  ASSERT_TRUE(checkpoint.ok());
  HuggingFaceExport to{folder / "out", family, "{}"};
  ASSERT_TRUE(exportHuggingFace(*checkpoint, weights, to).ok());
  EXPECT_EQ(readBytes(folder / "out/model.safetensors"),
            readBytes(goldenFolder + family + "/model.safetensors"));
}

INSTANTIATE_TEST_SUITE_P(Families, HuggingFaceTest,
                         ::testing::ValuesIn(huggingFaceFamilies()),
                         [](const auto &info) { return info.param; });

//===----------------------------------------------------------------------===//
// Other types and names
//===----------------------------------------------------------------------===//

namespace {
/// Edits the golden model of one family before it is imported.
class EditedModel {
public:
  explicit EditedModel(const std::string &family)
      : family(family), weights(weightsOf(family)),
        whole(*SafetensorsFile::open(goldenFolder + family +
                                     "/model.safetensors")) {
    for (const TensorInfo &info : whole.tensors())
      tensors.push_back(
          {info.name, info.type, info.shape, bytesOf(whole, info)});
  }
  TensorToWrite &at(const std::string &name) {
    return *std::find_if(tensors.begin(), tensors.end(),
                         [&](const auto &t) { return t.name == name; });
  }
  void add(const std::string &name) {
    tensors.push_back({name, ElementType::U8, {4}, bytesInMemory(four)});
  }
  std::string import() {
    EXPECT_TRUE(writeSafetensors(folder / "model.safetensors", tensors).ok());
    auto from = HuggingFaceFolder::open(folder.path);
    EXPECT_TRUE(from.ok());
    auto imported = importHuggingFace(*from, family, weights);
    if (!imported.ok())
      return imported.status().message();
    Status saved = saveCheckpoint(folder / "c", RunState(), *imported);
    return saved.ok() ? "fine" : saved.message();
  }

  std::string family;
  ModelWeights weights;
  SafetensorsFile whole;
  std::vector<TensorToWrite> tensors;
  std::vector<uint8_t> four = {1, 2, 3, 4};
  ScratchFolder folder;
};
} // namespace

TEST(HuggingFace, NamesWithoutPrefixAndBuffers) {
  EditedModel model("gpt2");
  for (TensorToWrite &tensor : model.tensors)
    tensor.name = tensor.name.substr(strlen("transformer."));
  model.add("h.0.attn.bias");
  model.add("h.1.attn.masked_bias");
  model.add("lm_head.weight");
  EXPECT_EQ(model.import(), "fine");
}

TEST(HuggingFace, ConvertsToF32) {
  EditedModel model("llama");
  const uint16_t bits[4] = {0x3f80, 0x4000, 0xbf80, 0x3f00};
  model.at("model.norm.weight").type = ElementType::BF16;
  model.at("model.norm.weight").bytes =
      bytesInMemory({reinterpret_cast<const uint8_t *>(bits), sizeof(bits)});
  ASSERT_EQ(model.import(), "fine");
  auto checkpoint = Checkpoint::open(model.folder / "c");
  ASSERT_TRUE(checkpoint.ok());
  std::vector<float> values(4);
  ASSERT_TRUE(checkpoint
                  ->read({{"final_norm.weight", ""}, ElementType::F32, {4}},
                         wholeOf({4}),
                         {reinterpret_cast<uint8_t *>(values.data()), 16})
                  .ok());
  EXPECT_EQ(values, (std::vector<float>{1, 2, -1, 0.5f}));
}

TEST(HuggingFace, NamesTheTensorThatDoesNotFit) {
  auto message = [](auto edit) {
    EditedModel model("llama");
    edit(model);
    std::string text = model.import();
    std::string prefix = model.folder.path + ": tensor ";
    return text.rfind(prefix, 0) == 0 ? text.substr(prefix.size()) : text;
  };
  EXPECT_EQ(message([](EditedModel &m) {
              m.at("model.layers.1.mlp.up_proj.weight").name = "x";
            }),
            "'model.layers.1.mlp.up_proj.weight' is missing");
  EXPECT_EQ(message([](EditedModel &m) {
              m.at("model.layers.1.mlp.up_proj.weight").shape = {4, 6};
            }),
            "'model.layers.1.mlp.up_proj.weight' has shape [4, 6], expected "
            "[6, 4]");
  EXPECT_EQ(message([](EditedModel &m) {
              m.at("model.norm.weight").type = ElementType::I32;
            }),
            "'model.norm.weight' has type I32, expected F32, F16, BF16 or F64");
  EXPECT_EQ(message([](EditedModel &m) { m.add("model.extra"); }),
            "'model.extra' is not part of this model");
  EXPECT_EQ(message([](EditedModel &m) {
              m.weights.tied = true;
              m.weights.tensors.pop_back(); // head.weight
            }),
            "fine");
  EXPECT_EQ(message([](EditedModel &m) { m.weights = weightsOf("llama", 1); }),
            "'model.layers.1.input_layernorm.weight' is not part of this "
            "model");
  EXPECT_EQ(
      message([](EditedModel &m) {
        m.weights.tensors.push_back(
            {{"layers.0.attention.q_norm.weight", ""}, ElementType::F32, {2}});
      }),
      "the family llama has no place for tensor "
      "'layers.0.attention.q_norm.weight'");
  EXPECT_EQ(message([](EditedModel &m) { m.family = "umt5"; }),
            "expected a model family of gpt2, llama, mistral, mixtral, qwen2, "
            "qwen3, qwen2_moe, qwen3_moe, smollm3, gemma2, gemma3_text, olmo2, "
            "granite, nemotron, "
            "stablelm, gpt_neox, phi, bloom, mamba2, bamba, nemotron_h, bert, "
            "t5, starcoder2, llava; found 'umt5'");
}

TEST(HuggingFace, NamesTheExpertThatDoesNotFit) {
  const std::string name =
      "model.layers.1.block_sparse_moe.experts.2.w1.weight";
  EditedModel missing("mixtral");
  missing.at(name).name = "x";
  EXPECT_EQ(missing.import(),
            missing.folder.path + ": tensor '" + name + "' is missing");
  EditedModel turned("mixtral");
  turned.at(name).shape = {4, 6};
  EXPECT_EQ(turned.import(), turned.folder.path + ": tensor '" + name +
                                 "' has shape [4, 6], expected [6, 4]");
  EditedModel fewer("mixtral");
  for (TensorSpec &spec : fewer.weights.tensors)
    if (spec.shape[0] == 3)
      spec.shape[0] = 2;
  EXPECT_EQ(fewer.import(), fewer.folder.path +
                                ": tensor 'model.layers.0.block_sparse_moe."
                                "gate.weight' has shape [3, 4], expected [2, "
                                "4]");
  EditedModel dense("llama");
  dense.weights.tensors.push_back(
      {{"layers.0.mlp.router.weight", ""}, ElementType::F32, {2, 4}});
  EXPECT_EQ(dense.import(), "the family llama has no place for tensor "
                            "'layers.0.mlp.router.weight'");
}

TEST(HuggingFace, RefusesAHostileIndex) {
  ScratchFolder folder;
  auto message = [&](const std::string &index) {
    writeBytes(folder / "model.safetensors.index.json", index);
    auto opened = HuggingFaceFolder::open(folder.path);
    return opened.ok() ? "fine" : opened.status().message();
  };
  std::string path = folder / "model.safetensors.index.json: ";
  EXPECT_EQ(message("{"), path + "byte 1: expected a string");
  EXPECT_EQ(message("[]"), path + "expected an object under 'weight_map'");
  EXPECT_EQ(message("{\"weight_map\":{\"a\":1}}"),
            path + "expected a file name under 'a'");
  for (std::string name : {"../x", "/etc/passwd", "", ".."})
    EXPECT_EQ(message("{\"weight_map\":{\"a\":\"" + name + "\"}}"),
              path + "expected a file name without folders, found '" + name +
                  "'");
  EXPECT_EQ(message("{\"weight_map\":{\"a\":\"none\"}}"),
            folder / "none: cannot open: No such file or directory");
  std::vector<uint8_t> bytes(1);
  for (const char *name : {"p", "q"})
    ASSERT_TRUE(
        writeSafetensors(folder / name,
                         {{"a", ElementType::U8, {1}, bytesInMemory(bytes)}})
            .ok());
  EXPECT_EQ(message("{\"weight_map\":{\"b\":\"p\"}}"),
            path + "tensor 'b' is not in p");
  EXPECT_EQ(message("{\"weight_map\":{\"a\":\"p\",\"b\":\"q\"}}"),
            folder / "q: tensor 'a' is in " + folder.path + "/p too");
  std::filesystem::remove(folder / "model.safetensors.index.json");
  auto opened = HuggingFaceFolder::open(folder.path);
  EXPECT_EQ(opened.status().message(),
            folder.path + ": holds neither model.safetensors nor "
                          "model.safetensors.index.json");
}

TEST(HuggingFace, ExportsOnlyTheWeightsOfTheModel) {
  EditedModel model("gpt2");
  ASSERT_EQ(model.import(), "fine");
  auto checkpoint = Checkpoint::open(model.folder / "c");
  ASSERT_TRUE(checkpoint.ok());
  ModelWeights deeper = weightsOf("gpt2", 3);
  HuggingFaceExport to{model.folder / "out", "gpt2", "{}"};
  EXPECT_EQ(exportHuggingFace(*checkpoint, deeper, to).message(),
            model.folder / "c/iter_0000000: tensor "
                           "'layers.2.attention.q.weight' is missing");
  to.family = "llama";
  EXPECT_EQ(exportHuggingFace(*checkpoint, model.weights, to).message(),
            "the family llama has no place for tensor "
            "'position_embedding.weight'");
  EXPECT_FALSE(std::filesystem::exists(model.folder / "out"));
}
