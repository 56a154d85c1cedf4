//===- ClassConfigTest.cpp - Configs of models that tell classes ----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/huggingface/ReadConfig.h"
#include "frontends/huggingface/WriteConfig.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::huggingface;
using spec::LoadedSpec;
using spec::Model;

namespace {

std::string classConfigOf(const std::string &architecture,
                          const std::string &more = "") {
  return R"({"architectures": [")" + architecture +
         R"("], "model_type": "bert", "hidden_size": 8, "vocab_size": 300,
  "num_attention_heads": 2, "num_hidden_layers": 1, "intermediate_size": 16,
  "max_position_embeddings": 16)" +
         (more.empty() ? "" : ", " + more) + "}";
}

StatusOr<LoadedSpec> readClassConfig(const std::string &more) {
  return parseConfig(classConfigOf("BertForSequenceClassification", more),
                     "config.json");
}

std::string classRefusal(const std::string &more) {
  auto loaded = readClassConfig(more);
  return loaded.ok() ? "" : loaded.status().message();
}

TEST(ClassConfig, SaysHowManyClassesThereAre) {
  for (auto [more, classes] :
       {std::pair{R"("id2label": {"0": "no", "1": "yes", "2": "-"})", 3},
        {R"("num_labels": 5)", 5},
        {"", 2}}) {
    auto loaded = readClassConfig(more);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    const Model &model = loaded->spec.model();
    EXPECT_EQ(model.classes(), classes);
    EXPECT_FALSE(model.head_transform());
    EXPECT_FALSE(model.head_bias());
    EXPECT_FALSE(loaded->spec.training().has_masked_lm());
    EXPECT_EQ(loaded->spec.training().classification().cls_token(), 101);
  }
}

TEST(ClassConfig, IsWrittenAndReadAgain) {
  auto loaded = readClassConfig(R"("num_labels": 12)");
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  auto config = writeConfig(loaded->spec.model(), "float32");
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_NE(config->find("\"BertForSequenceClassification\""), config->npos);
  EXPECT_NE(config->find("\"11\": \"LABEL_11\""), config->npos);
  auto again = parseConfig(*config, "config.json");
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->spec.model().SerializeAsString(),
            loaded->spec.model().SerializeAsString());
}

TEST(ClassConfig, NamesWhatItCannotBe) {
  EXPECT_EQ(classRefusal(R"("problem_type": "regression")"),
            "config.json:3:34: H5: problem_type is \"regression\"; only "
            "\"single_label_classification\" is supported");
  EXPECT_EQ(classRefusal(R"("problem_type": "single_label_classification")"),
            "");
  EXPECT_EQ(classRefusal(R"("classifier_dropout": 0.3)"),
            "config.json:3:34: H5: classifier_dropout is 0.3, and "
            "hidden_dropout_prob is 0.1; only the same of both is supported");
  EXPECT_EQ(classRefusal(R"("classifier_dropout": 0.1)"), "");
  EXPECT_EQ(classRefusal(R"("classifier_dropout": null)"), "");
  EXPECT_EQ(classRefusal(R"("num_labels": "3")"),
            "config.json:3:34: H3: num_labels is \"3\"; write a whole number");
}

TEST(ClassConfig, MayTellChoices) {
  auto loaded =
      parseConfig(classConfigOf("BertForMultipleChoice"), "config.json");
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(loaded->spec.model().choices(), 4);
  EXPECT_EQ(loaded->spec.training().micro_batch_size(), 4);
  loaded = parseConfig(classConfigOf("BertForMultipleChoice"), "config.json",
                       {"", {"model.choices=3"}});
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(loaded->spec.model().choices(), 3);
  auto config = writeConfig(loaded->spec.model(), "float32");
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_NE(config->find("\"BertForMultipleChoice\""), config->npos);
}

/// A model that tells tokens gets a head of classes in the place of theirs.
TEST(ClassConfig, ClassesTakeThePlaceOfTokens) {
  std::string folder = testing::TempDir() + "hocket_class_config";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/vocab.txt")
      << "[PAD]\nthe\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  for (const char *architecture :
       {"BertForMaskedLM", "BertForPreTraining", "BertModel"}) {
    std::ofstream(folder + "/config.json") << classConfigOf(architecture);
    auto loaded = loadConfig(folder, {"", {"model.classes=4"}});
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    EXPECT_EQ(loaded->spec.model().classes(), 4);
    EXPECT_FALSE(loaded->spec.model().sentence_head());
    const spec::Classification &frame =
        loaded->spec.training().classification();
    EXPECT_EQ(frame.cls_token(), 3);
    EXPECT_EQ(frame.sep_token(), 4);
    EXPECT_EQ(frame.pad_token(), 0);
  }
  std::filesystem::remove_all(folder);
}

} // namespace
