//===- CheckpointTest.cpp - Saving and loading a run ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/Checkpoint.h"
#include "base/Sha256.h"
#include "runtime/checkpoint/ShardedSave.h"
#include "test/runtime/ChildProcess.h"
#include "test/runtime/data/TokenFiles.h"

#include <csignal>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/resource.h>

using namespace hocket;
using namespace hocket::checkpoint;
using namespace hocket::test;

namespace {

/// Bytes 0, 1, 2, ... plus `first`.
std::vector<uint8_t> counting(size_t size, uint8_t first) {
  std::vector<uint8_t> bytes(size);
  for (size_t i = 0; i < size; ++i)
    bytes[i] = uint8_t(first + i);
  return bytes;
}

/// A manifest with the digest that fits, as one who builds a file would.
std::string sealed(std::string text) {
  text.resize(text.rfind("\"sha256\""));
  return text + "\"sha256\": \"" + toHex(Sha256::of(text)) + "\"\n}\n";
}

class CheckpointTest : public ::testing::Test {
protected:
  /// A weight [2, 3] with two slots and a scalar in BF16.
  std::vector<CheckpointTensor> tensors() {
    return {wholeTensor(weight, weightBytes), wholeTensor(average, slotBytes),
            wholeTensor(square, slotBytes), wholeTensor(scalar, scalarBytes)};
  }
  std::string save(uint64_t step) {
    state.step = step;
    Status status = saveCheckpoint(folder / "c", state, tensors());
    return status.message();
  }
  std::string openError(const std::string &dir) {
    auto opened = Checkpoint::open(dir);
    return opened.ok() ? "fine" : opened.status().message();
  }
  std::string readError(const TensorSpec &spec) {
    auto opened = Checkpoint::open(folder / "c");
    EXPECT_TRUE(opened.ok());
    std::vector<uint8_t> out(*tensorBytes(spec.shape, spec.type));
    return opened->read(spec, wholeOf(spec.shape), out).message();
  }
  /// The manifest of step 7 with one text replaced.
  std::string edited(const std::string &from, const std::string &to) {
    std::string text = readBytes(manifest());
    size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  }
  std::string manifest() { return folder / "c/iter_0000007/manifest.json"; }
  std::vector<std::string> names() {
    std::vector<std::string> names;
    for (auto &entry : std::filesystem::directory_iterator(folder / "c"))
      names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

  ScratchFolder folder;
  RunState state{.step = 7,
                 .consumedSamples = 56,
                 .seed = 1234,
                 .lossScale = LossScaleState{65536, 12},
                 .specText = "model { layers: 2 }\n# \"\xc3\xa9\"\n"};
  TensorSpec weight{{"w", ""}, ElementType::F32, {2, 3}};
  TensorSpec average{{"w", "exp_avg"}, ElementType::F32, {2, 3}};
  TensorSpec square{{"w", "exp_avg_sq"}, ElementType::F32, {2, 3}};
  TensorSpec scalar{{"s", ""}, ElementType::BF16, {}};
  std::vector<uint8_t> weightBytes = counting(24, 1);
  std::vector<uint8_t> slotBytes = counting(24, 100);
  std::vector<uint8_t> scalarBytes = counting(2, 50);
};

} // namespace

TEST_F(CheckpointTest, SavingAgainKeepsFilesOfOthers) {
  ASSERT_EQ(save(7), "");
  std::string at = folder / "c/iter_0000007";
  writeBytes(at + "/notes.txt", "mine");
  std::filesystem::create_directory(at + "/plots");
  writeBytes(at + "/plots/loss.svg", "drawn");
  ASSERT_EQ(save(7), "");
  EXPECT_EQ(openError(folder / "c"), "fine");
  EXPECT_EQ(readBytes(at + "/notes.txt"), "mine");
  EXPECT_EQ(readBytes(at + "/plots/loss.svg"), "drawn");
}

TEST_F(CheckpointTest, RoundTrip) {
  ASSERT_EQ(save(7), "");
  auto opened = Checkpoint::open(folder / "c");
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_EQ(opened->path(), folder / "c/iter_0000007");
  EXPECT_EQ(opened->state().step, 7u);
  EXPECT_EQ(opened->state().consumedSamples, 56u);
  EXPECT_EQ(opened->state().seed, 1234u);
  EXPECT_EQ(opened->state().lossScale, state.lossScale);
  EXPECT_EQ(opened->state().specText, state.specText);
  std::vector<uint8_t> out(24);
  ASSERT_TRUE(opened->read(square, wholeOf({2, 3}), out).ok());
  EXPECT_EQ(out, slotBytes);
  out.resize(2);
  ASSERT_TRUE(opened->read(scalar, wholeOf({}), out).ok());
  EXPECT_EQ(out, scalarBytes);
  EXPECT_EQ(opened->tensors().size(), 4u);
  EXPECT_TRUE(opened->expectTensors({weight, average, square, scalar}).ok());
}

TEST_F(CheckpointTest, WritesTheFilesThatPeopleExpect) {
  ASSERT_EQ(save(7), "");
  EXPECT_EQ(readBytes(folder / "c/latest_checkpointed_iteration.txt"), "7\n");
  auto model =
      SafetensorsFile::open(folder / "c/iter_0000007/model.safetensors");
  ASSERT_TRUE(model.ok());
  EXPECT_TRUE(model->find("w") && model->find("s"));
  EXPECT_EQ(model->tensors().size(), 2u);
  auto slots =
      SafetensorsFile::open(folder / "c/iter_0000007/optimizer.safetensors");
  ASSERT_TRUE(slots.ok());
  EXPECT_TRUE(slots->find("w.exp_avg") && slots->find("w.exp_avg_sq"));
}

TEST_F(CheckpointTest, TheLatestIsTakenAndOthersStay) {
  ASSERT_EQ(save(7), "");
  weightBytes = counting(24, 200);
  ASSERT_EQ(save(12), "");
  auto latest = Checkpoint::open(folder / "c");
  ASSERT_TRUE(latest.ok());
  EXPECT_EQ(latest->state().step, 12u);
  auto older = Checkpoint::open(folder / "c/iter_0000007");
  ASSERT_TRUE(older.ok());
  std::vector<uint8_t> out(24);
  ASSERT_TRUE(older->read(weight, wholeOf({2, 3}), out).ok());
  EXPECT_EQ(out, counting(24, 1));
}

TEST_F(CheckpointTest, ReplacesAnIterationOfTheSameStep) {
  ASSERT_EQ(save(7), "");
  weightBytes = counting(24, 77);
  ASSERT_EQ(save(7), "");
  auto opened = Checkpoint::open(folder / "c");
  ASSERT_TRUE(opened.ok());
  std::vector<uint8_t> out(24);
  ASSERT_TRUE(opened->read(weight, wholeOf({2, 3}), out).ok());
  EXPECT_EQ(out, weightBytes);
  EXPECT_EQ(names(), (std::vector<std::string>{
                         "iter_0000007", "latest_checkpointed_iteration.txt"}));
}

// Saved by two ranks that cut rows, loaded by two that cut columns.
TEST_F(CheckpointTest, LoadsAnotherCutThanItSaved) {
  CheckpointTensor cut{weight, {}};
  cut.slices.push_back(
      {{{0, 0}, {1, 3}}, bytesInMemory(std::span(weightBytes).first(12))});
  cut.slices.push_back(
      {{{1, 0}, {1, 3}}, bytesInMemory(std::span(weightBytes).last(12))});
  Status saved = saveCheckpoint(folder / "c", state, {cut});
  ASSERT_TRUE(saved.ok()) << saved.message();
  auto opened = Checkpoint::open(folder / "c");
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  std::vector<uint8_t> out(16), expected;
  ASSERT_TRUE(opened->read(weight, {{0, 1}, {2, 2}}, out).ok());
  for (size_t row : {0, 1})
    expected.insert(expected.end(), weightBytes.begin() + row * 12 + 4,
                    weightBytes.begin() + row * 12 + 12);
  EXPECT_EQ(out, expected);
}

TEST_F(CheckpointTest, RefusesSlicesThatAreNotTheTensor) {
  CheckpointTensor cut{weight, {}};
  cut.slices.push_back(
      {{{0, 0}, {1, 3}}, bytesInMemory(std::span(weightBytes).first(12))});
  EXPECT_EQ(saveCheckpoint(folder / "c", state, {cut}).message(),
            "tensor 'w': its slices have 3 elements, not those of [2, 3]");
  cut.slices[0].bounds.offset = {2, 0};
  EXPECT_EQ(saveCheckpoint(folder / "c", state, {cut}).message(),
            "tensor 'w': slice [2, 3) x [0, 3) is not inside [2, 3]");
  EXPECT_TRUE(std::filesystem::is_empty(folder / "c"));
}

TEST_F(CheckpointTest, SaysWhichTensorDoesNotFit) {
  ASSERT_EQ(save(7), "");
  std::string place = folder / "c/iter_0000007: tensor ";
  EXPECT_EQ(readError({{"v", ""}, ElementType::F32, {2}}),
            place + "'v' is missing");
  EXPECT_EQ(readError({{"w", "momentum"}, ElementType::F32, {2, 3}}),
            place + "'w.momentum' is missing");
  EXPECT_EQ(readError({{"w", ""}, ElementType::F32, {3, 2}}),
            place + "'w' has shape [2, 3], expected [3, 2]");
  EXPECT_EQ(readError({{"w", ""}, ElementType::BF16, {2, 3}}),
            place + "'w' has type F32, expected BF16");
  auto opened = Checkpoint::open(folder / "c");
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened->expectTensors({weight, average, square}).message(),
            place + "'s' is not part of this model");
  std::vector<uint8_t> out(20);
  EXPECT_EQ(opened->read(weight, wholeOf({2, 3}), out).code(),
            StatusCode::Internal);
}

TEST_F(CheckpointTest, SlotsMayBeMissingAltogether) {
  state.lossScale.reset();
  ASSERT_TRUE(
      saveCheckpoint(folder / "c", state, {wholeTensor(weight, weightBytes)})
          .ok());
  auto opened = Checkpoint::open(folder / "c");
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened->state().lossScale, std::nullopt);
  EXPECT_TRUE(
      opened->expectTensors({weight, average}, Completeness::SlotsOptional)
          .ok());
  EXPECT_FALSE(opened->expectTensors({weight, average}).ok());
}

/// Who trains nothing wants no optimizer state, nor its digest, and every
/// weight.
TEST_F(CheckpointTest, WeightsAreEnoughForWhoDoesNotTrain) {
  ASSERT_EQ(save(7), "");
  auto opened = Checkpoint::open(folder / "c");
  ASSERT_TRUE(opened.ok());
  constexpr auto alone = Completeness::WeightsAlone;
  EXPECT_TRUE(opened->expectTensors({weight, scalar}, alone).ok());
  EXPECT_FALSE(opened->expectTensors({weight, scalar}).ok());
  EXPECT_EQ(opened->expectTensors({weight}, alone).message(),
            folder / "c/iter_0000007: tensor 's' is not part of this model");
  EXPECT_FALSE(opened->expectTensors({scalar}, alone).ok());
  // One byte of the optimizer's file, then one of the weights'.
  for (auto [file, harms] : {std::pair("optimizer.safetensors", false),
                             {"model.safetensors", true}}) {
    std::fstream damaged(folder / "c/iter_0000007/" + file,
                         std::ios::in | std::ios::out | std::ios::binary);
    damaged.seekp(-1, std::ios::end);
    damaged.put('!');
    damaged.close();
    EXPECT_FALSE(Checkpoint::open(folder / "c").ok());
    EXPECT_NE(Checkpoint::open(folder / "c", {.skipOptimizer = true}).ok(),
              harms);
  }
}

TEST_F(CheckpointTest, SaysThatThereIsNone) {
  EXPECT_EQ(openError(folder / "none"),
            folder / "none: holds no checkpoint: it has neither manifest.json "
                     "nor latest_checkpointed_iteration.txt");
  ASSERT_EQ(save(7), "");
  writeBytes(folder / "c/latest_checkpointed_iteration.txt", "seven");
  EXPECT_EQ(openError(folder / "c"),
            folder / "c/latest_checkpointed_iteration.txt: expected the number "
                     "of an iteration");
  writeBytes(folder / "c/latest_checkpointed_iteration.txt", "8");
  EXPECT_EQ(openError(folder / "c"),
            folder / "c/iter_0000008: is no complete iteration, since it has "
                     "no manifest.json; the newest that is complete is " +
                folder / "c/iter_0000007");
  std::filesystem::remove(folder / "c/iter_0000007/manifest.json");
  for (const char *name : {"c/iter_0000007", "c/iter_0000007/"})
    EXPECT_EQ(openError(folder / name),
              folder / "c/iter_0000007: is no complete iteration, since it has "
                       "no manifest.json; " +
                  folder / "c holds no other");
}

/// After it was opened: an error of the read, not a signal.
TEST_F(CheckpointTest, NoticesAFileCutShort) {
  ASSERT_EQ(save(7), "");
  std::string path = folder / "c/iter_0000007/model.safetensors";
  auto opened = Checkpoint::open(folder / "c");
  ASSERT_TRUE(opened.ok());
  uint64_t bytes = std::filesystem::file_size(path);
  std::filesystem::resize_file(path, bytes / 2);
  std::vector<uint8_t> out(weightBytes.size());
  EXPECT_EQ(opened->read(weight, wholeOf(weight.shape), out).message(),
            path + ": has " + std::to_string(bytes / 2) +
                " bytes now; it had " + std::to_string(bytes) +
                " when its header was read");
  std::filesystem::remove(path);
  EXPECT_EQ(opened->read(weight, wholeOf(weight.shape), out).message(),
            path + ": cannot open: No such file or directory");
}

TEST_F(CheckpointTest, NoticesDamage) {
  ASSERT_EQ(save(7), "");
  std::string path = folder / "c/iter_0000007/model.safetensors";
  std::string good = readBytes(path);
  std::string flipped = good;
  flipped.back() = char(flipped.back() ^ 1);
  writeBytes(path, flipped);
  EXPECT_EQ(openError(folder / "c"),
            path + ": its SHA-256 is not the manifest's: the file is damaged");
  writeBytes(path, good.substr(0, good.size() - 1));
  EXPECT_EQ(openError(folder / "c"),
            path + ": has " + std::to_string(good.size() - 1) +
                " bytes, the manifest says " + std::to_string(good.size()));
  std::filesystem::remove(path);
  EXPECT_EQ(openError(folder / "c"),
            path + ": cannot open: No such file or directory");
}

TEST_F(CheckpointTest, RefusesAHostileManifest) {
  struct {
    const char *from, *to, *message;
  } cases[] = {
      {"{", "[", "byte 11: expected ',' or ']'"},
      {"hocket-checkpoint", "other",
       "expected the format 'hocket-checkpoint', found 'other'"},
      {"\"version\": 2", "\"version\": 3", "expected version 1 or 2, found 3"},
      {"\"step\": 7", "\"step\": -7",
       "expected an integer of at least 0 under 'step'"},
      {"\"seed\"", "\"sead\"",
       "expected an integer of at least 0 under 'seed'"},
      {"\"scale\": 65536.0", "\"scale\": \"x\"",
       "expected a number under 'scale'"},
      {"\"name\":\"model.safetensors\"",
       "\"name\":\"../iter_0000007/model.safetensors\"",
       "expected a file name without folders, found "
       "'../iter_0000007/model.safetensors'"},
      {"\"name\":\"optimizer.safetensors\"", "\"name\":\"model.safetensors\"",
       "the file 'model.safetensors' appears twice"},
      {"\"file\":\"model.safetensors\"", "\"file\":\"x\"",
       "tensor 'w': the file 'x' is not in the manifest"},
      {"\"key\":\"w\"", "\"key\":\"x\"",
       "tensor 'w': 'x' is not in model.safetensors"},
      {"\"key\":\"w\"", "\"key\":\"s\"",
       "tensor 'w': expected F32 [2, 3], found BF16 [] in model.safetensors"},
      {"\"dtype\":\"F32\"", "\"dtype\":\"F33\"",
       "tensor 'w': unknown type 'F33'"},
      {"\"slot\":\"exp_avg_sq\"", "\"slot\":\"exp_avg\"",
       "tensor 'w.exp_avg' appears twice"},
      {"\"slot\":\"\"", "\"slot\":3", "expected a string under 'slot'"},
  };
  ASSERT_EQ(save(7), "");
  std::string good = readBytes(manifest());
  for (const auto &c : cases) {
    writeBytes(manifest(), good);
    writeBytes(manifest(), sealed(edited(c.from, c.to)));
    EXPECT_EQ(openError(folder / "c"), manifest() + ": " + c.message);
  }
}

TEST_F(CheckpointTest, AnEditedManifestIsNotBelieved) {
  ASSERT_EQ(save(7), "");
  std::string good = readBytes(manifest());
  EXPECT_EQ(sealed(good), good);
  for (auto [from, to] :
       {std::pair("\"step\": 7", "\"step\": 8"),
        std::pair("\"consumed_samples\": 56", "\"consumed_samples\": 0"),
        std::pair("\"seed\": 1234", "\"seed\": 1235"),
        std::pair("\"good_steps\": 12", "\"good_steps\": 13"),
        std::pair("layers: 2", "layers: 3")}) {
    writeBytes(manifest(), good);
    writeBytes(manifest(), edited(from, to));
    EXPECT_EQ(openError(folder / "c"),
              manifest() + ": its SHA-256 is not that of its content: it is "
                           "damaged, or was edited")
        << from;
  }
  std::string bare = good.substr(0, good.rfind(",\n \"sha256\"")) + "}";
  writeBytes(manifest(), bare);
  EXPECT_EQ(openError(folder / "c"),
            manifest() + ": expected a digest under 'sha256' at the end");
  // Version 1 had none.
  writeBytes(manifest(), edited("\"version\": 2", "\"version\": 1"));
  EXPECT_EQ(openError(folder / "c"), "fine");
  writeBytes(manifest(), good.substr(0, good.rfind('}')) + ", \"step\": 9}");
  EXPECT_EQ(openError(folder / "c"),
            manifest() + ": expected nothing after 'sha256', found 'step'");
}

// No flipped bit of a manifest is believed, nor leads anywhere.
TEST_F(CheckpointTest, SurvivesEveryFlippedBitOfAManifest) {
  ASSERT_EQ(save(7), "");
  std::string good = readBytes(manifest());
  for (size_t bit = 0; bit < good.size() * 8; bit += 61) {
    std::string damaged = good;
    damaged[bit / 8] = char(damaged[bit / 8] ^ (1 << bit % 8));
    writeBytes(manifest(), damaged);
    std::string error = openError(folder / "c");
    // Behind the digest there is white space.
    EXPECT_TRUE(error != "fine" || bit / 8 > good.rfind('"'))
        << bit << ": " << error;
  }
}

/// A manifest whose tensors are `entry`, `count` times.
static std::string manifestOf(const std::string &entry, size_t count) {
  std::string text = "{\"format\":\"hocket-checkpoint\",\"version\":2,"
                     "\"step\":7,\"consumed_samples\":0,\"seed\":0,"
                     "\"spec\":\"\",\"files\":[],\"tensors\":[";
  for (size_t i = 0; i < count; ++i)
    text += (i ? "," : "") + entry;
  return sealed(text + "],\"sha256\"");
}

TEST_F(CheckpointTest, AManifestTakesLittleMoreThanItsBytes) {
  std::filesystem::create_directories(folder / "c/iter_0000007");
  auto expectBounded = [&](const std::string &text) {
    writeBytes(manifest(), text);
    uint64_t peak = peakBytesOf(
        [&] { (void)Checkpoint::open(folder / "c/iter_0000007").ok(); });
    EXPECT_LE(peak, 2 * text.size() + (uint64_t(48) << 20)) << text.size();
  };
  // Each parsed as one tree, these would take 14 and 8 times their bytes.
  expectBounded(manifestOf("[[[[[[0]]]]]]", 800'000));
  expectBounded(manifestOf("{\"name\":\"\",\"slot\":\"\",\"dtype\":\"F32\","
                           "\"shape\":[0],\"slices\":[]}",
                           160'000));
  std::string long_ = "[" + std::string(9 << 20, '0') + "]";
  writeBytes(manifest(), manifestOf(long_, 1));
  EXPECT_EQ(openError(folder / "c/iter_0000007"),
            manifest() + ": an entry under 'tensors' has 9.00 MiB, at most "
                         "8.00 MiB are expected");
  writeBytes(manifest(), manifestOf("[]", 1));
  std::filesystem::resize_file(manifest(), (uint64_t(128) << 20) + 1);
  EXPECT_EQ(openError(folder / "c/iter_0000007"),
            manifest() + ": has 128.0 MiB, at most 128.0 MiB are expected of "
                         "such a file");
}

// Dozens of kills must not fill a disk.
TEST_F(CheckpointTest, TheNextSaveRemovesWhatKilledOnesLeft) {
  ASSERT_EQ(save(7), "");
  for (uint64_t step : {8, 9}) {
    // Killed between the shards and the manifest.
    WaitingChild saving([&] {
      static auto pending = PendingIteration::create(folder / "c", step);
      return pending.ok() &&
             writeShard((*pending)->folder(), 0, 1, tensors()).ok();
    });
    ASSERT_TRUE(saving.succeeded);
    // Of the first nothing is left.
    EXPECT_EQ(names().size(), 3u);
  }
  ASSERT_EQ(save(10), "");
  EXPECT_EQ(names(),
            (std::vector<std::string>{"iter_0000007", "iter_0000010",
                                      "latest_checkpointed_iteration.txt"}));
}

TEST_F(CheckpointTest, RefusesSlicesOfAManifestThatOverlapOrGap) {
  ASSERT_TRUE(saveCheckpoint(folder / "c", state,
                             {wholeTensor(weight, weightBytes),
                              wholeTensor(scalar, scalarBytes)})
                  .ok());
  std::string path = folder / "c/iter_0000007/manifest.json";
  std::string good = readBytes(path);
  auto error = [&](const std::string &shape, const std::string &slices) {
    // The tensor 's', a scalar, claims to be something larger.
    size_t at = good.rfind("\"shape\"");
    writeBytes(path, sealed(good.substr(0, at) + "\"shape\": " + shape +
                            ", \"slices\": [" + slices + "]}], \"sha256\""));
    return openError(folder / "c");
  };
  std::string slice =
      R"({"file": "model.safetensors", "key": "s", "offset": [], "size": []})";
  EXPECT_EQ(error("[]", slice), "fine");
  EXPECT_EQ(error("[]", slice + "," + slice),
            path + ": tensor 's': slices 0 and 1 overlap");
  EXPECT_EQ(error("[]", ""), path + ": tensor 's': its slices leave a gap");
  EXPECT_EQ(error("[2]", slice),
            path + ": tensor 's': a slice is not inside [2]");
  EXPECT_EQ(error("[4294967296, 4294967296]", slice),
            path + ": tensor 's': shape [4294967296, 4294967296] overflows 64 "
                   "bits");
}

// A save that fails half-way leaves the last checkpoint and nothing else.
TEST_F(CheckpointTest, AFailedSaveChangesNothing) {
  ASSERT_EQ(save(7), "");
  std::vector<uint8_t> large(1 << 20);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old;
  getrlimit(RLIMIT_FSIZE, &old);
  rlimit small{65536, old.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  state.step = 8;
  Status status = saveCheckpoint(
      folder / "c", state,
      {wholeTensor({{"big", ""}, ElementType::U8, {1 << 20}}, large)});
  setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find("cannot write: File too large"),
            std::string::npos)
      << status.message();
  EXPECT_EQ(names(), (std::vector<std::string>{
                         "iter_0000007", "latest_checkpointed_iteration.txt"}));
  auto opened = Checkpoint::open(folder / "c");
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened->state().step, 7u);
}

TEST_F(CheckpointTest, SaysThatAFolderCannotBeWritten) {
  // Nobody may make a folder in /proc.
  Status status = saveCheckpoint("/proc", state, tensors());
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.message().rfind("/proc/iter_0000007: cannot create: ", 0),
            0u)
      << status.message();
  writeBytes(folder / "file", "x");
  status = saveCheckpoint(folder / "file", state, tensors());
  EXPECT_EQ(status.message(),
            folder / "file: cannot make the folder: Not a directory");
}
