//===- HuggingFaceTest.cpp - Against models that transformers saved -------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/HuggingFace.h"
#include "test/runtime/checkpoint/TensorBytes.h"
#include "test/runtime/data/TokenFiles.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::checkpoint;
using namespace hocket::test;

/// The models of golden/generate.py.
static ModelDims dimsOf(const std::string &family) {
  ModelDims dims;
  dims.layers = 2;
  dims.hidden = 4;
  dims.heads = 2;
  dims.kvHeads = family == "gpt2" ? 2 : 1;
  dims.headDim = family.starts_with("qwen3") ? 4 : 2;
  dims.ffn = 6;
  dims.vocabulary = 5;
  dims.positions = family == "gpt2" ? 3 : 0;
  dims.tied = family == "gpt2" || family.starts_with("qwen");
  dims.gated = family != "gpt2";
  dims.qkNorm = family.starts_with("qwen3");
  dims.qkvBias = family == "gpt2" || family == "qwen2";
  dims.outputBias = dims.mlpBias = dims.normBias = family == "gpt2";
  if (family == "mixtral" || family == "qwen3_moe") {
    dims.experts = 3;
    dims.expertFfn = family == "mixtral" ? 6 : 3;
    dims.denseLayers = family == "mixtral" ? 0 : 1;
  }
  return dims;
}

namespace {
class HuggingFaceTest : public ::testing::TestWithParam<std::string> {
protected:
  std::string family = GetParam();
  ModelDims dims = dimsOf(family);
  ScratchFolder folder;

  /// Imports a folder into a checkpoint; "" or the error.
  std::string import(const std::string &dir) {
    auto from = HuggingFaceFolder::open(dir);
    if (!from.ok())
      return from.status().message();
    auto tensors = importHuggingFace(*from, family, dims);
    if (!tensors.ok())
      return tensors.status().message();
    return saveCheckpoint(folder / "c", RunState(), *tensors).message();
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
  ASSERT_EQ(import(goldenFolder + family), "");
  auto checkpoint = Checkpoint::open(folder / "c");
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  auto canonical =
      SafetensorsFile::open(goldenFolder + family + ".canonical.safetensors");
  ASSERT_TRUE(canonical.ok());
  EXPECT_EQ(checkpoint->tensors().size(), canonical->tensors().size());
  for (const TensorInfo &info : canonical->tensors()) {
    EXPECT_EQ(weight(*checkpoint, {{info.name, ""}, info.type, info.shape}),
              *canonical->read(info))
        << info.name;
  }
}

TEST_P(HuggingFaceTest, ExportsTheSameFileAgain) {
  ASSERT_EQ(import(goldenFolder + family), "");
  auto checkpoint = Checkpoint::open(folder / "c");
  ASSERT_TRUE(checkpoint.ok());
  HuggingFaceExport to{folder / "out/model", family, "{\"a\": 1}\n"};
  Status status = exportHuggingFace(*checkpoint, dims, to);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(readBytes(folder / "out/model/model.safetensors"),
            readBytes(goldenFolder + family + "/model.safetensors"));
  EXPECT_EQ(readBytes(folder / "out/model/config.json"), to.configText);
}

TEST_P(HuggingFaceTest, PaddedRowsAreZeroAndDoNotLeave) {
  dims.paddedVocabulary = 8;
  ASSERT_EQ(import(goldenFolder + family), "");
  auto checkpoint = Checkpoint::open(folder / "c");
  ASSERT_TRUE(checkpoint.ok());
  auto rows =
      weight(*checkpoint, {{"embedding.weight", ""}, ElementType::F32, {8, 4}});
  EXPECT_EQ(std::count(rows.begin() + 5 * 16, rows.end(), 0), 3 * 16);
  EXPECT_NE(std::count(rows.begin(), rows.begin() + 5 * 16, 0), 5 * 16);
  HuggingFaceExport to{folder / "out", family, "{}"};
  ASSERT_TRUE(exportHuggingFace(*checkpoint, dims, to).ok());
  EXPECT_EQ(readBytes(folder / "out/model.safetensors"),
            readBytes(goldenFolder + family + "/model.safetensors"));
}

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
  ASSERT_TRUE(exportHuggingFace(*checkpoint, dims, to).ok());
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
      : family(family), dims(dimsOf(family)),
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
    auto imported = importHuggingFace(*from, family, dims);
    if (!imported.ok())
      return imported.status().message();
    Status saved = saveCheckpoint(folder / "c", RunState(), *imported);
    return saved.ok() ? "fine" : saved.message();
  }

  std::string family;
  ModelDims dims;
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
  EXPECT_EQ(message([](EditedModel &m) { m.dims.tied = true; }), "fine");
  EXPECT_EQ(message([](EditedModel &m) { m.dims.layers = 1; }),
            "'model.layers.1.input_layernorm.weight' is not part of this "
            "model");
  EXPECT_EQ(message([](EditedModel &m) { m.dims.qkNorm = true; }),
            "the family llama has no place for tensor "
            "'layers.0.attention.q_norm.weight'");
  EXPECT_EQ(message([](EditedModel &m) { m.family = "bert"; }),
            "expected a model family of gpt2, llama, mistral, mixtral, qwen2, "
            "qwen3, qwen3_moe; found 'bert'");
  EXPECT_EQ(message([](EditedModel &m) { m.dims.hidden = 0; }),
            "expected sizes of a model from 1 to 2147483648, found 0");
  EXPECT_EQ(message([](EditedModel &m) { m.dims.layers = 1 << 20; }),
            "expected at most 100000 layers, found 1048576");
  EXPECT_EQ(message([](EditedModel &m) { m.dims.paddedVocabulary = 4; }),
            "a vocabulary of 5 does not fit in 4 rows");
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
  fewer.dims.experts = 2;
  EXPECT_EQ(fewer.import(), fewer.folder.path +
                                ": tensor 'model.layers.0.block_sparse_moe."
                                "gate.weight' has shape [3, 4], expected [2, "
                                "4]");
  EditedModel dense("llama");
  dense.dims.experts = 2;
  dense.dims.expertFfn = 3;
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

TEST(HuggingFace, ExportsOnlyWhatTheDimsSay) {
  EditedModel model("gpt2");
  ASSERT_EQ(model.import(), "fine");
  auto checkpoint = Checkpoint::open(model.folder / "c");
  ASSERT_TRUE(checkpoint.ok());
  ModelDims dims = model.dims;
  dims.layers = 3;
  HuggingFaceExport to{model.folder / "out", "gpt2", "{}"};
  EXPECT_EQ(exportHuggingFace(*checkpoint, dims, to).message(),
            model.folder / "c/iter_0000000: tensor "
                           "'layers.2.attention_norm.weight' is missing");
  to.family = "llama";
  EXPECT_EQ(exportHuggingFace(*checkpoint, model.dims, to).message(),
            "the family llama has no place for tensor "
            "'position_embedding.weight'");
  EXPECT_FALSE(std::filesystem::exists(model.folder / "out"));
}
