//===- RunFacts.cpp - What processes of one run have alike ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/RunFacts.h"

#include "base/Format.h"
#include "base/Sha256.h"
#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/data/IndexedDataset.h"
#include "runtime/data/samples/BlendedDataset.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

using namespace hocket;
namespace fs = std::filesystem;

static std::string shortHex(Sha256 &digest) {
  return toHex(digest.finish()).substr(0, 16);
}

static std::string number(uint64_t value) {
  return formatText("%llu", (unsigned long long)value);
}

//===----------------------------------------------------------------------===//
// The executable
//===----------------------------------------------------------------------===//

static void add(Sha256 &digest, const google::protobuf::MessageLite &message) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    (void)message.SerializeToCodedStream(&coded);
  }
  uint64_t size = bytes.size();
  digest.update(&size, sizeof(size));
  digest.update(bytes.data(), bytes.size());
}

/// The fingerprint names spec and plan; what another compiler makes of them may
/// be another program. Code is not part of it: each machine may have its own.
static std::string executableText(const program::Program &program) {
  Sha256 digest;
  add(digest, program.training());
  for (const program::Parameter &parameter : program.parameters())
    add(digest, parameter);
  for (const program::Group &group : program.groups())
    add(digest, group);
  for (const program::Role &role : program.roles())
    add(digest, role);
  return toHex(program.provenance().fingerprint()).substr(0, 16) + "-" +
         shortHex(digest).substr(0, 8);
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// The size of a file and `blocks` blocks of it, from the first to the last;
/// all of it if that is not more.
static void addFile(Sha256 &digest, const std::string &path, uint64_t blocks,
                    uint64_t blockBytes) {
  std::error_code error;
  bool isFile = fs::is_regular_file(path, error);
  uint64_t size = isFile ? fs::file_size(path, error) : 0;
  std::ifstream file;
  if (isFile && !error)
    file.open(path, std::ios::binary);
  if (!file.is_open())
    size = ~uint64_t(0);
  digest.update(&size, sizeof(size));
  if (!file.is_open())
    return;
  blocks = std::min(blocks, (size + blockBytes - 1) / blockBytes);
  uint64_t last = size - std::min(size, blockBytes);
  std::vector<char> block(blockBytes);
  for (uint64_t i = 0; i < blocks; ++i) {
    uint64_t offset = blocks == 1 ? 0 : last / (blocks - 1) * i;
    file.clear();
    file.seekg(std::streamoff(i + 1 == blocks ? last : offset));
    file.read(block.data(), std::streamsize(block.size()));
    digest.update(block.data(), size_t(file.gcount()));
  }
}

static std::string dataDigest(const std::vector<std::string> &words) {
  if (words.empty())
    return "none";
  auto parts = data::parseBlend(words);
  if (!parts.ok())
    return parts.status().message();
  Sha256 digest;
  for (const data::BlendPart &part : *parts) {
    auto prefix = data::resolvePrefix(part.prefix);
    if (!prefix.ok())
      return prefix.status().message();
    digest.update(&part.weight, sizeof(part.weight));
    addFile(digest, *prefix + ".idx", 16, uint64_t(1) << 20);
    addFile(digest, *prefix + ".bin", 16, uint64_t(1) << 16);
  }
  return shortHex(digest);
}

static std::string joined(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : " ") + word;
  return text;
}

static std::string manifestDigest(const RunStart &start) {
  if (start.loadDir.empty())
    return "nothing";
  std::error_code error;
  std::string folder = start.loadDir;
  if (!fs::exists(folder + "/manifest.json", error) &&
      !fs::exists(folder + "/config.json", error))
    folder = checkpoint::iterationFolder(folder, start.step);
  Sha256 digest;
  for (const char *name : {"/manifest.json", "/config.json"})
    addFile(digest, folder + name, 64, uint64_t(1) << 20);
  return shortHex(digest);
}

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

static const char *graphText(GraphUse use) {
  switch (use) {
  case GraphUse::Auto:
    return "auto";
  case GraphUse::On:
    return "on";
  case GraphUse::Off:
    return "off";
  }
  return "?";
}

/// Those that have all ranks do something together. What --log says is rank
/// 0's alone.
static std::string optionsText(const TrainingOptions &options) {
  std::string text;
  auto addIf = [&](bool isThere, const char *name) {
    if (isThere)
      text += std::string(text.empty() ? "" : " ") + name;
  };
  addIf(!options.loadDir.empty(), "--load");
  addIf(options.finetune, "--finetune");
  addIf(!options.saveDir.empty(), "--save");
  addIf(options.resume, "--resume");
  addIf(!options.traceFile.empty(), "--trace");
  addIf(options.profile, "--profile");
  addIf(options.mockData, "--mock-data");
  return (text.empty() ? "" : text + " ") + "--cuda-graphs " +
         graphText(options.graphs);
}

comm::RunFact hocket::factOfExecutable(const program::Program &program) {
  return {"runs another executable", executableText(program)};
}

std::vector<comm::RunFact> hocket::factsOfRun(const program::Program &program,
                                              const TrainingOptions &options,
                                              const std::string &runId) {
  const program::TrainingInfo &training = program.training();
  return {
      {"belongs to another run", runId.empty() ? "none" : runId},
      factOfExecutable(program),
      {"has another seed", number(options.seed.value_or(training.seed()))},
      {"trains another number of steps",
       number(options.steps.value_or(training.steps()))},
      {"has other data", dataDigest(options.data), joined(options.data)},
      {"validates on other data", dataDigest(options.validData),
       joined(options.validData)},
      {"has other options", optionsText(options)},
  };
}

std::vector<comm::RunFact> hocket::factsOfStart(const RunStart &start) {
  return {
      {"begins at another step", number(start.step)},
      {"has loaded another checkpoint", manifestDigest(start), start.loadDir},
      {"begins at another sample", number(start.consumedSamples)},
      {"begins with another seed", number(start.seed)},
  };
}
