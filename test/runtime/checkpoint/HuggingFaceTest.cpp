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
#include <map>
#include <string>
#include <vector>

using namespace hocket;
using namespace hocket::checkpoint;
using namespace hocket::test;

namespace {
/// Of models whose heads are not of 2 elements, all of which rotate.
struct Heads {
  uint64_t dim = 2, rotated = 2, values = 0;
};
} // namespace

static Heads headsOf(const std::string &family) {
  static const std::map<std::string, Heads> families = {
      {"ernie4_5", {4, 4}},      {"helium", {4, 4}}, {"glm", {8, 4}},
      {"glm4", {8, 4}},          {"cohere", {4, 4}}, {"cohere2", {4, 4}},
      {"gptj", {4, 4}},          {"falcon", {1, 1}}, {"deepseek_v2", {6, 4, 3}},
      {"deepseek_v3", {6, 4, 3}}};
  auto found = families.find(family);
  return found == families.end() ? Heads() : found->second;
}

/// Of a tensor of a canonical file.
static TensorKey keyOf(const std::string &name) {
  constexpr std::string_view state = "state.";
  if (name.starts_with(state))
    return {"state", name.substr(state.size())};
  return {name, ""};
}

/// What a model of golden/generate.py stores, as its canonical file has it.
static ModelWeights weightsOf(const std::string &golden) {
  auto canonical =
      SafetensorsFile::open(goldenFolder + golden + ".canonical.safetensors");
  ModelWeights weights;
  EXPECT_TRUE(canonical.ok()) << canonical.status().message();
  if (!canonical.ok())
    return weights;
  weights.vocabulary = 5;
  weights.tied = true;
  weights.headDim = headsOf(golden).dim;
  weights.rotatedDim = headsOf(golden).rotated;
  weights.valueDim = headsOf(golden).values;
  for (const TensorInfo &info : canonical->tensors()) {
    TensorKey key = keyOf(info.name);
    (key.slot.empty() ? weights.tensors : weights.routerBiases)
        .push_back({key, info.type, info.shape});
    weights.tied &= info.name != "head.weight";
    weights.gated |= info.name.ends_with(".mlp.gate.weight");
    if (size_t at = info.name.find("layers."); at != std::string::npos)
      weights.layers = std::max<uint64_t>(
          weights.layers,
          1 + std::stoull(info.name.substr(at + strlen("layers."))));
  }
  return weights;
}

/// Without the tensors whose names begin with `start`.
static ModelWeights without(ModelWeights weights, const std::string &start) {
  std::erase_if(weights.tensors, [&](const TensorSpec &spec) {
    return spec.key.name.starts_with(start);
  });
  return weights;
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
      EXPECT_EQ(weight(*checkpoint, {keyOf(info.name), info.type, info.shape}),
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
  const std::string other = family == "t5" ? "t5_gated" : "falcon_one_norm";
  weights = weightsOf(other);
  expectImported(other);
  std::filesystem::remove_all(folder / "c");
  expectExportedAgain(other);
}

INSTANTIATE_TEST_SUITE_P(All, OtherModelsTest,
                         ::testing::Values("t5", "falcon"));

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
              m.weights = without(m.weights, "head.weight");
              m.weights.tied = true;
            }),
            "fine");
  EXPECT_EQ(message([](EditedModel &m) {
              m.weights = without(m.weights, "layers.1.");
            }),
            "'model.layers.1.input_layernorm.weight' is not part of this "
            "model");
  EXPECT_EQ(
      message([](EditedModel &m) {
        m.weights.tensors.push_back(
            {{"layers.0.attention.q_norm.weight", ""}, ElementType::F32, {2}});
      }),
      "the family llama has no place for tensor "
      "'layers.0.attention.q_norm.weight'");
  std::string known;
  for (const std::string &family : huggingFaceFamilies())
    known += (known.empty() ? "" : ", ") + family;
  EXPECT_EQ(message([](EditedModel &m) { m.family = "umt5"; }),
            "expected a model family of " + known + "; found 'umt5'");
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
  ModelWeights deeper = model.weights;
  deeper.layers = 3;
  deeper.tensors.push_back(
      {{"layers.2.attention.q.weight", ""}, ElementType::F32, {4, 4}});
  HuggingFaceExport to{model.folder / "out", "gpt2", "{}"};
  EXPECT_EQ(exportHuggingFace(*checkpoint, deeper, to).message(),
            model.folder / "c/iter_0000000: tensor "
                           "'layers.2.attention.q.weight' is missing");
  to.family = "llama";
  EXPECT_EQ(exportHuggingFace(*checkpoint, model.weights, to).message(),
            "the family llama has no place for tensor "
            "'final_norm.bias'");
  EXPECT_FALSE(std::filesystem::exists(model.folder / "out"));
}
