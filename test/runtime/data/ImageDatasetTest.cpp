//===- ImageDatasetTest.cpp - Samples with images -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/samples/ImageDataset.h"
#include "runtime/data/TokenFileWriter.h"
#include "runtime/data/samples/BatchSource.h"
#include "runtime/data/samples/BlendedDataset.h"
#include "runtime/data/samples/ShowSamples.h"
#include "test/runtime/data/TokenFiles.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <sstream>
#include <stdexcept>

using namespace hocket;
using namespace hocket::data;
using test::fromHex;

namespace {

std::vector<uint8_t> pixelBytes(const std::string &text) {
  return {text.begin(), text.end()};
}

/// What golden/image_samples.txt says of a sequence.
struct GoldenSequence {
  std::vector<int32_t> tokens, rows;
  std::vector<uint32_t> uses;
  std::vector<float> pixels;
};

struct GoldenSamples {
  std::vector<std::string> sources;
  std::vector<GoldenSequence> sequences;
};

const GoldenSamples &goldenSamples() {
  static const GoldenSamples all = [] {
    GoldenSamples result;
    std::ifstream file(HOCKET_SOURCE_DIR
                       "/test/runtime/data/golden/image_samples.txt");
    for (std::string line; std::getline(file, line);) {
      std::istringstream in(line);
      std::string kind, hex;
      in >> kind;
      using Numbers = std::istream_iterator<int32_t>;
      if (kind == "source") {
        in >> hex;
        result.sources.push_back(fromHex(hex));
      } else if (kind == "tokens") {
        result.sequences.emplace_back().tokens.assign(Numbers(in), {});
      } else if (kind == "uses") {
        result.sequences.back().uses.assign(Numbers(in), {});
      } else if (kind == "rows") {
        result.sequences.back().rows.assign(Numbers(in), {});
      } else if (kind == "pixels") {
        in >> hex;
        std::string bytes = fromHex(hex);
        std::vector<float> &pixels = result.sequences.back().pixels;
        pixels.resize(bytes.size() / 4);
        std::memcpy(pixels.data(), bytes.data(), bytes.size());
      }
    }
    EXPECT_EQ(result.sequences.size(), 5u);
    return result;
  }();
  return all;
}

class ImageDatasetTest : public ::testing::Test {
protected:
  ImageDatasetTest() {
    options.sequenceLength = goldenSamples().sequences.front().tokens.size();
    options.vocabularySize = 10;
    options.seed = 7;
    options.splitWeights = "1";
    options.images = ImageOptions{.imageSize = 6,
                                  .patchSize = 3,
                                  .tokensPerImage = 4,
                                  .imagesPerSequence = 2,
                                  .imageToken = 9};
  }

  void SetUp() override { write(folder / "p", goldenSamples().sequences); }

  /// Every token but a placeholder is learned.
  void write(const std::string &prefix,
             const std::vector<GoldenSequence> &sequences) {
    auto tokens = *TokenFileWriter::create(prefix, TokenType::U16);
    auto mask = *LossMaskWriter::create(prefix);
    ImageFileHead head;
    head.imageSize = 6;
    head.tokensPerImage = 4;
    head.imageToken = 9;
    head.mostPerDocument = 2;
    auto images = *ImageFileWriter::create(prefix, head);
    for (const GoldenSequence &sequence : sequences) {
      std::string bytes;
      std::vector<uint8_t> learned;
      for (int32_t token : sequence.tokens) {
        test::appendBytes(bytes, uint16_t(token));
        learned.push_back(token != 9);
      }
      ASSERT_TRUE(tokens.append(bytes).ok());
      ASSERT_TRUE(tokens.endSequence(sequence.tokens.size()).ok());
      tokens.endDocument();
      ASSERT_TRUE(mask.append(learned).ok());
      std::vector<uint32_t> numbers;
      for (uint32_t use : sequence.uses)
        numbers.push_back(
            *images.add(pixelBytes(goldenSamples().sources[use])));
      images.endDocument(numbers);
    }
    ASSERT_TRUE(tokens.finish().ok());
    ASSERT_TRUE(images.finish(tokens.tokens()).ok());
    ASSERT_TRUE(mask.finish(options.sequenceLength, 8).ok());
  }

  StatusOr<std::unique_ptr<SampleSource>> open(uint64_t samples) {
    return openSamples({{1, folder / "p"}}, options, Split::Train, samples);
  }
  std::unique_ptr<SampleSource> mustOpen(uint64_t samples) {
    auto opened = open(samples);
    if (!opened.ok())
      throw std::runtime_error(opened.status().message());
    return *std::move(opened);
  }
  std::string error() {
    auto opened = open(12);
    return opened.ok() ? "" : opened.status().message();
  }

  test::ScratchFolder folder;
  GptDatasetOptions options;
};

struct ImagesRead {
  std::vector<float> pixels;
  std::vector<int32_t> rows;

  ImagesRead(const SampleSource &source)
      : pixels(source.imageShape().floats(), -7),
        rows(source.sequenceLength(), -7) {}
  Status read(const SampleSource &source, uint64_t sample) {
    ImageSample out{pixels, rows};
    return source.readImages(sample, out);
  }
};

TEST_F(ImageDatasetTest, SamplesAreThoseOfAPlainLoop) {
  auto source = mustOpen(12);
  ASSERT_GE(source->size(), 12u);
  EXPECT_EQ(source->imageShape().images, 2u);
  EXPECT_EQ(source->imageShape().patches, 4u);
  EXPECT_EQ(source->imageShape().width, 27u);
  std::set<uint64_t> seen;
  for (uint64_t i = 0; i < 12; ++i) {
    auto segments = *source->segments(i);
    const GoldenSequence &wanted =
        goldenSamples().sequences.at(segments.front().sequence);
    seen.insert(segments.front().sequence);
    std::vector<int32_t> tokens(options.sequenceLength + 1);
    ASSERT_TRUE(source->read(i, tokens).ok());
    tokens.pop_back();
    EXPECT_EQ(tokens, wanted.tokens);
    ImagesRead sample(*source);
    Status status = sample.read(*source, i);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(sample.rows, wanted.rows);
    EXPECT_EQ(sample.pixels, wanted.pixels);
  }
  EXPECT_EQ(seen.size(), 5u); // Several epochs.
}

/// Two ranks together read what one reads, and a later start goes on.
TEST_F(ImageDatasetTest, BatchesAreSharedOutAndGoOn) {
  std::shared_ptr<const SampleSource> source = mustOpen(24);
  auto batches = [&](uint64_t ranks, uint64_t rank, uint64_t consumed) {
    return *BatchSource::create(source, {2 / ranks, 1, ranks, rank}, consumed,
                                2, {8, true});
  };
  auto whole = batches(1, 0, 4), first = batches(2, 0, 4),
       second = batches(2, 1, 4);
  for (int step = 0; step < 6; ++step) {
    Batch all, half, other;
    ASSERT_TRUE(whole->next(all).ok());
    ASSERT_TRUE(first->next(half).ok());
    ASSERT_TRUE(second->next(other).ok());
    half.pixels.insert(half.pixels.end(), other.pixels.begin(),
                       other.pixels.end());
    EXPECT_EQ(all.pixels, half.pixels);
    half.imageRows.insert(half.imageRows.end(), other.imageRows.begin(),
                          other.imageRows.end());
    EXPECT_EQ(all.imageRows, half.imageRows);
    EXPECT_EQ(all.imageRows.size(), all.tokens.size());
    for (size_t i = 0; i < all.tokens.size(); ++i) {
      EXPECT_EQ(all.imageRows[i] >= 0, all.tokens[i] == 9);
      EXPECT_NE(all.labels[i], 9); // A placeholder is no label.
    }
    Batch later;
    ASSERT_TRUE(batches(1, 0, 4 + 2 * uint64_t(step))->next(later).ok());
    EXPECT_EQ(later.pixels, all.pixels);
  }
}

TEST_F(ImageDatasetTest, AnImageIsStoredOnce) {
  auto file = *ImageFile::open(folder / "p", 5, 95);
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(file->head().images, 3u);
  EXPECT_EQ(file->head().uses, 6u);
  EXPECT_EQ(test::readBytes(folder / "p.images").size(),
            72 + 3 * 6 * 6 * 3 + 6 * 8 + 6 * 4u);
}

TEST_F(ImageDatasetTest, TextAloneHasNoImages) {
  ASSERT_TRUE(removeImageFile(folder / "p").ok());
  write(folder / "q", {goldenSamples().sequences[1]});
  ASSERT_TRUE(removeImageFile(folder / "q").ok());
  auto source = openSamples({{1, folder / "q"}}, options, Split::Train, 3);
  ASSERT_TRUE(source.ok()) << source.status().message();
  ImagesRead sample(**source);
  ASSERT_TRUE(sample.read(**source, 2).ok());
  EXPECT_EQ(sample.rows, std::vector<int32_t>(19, -1));
  EXPECT_EQ(sample.pixels, std::vector<float>(2 * 4 * 27, 0));
  // But with placeholders it is damaged.
  auto damaged = mustOpen(5);
  std::string message;
  for (uint64_t i = 0; i < 5 && message.empty(); ++i)
    message = sample.read(*damaged, i).message();
  EXPECT_NE(message.find(" token"), message.npos) << message;
  EXPECT_NE(message.find("there is no " + (folder / "p.images")), message.npos)
      << message;
}

TEST_F(ImageDatasetTest, BlendsHaveImages) {
  write(folder / "q",
        {goldenSamples().sequences[1], goldenSamples().sequences[3]});
  auto blend = openSamples({{0.5, folder / "p"}, {0.5, folder / "q"}}, options,
                           Split::Train, 10);
  ASSERT_TRUE(blend.ok()) << blend.status().message();
  ImagesRead sample(**blend);
  uint64_t withImages = 0;
  for (uint64_t i = 0; i < 10; ++i) {
    ASSERT_TRUE(sample.read(**blend, i).ok());
    withImages +=
        std::ranges::any_of(sample.rows, [](int32_t row) { return row >= 0; });
  }
  EXPECT_GT(withImages, 0u);
  EXPECT_LT(withImages, 10u);
}

TEST_F(ImageDatasetTest, ImagesAreShownOnce) {
  auto source = mustOpen(12);
  auto bytes = *tokenizer::openTokenizer("byte");
  ShowOptions options;
  options.range = {0, 12};
  options.tokenizer = bytes.get();
  std::ostringstream out;
  ASSERT_TRUE(showSamples(*source, options, out).ok());
  for (const char *tokens :
       {"\n    1 2 9 x 4 3 4 5 8 8 6 7 9 x 4 8 8\n", // Two images,
        "\n    1 2 3 4 5 6 7 8 1 2 8 9 x 8\n",       // and side by side.
        // Token 9 is a tab.
        "  [[??]]? x 4[[???????]]? x 4[[??]]\n"})
    EXPECT_NE(out.str().find(tokens), std::string::npos) << out.str();
}

TEST_F(ImageDatasetTest, OtherImagesThanTheModelTakesAreRefused) {
  auto expect = [&](const std::string &message) {
    EXPECT_EQ(error(), (folder / "p.images") + ": " + message);
  };
  const ImageOptions good = *options.images;
  options.images->imageSize = 9;
  expect("was prepared with 6 pixels a side, and the model takes 9; prepare "
         "the data again");
  *options.images = good;
  options.images->tokensPerImage = 5;
  expect("was prepared with 4 tokens an image, and the model takes 5; prepare "
         "the data again");
  *options.images = good;
  options.images->imageToken = 3;
  expect("was prepared with 9 as the token of an image, and the model takes 3; "
         "prepare the data again");
  *options.images = good;
  options.images->imagesPerSequence = 1;
  expect("a sequence has up to 2 images, and a run takes 1; set "
         "training.images_per_sequence to 2, or prepare the data with "
         "--images-per-sequence 1");
  *options.images = good;
  options.images->patchSize = 4;
  EXPECT_EQ(error(), "an image of 1 to 16384 pixels a side is cut into whole "
                     "patches, not 6 pixels into patches of 4");
  options.images.reset();
  expect("these conversations have images, and the model takes none");
}

TEST_F(ImageDatasetTest, ImagesNeedTheMask) {
  ASSERT_TRUE(removeLossMask(folder / "p").ok());
  EXPECT_EQ(error(), (folder / "p.images") + ": there is no " +
                         (folder / "p.mask") +
                         " beside it, which says what is learned; prepare the "
                         "data again");
}

TEST_F(ImageDatasetTest, DamagedFilesAreRefused) {
  std::string bytes = test::readBytes(folder / "p.images");
  auto opens = [&](const std::string &damaged) {
    test::writeBytes(folder / "p.images", damaged);
    auto file = ImageFile::open(folder / "p", 5, 95);
    EXPECT_TRUE(file.ok() || file.status().code() == StatusCode::DataLoss);
    return file.ok();
  };
  EXPECT_TRUE(opens(bytes));
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(opens(bytes.substr(0, size))) << size;
  EXPECT_FALSE(opens(bytes + "x"));
  // All but the image token and the most of a document, which others check.
  for (size_t at = 0; at < 72; ++at)
    if (at < 32 || at >= 56)
      for (int bit : {0x01, 0x80}) {
        std::string damaged = bytes;
        damaged[at] = char(damaged[at] ^ bit);
        EXPECT_FALSE(opens(damaged)) << at;
      }
  size_t tables = 72 + 3 * 108;
  for (size_t at = tables; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = char(damaged[at] ^ 0x80);
    EXPECT_FALSE(opens(damaged)) << at;
  }
  std::string damaged = bytes;
  damaged[tables + 8] = 1; // The first document's images: one, not two.
  EXPECT_TRUE(opens(damaged));
  auto source = mustOpen(5);
  ImagesRead sample(*source);
  std::string message;
  for (uint64_t i = 0; i < 5 && message.empty(); ++i)
    message = sample.read(*source, i).message();
  EXPECT_NE(message.find("which stands for an image, and "), message.npos)
      << message;
}

} // namespace
