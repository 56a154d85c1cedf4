//===- DataNeighborsCommand.cpp - hocket data neighbors -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/DataNeighborsCommand.h"

#include "base/File.h"
#include "base/Format.h"
#include "base/Quantity.h"
#include "base/json/JsonDefect.h"
#include "base/json/JsonLines.h"
#include "compiler/tools/RetrievalTargets.h"
#include "compiler/tools/SpecOptions.h"
#include "frontends/FrontEnd.h"
#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/data/samples/NeighborSearch.h"
#include "runtime/inference/Embed.h"
#include "runtime/tokenizer/Tokenizer.h"
#include "runtime/tools/ModelInput.h"
#include "runtime/tools/command_line/CommandLine.h"
#include "runtime/tools/command_line/OptionValues.h"
#include "runtime/tools/command_line/ProgressLine.h"
#include "runtime/train/Interrupt.h"

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

using namespace hocket;

namespace {

struct NeighborsArguments : RetrievalArguments {
  std::vector<std::string> splits; ///< Empty: what a run reads.
  // The encoder.
  std::string embedder, embedderProgram, tokenizer, embedderTokenizer;
  uint64_t rows = 32;
  std::optional<uint64_t> length;
  // What another program made.
  std::string corpusEmbeddings, sampleEmbeddings;
  // The search.
  std::string index;
  uint64_t probes = 16, threads = 0;
  bool json = false;
};

//===----------------------------------------------------------------------===//
// The encoder
//===----------------------------------------------------------------------===//

/// Embeds chunks of the corpus' tokens by an encoder with tokens of its own.
class EncoderOfChunks : public data::ChunkEmbedder {
public:
  static StatusOr<std::shared_ptr<EncoderOfChunks>>
  open(const NeighborsArguments &arguments, uint64_t chunkLength,
       const EmbedderCompiler &compiler) {
    auto encoder = std::shared_ptr<EncoderOfChunks>(
        new EncoderOfChunks(arguments, chunkLength, compiler));
    HOCKET_RETURN_IF_ERROR(encoder->load(arguments));
    return encoder;
  }

  uint64_t dim() const override { return texts->dim(); }
  uint64_t atOnce() const override { return texts->rows(); }
  Sha256::Digest digest() const override { return made; }

  Status embed(std::span<const data::ChunkTokens> chunks,
               std::span<float> out) override {
    std::vector<std::vector<int32_t>> encoded(chunks.size());
    for (size_t i = 0; i < chunks.size(); ++i)
      // A chunk may begin and end within a character.
      theirs->encode(toValidUtf8(ours->decode(chunks[i])), encoded[i]);
    return texts->embed(encoded, out);
  }

private:
  EncoderOfChunks(const NeighborsArguments &arguments, uint64_t chunkLength,
                  const EmbedderCompiler &compiler)
      : input(resolverOf(arguments, chunkLength, compiler)) {}

  static ProgramResolver resolverOf(const NeighborsArguments &arguments,
                                    uint64_t chunkLength,
                                    const EmbedderCompiler &compiler) {
    // Twice as many tokens as a chunk has are enough for all but a few.
    EmbedderRequest request{"", arguments.rows,
                            arguments.length.value_or(2 * chunkLength)};
    ProgramResolver resolver;
    resolver.takesRuns = true;
    resolver.resolve = [request, compiler](const std::string &input) {
      EmbedderRequest ofInput = request;
      ofInput.input = input;
      return compiler(ofInput);
    };
    return resolver;
  }

  Status load(const NeighborsArguments &arguments) {
    HOCKET_ASSIGN_OR_RETURN(ours,
                            tokenizer::openTokenizer(arguments.tokenizer));
    HOCKET_ASSIGN_OR_RETURN(
        theirs, tokenizer::openTokenizer(arguments.embedderTokenizer));
    input.loadDir = arguments.embedder;
    input.program.input = arguments.embedderProgram;
    HOCKET_ASSIGN_OR_RETURN(model, OpenedModel::open(input));
    HOCKET_ASSIGN_OR_RETURN(texts, inference::TextEmbedder::open(
                                       model->shared(), model->options()));
    return identify();
  }

  /// By the weights, and by what they are given.
  Status identify() {
    HOCKET_ASSIGN_OR_RETURN(
        auto checkpoint,
        checkpoint::Checkpoint::open(input.loadDir, {.verifyDigests = false}));
    constexpr uint64_t mostBytes = uint64_t(1) << 30;
    HOCKET_ASSIGN_OR_RETURN(
        std::string manifest,
        readFile(checkpoint.path() + "/manifest.json", mostBytes));
    const program::Program &program = model->program();
    made =
        Sha256::of("mean of the last layer 1\n" + toHex(Sha256::of(manifest)) +
                   "\n" + std::to_string(program.model().sequence_length()) +
                   "\n" + program.training().precision() + "\n" +
                   ours->digest() + "\n" + theirs->digest());
    return okStatus();
  }

  ModelInput input;
  std::unique_ptr<tokenizer::Tokenizer> ours, theirs;
  std::unique_ptr<OpenedModel> model;
  std::unique_ptr<inference::TextEmbedder> texts;
  Sha256::Digest made = {};
};

//===----------------------------------------------------------------------===//
// The command
//===----------------------------------------------------------------------===//

/// Chunks are embedded by an encoder, or were by another program.
Status checkEmbedder(const NeighborsArguments &arguments) {
  bool given = !arguments.corpusEmbeddings.empty() ||
               !arguments.sampleEmbeddings.empty();
  if (given && !arguments.embedder.empty())
    return invalidArgument("--embedder makes the embeddings that "
                           "--corpus-embeddings and --sample-embeddings give; "
                           "say one of the two");
  if (given && (arguments.corpusEmbeddings.empty() ||
                arguments.sampleEmbeddings.empty()))
    return invalidArgument("--corpus-embeddings and --sample-embeddings go "
                           "together");
  if (given && arguments.splits.size() != 1)
    return invalidArgument("--sample-embeddings are those of one split; say "
                           "which, as in --split train");
  if (given)
    return okStatus();
  if (arguments.embedder.empty())
    return invalidArgument("--embedder is missing, the run or checkpoint of an "
                           "encoder such as BERT; or --corpus-embeddings and "
                           "--sample-embeddings, which another program made");
  for (auto [name, value] :
       {std::pair{"--tokenizer", &arguments.tokenizer},
        {"--embedder-tokenizer", &arguments.embedderTokenizer}})
    if (value->empty())
      return invalidArgument(std::string(name) +
                             " is missing: chunks are text to the embedder");
  return okStatus();
}

std::string describeStage(const std::string &what, uint64_t done, uint64_t all,
                          uint64_t first, double seconds) {
  double rate = double(done - first) / std::max(seconds, 1e-9);
  std::string text =
      what + formatText(" %5.1f %%", 100.0 * double(done) /
                                         double(std::max<uint64_t>(all, 1)));
  if (done == first)
    return text;
  return text + "  " + formatRate(rate, "chunks") + "  " +
         formatDuration(double(all - done) / rate) + " left";
}

/// A line for each stage, with the rate since it began or went on.
class StageLine {
public:
  bool show(const std::string &what, uint64_t done, uint64_t all) {
    if (what != stage) {
      clear();
      stage = what;
      line = std::make_unique<ProgressLine>();
      first = done;
    }
    line->show([&](double seconds) {
      return describeStage(what, done, all, first, seconds);
    });
    return !InterruptGuard::requested();
  }
  void clear() {
    if (line)
      line->clear();
  }

private:
  std::string stage;
  std::unique_ptr<ProgressLine> line;
  uint64_t first = 0;
};

void print(const NeighborsArguments &arguments,
           const data::NeighborSearch &search, data::Split split,
           const data::NeighborResult &result) {
  if (arguments.json) {
    std::cout << toJsonText({{"split", data::splitName(split)},
                             {"path", result.path},
                             {"samples", result.samples},
                             {"chunks", result.chunks},
                             {"index", search.kind().name()},
                             {"corpus_documents", search.documents()},
                             {"corpus_chunks", search.chunks()},
                             {"was_there", result.wasThere}})
              << '\n';
    return;
  }
  std::cout << result.path + ": " + formatNoun(result.chunks, "chunk") +
                   " of " + formatNoun(result.samples, "sample") + " of " +
                   std::string(data::splitName(split)) + ", from " +
                   formatNoun(search.chunks(), "chunk") + " of " +
                   formatNoun(search.documents(), "document") + " (" +
                   search.kind().name() + ")" +
                   (result.wasThere ? "; it was there" : "") + "\n";
}

/// Samples, and what the run calls the split that they are of.
struct SplitTarget {
  data::Split split;
  data::NeighborTarget target;
};

/// Those that the command line names, or else those of training and, as far as
/// the run has such data, of validation.
StatusOr<std::vector<SplitTarget>>
targetsOf(const NeighborsArguments &arguments, const RetrievalRun &run,
          std::vector<std::string> &corpus) {
  std::vector<std::string> splits = arguments.splits;
  if (splits.empty())
    splits = {"train"};
  if (arguments.splits.empty() && run.validates())
    splits.push_back("valid");
  std::vector<SplitTarget> targets;
  for (const std::string &name : splits) {
    HOCKET_ASSIGN_OR_RETURN(data::Split split, data::parseSplit(name));
    auto ofSplit = run.targets(split, corpus);
    if (!ofSplit.ok() && arguments.splits.empty() && name == "valid") {
      std::cerr << "no neighbours for validation: " +
                       ofSplit.status().message() + "\n";
      continue;
    }
    HOCKET_RETURN_IF_ERROR(ofSplit.status());
    for (data::NeighborTarget &target : *ofSplit)
      targets.push_back({split, std::move(target)});
  }
  return targets;
}

Status run(const NeighborsArguments &arguments,
           const EmbedderCompiler &compiler) {
  InterruptGuard guard;
  HOCKET_ASSIGN_OR_RETURN(RetrievalRun of, RetrievalRun::open(arguments));
  HOCKET_RETURN_IF_ERROR(checkEmbedder(arguments));
  data::NeighborSearchOptions options;
  options.chunkLength = of.shape().chunkLength;
  options.neighbors = of.shape().neighbors;
  options.vocabularySize = of.vocabularySize();
  options.probes = arguments.probes;
  options.threads = unsigned(arguments.threads);
  options.corpusEmbeddings = arguments.corpusEmbeddings;
  options.sampleEmbeddings = arguments.sampleEmbeddings;
  if (!arguments.index.empty()) {
    HOCKET_ASSIGN_OR_RETURN(options.index,
                            data::parseIndexKind(arguments.index));
  }
  // All that can be wrong with the samples is told before hours of work.
  HOCKET_ASSIGN_OR_RETURN(std::vector<SplitTarget> targets,
                          targetsOf(arguments, of, options.corpus));
  if (!options.sampleEmbeddings.empty() && targets.size() > 1)
    return invalidArgument("--sample-embeddings are those of one token file; "
                           "name each part of the blend by itself");
  if (options.corpusEmbeddings.empty()) {
    HOCKET_ASSIGN_OR_RETURN(
        options.embedder,
        EncoderOfChunks::open(arguments, options.chunkLength, compiler));
  }
  StageLine line;
  auto search = data::NeighborSearch::open(
      options, [&](const std::string &what, uint64_t done, uint64_t all) {
        return line.show(what, done, all);
      });
  line.clear();
  HOCKET_RETURN_IF_ERROR(search.status());
  for (const auto &[split, target] : targets) {
    auto result = (*search)->find(target);
    line.clear();
    HOCKET_RETURN_IF_ERROR(result.status());
    print(arguments, **search, split, *result);
  }
  return okStatus();
}

void addEmbedderOptions(CLI::App &command, NeighborsArguments &arguments) {
  wantPath(command.add_option("--embedder", arguments.embedder,
                              "Embeds chunks: the run or checkpoint of an "
                              "encoder, as `hocket checkpoint import "
                              "bert-base-uncased -o bert` makes one"))
      ->type_name("RUN");
  command
      .add_option("--tokenizer", arguments.tokenizer,
                  "What the data was prepared with: byte, or a file or folder")
      ->type_name("PATH");
  command
      .add_option("--embedder-tokenizer", arguments.embedderTokenizer,
                  "The embedder's own tokenizer, likewise")
      ->type_name("PATH");
  command
      .add_option("--embedder-program", arguments.embedderProgram,
                  "The embedder, compiled with `--entries embed`, or what to "
                  "compile (default: what RUN was trained from)")
      ->type_name("INPUT");
  wantWhole(command.add_option("--embedder-rows", arguments.rows,
                               "Chunks that are embedded at a time"),
            1, 1 << 20)
      ->type_name("N")
      ->capture_default_str();
  wantWhole(command.add_option("--embedder-length", arguments.length,
                               "Tokens of a chunk, to the embedder, with [CLS] "
                               "and [SEP]; longer ones are cut (default: twice "
                               "the tokens that it has in the data)"),
            8, 1 << 20)
      ->type_name("N");
  wantPath(command.add_option("--corpus-embeddings", arguments.corpusEmbeddings,
                              "In place of --embedder, a .npy file of float32 "
                              "[chunks, dim] with the embeddings of the "
                              "chunks that `hocket data chunks` lists"))
      ->type_name("FILE");
  wantPath(command.add_option("--sample-embeddings", arguments.sampleEmbeddings,
                              "And those of the chunks that it lists with "
                              "--split"))
      ->type_name("FILE");
}

} // namespace

void hocket::registerDataNeighbors(CLI::App &data, Status &result,
                                   const EmbedderCompiler &compiler) {
  auto arguments = std::make_shared<NeighborsArguments>();
  CLI::App *command = addCommand(
      data, "neighbors",
      "Retrieve, for each sample of a run, the texts that are most like it");
  command->footer(
      "Embeds the chunks of the corpus, puts them into an index, and looks up "
      "those nearest to each chunk of the samples. If it is stopped, the same "
      "command goes on where it was; what is complete is not made again.\n\n"
      "Example:\n  hocket checkpoint import bert-base-uncased -o bert\n  "
      "hocket "
      "data neighbors data/wiki --spec retro.textproto --embedder bert "
      "--embedder-tokenizer bert-base-uncased --tokenizer gpt2\n  hocket data "
      "show data/wiki --spec retro.textproto --tokenizer gpt2");
  addRetrievalOptions(*command, *arguments);
  command
      ->add_option_function<std::string>(
          "--split",
          [arguments](const std::string &text) {
            arguments->splits = CLI::detail::split(text, ',');
          },
          "Whose samples: train, valid or test, or several with commas "
          "(default: train, and valid if the run validates)")
      ->type_name("NAMES");
  addEmbedderOptions(*command, *arguments);
  command
      ->add_option("--index", arguments->index,
                   "How chunks are searched, in Faiss' words: Flat (all of "
                   "them, exact), IVF4096,Flat (those in the lists that are "
                   "nearest, of 4096), or IVF4096,PQ64 (likewise, by codes of "
                   "64 bytes). Default: Flat for up to 200,000 chunks, else "
                   "lists and codes")
      ->type_name("KIND");
  wantWhole(command->add_option("--probes", arguments->probes,
                                "Lists that are searched; more find more, and "
                                "take longer"),
            1, 1 << 24)
      ->type_name("N")
      ->capture_default_str();
  wantWhole(command->add_option("--threads", arguments->threads,
                                "Threads of the search; 0 uses all cores that "
                                "are allowed"),
            0, 1024)
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--json", arguments->json, "Print the results as JSON");
  command->callback(
      [arguments, compiler, &result] { result = run(*arguments, compiler); });
}

//===----------------------------------------------------------------------===//
// chunks
//===----------------------------------------------------------------------===//

namespace {

struct ChunksArguments : RetrievalArguments {
  std::string split, tokenizer;
};

class ChunkLines {
public:
  explicit ChunkLines(std::unique_ptr<tokenizer::Tokenizer> tokenizer)
      : tokenizer(std::move(tokenizer)) {}

  void print(nlohmann::ordered_json object,
             const std::vector<int32_t> &tokens) const {
    object["tokens"] = tokens;
    if (tokenizer)
      object["text"] = toValidUtf8(tokenizer->decode(tokens));
    std::cout << toJsonText(object) << '\n';
  }

private:
  std::unique_ptr<tokenizer::Tokenizer> tokenizer;
};

Status printCorpus(const RetrievalRun &run, const ChunkLines &lines) {
  std::vector<std::string> from;
  HOCKET_ASSIGN_OR_RETURN(auto targets, run.targets(data::Split::Train, from));
  HOCKET_ASSIGN_OR_RETURN(auto corpus, data::RetrievalCorpus::open(from));
  HOCKET_ASSIGN_OR_RETURN(
      auto table, data::ChunkTable::create(*corpus, run.shape().chunkLength));
  for (uint64_t chunk = 0; chunk < table.size(); ++chunk) {
    data::ChunkTable::Place place = table.at(chunk);
    std::vector<int32_t> tokens(run.shape().chunkLength);
    HOCKET_ASSIGN_OR_RETURN(uint64_t count,
                            corpus->read(place.document, place.offset,
                                         run.vocabularySize(), tokens));
    tokens.resize(count);
    lines.print({{"chunk", chunk},
                 {"document", place.document},
                 {"offset", place.offset}},
                tokens);
  }
  return okStatus();
}

Status printSamples(const RetrievalRun &run, data::Split split,
                    const ChunkLines &lines) {
  std::vector<std::string> from;
  HOCKET_ASSIGN_OR_RETURN(auto targets, run.targets(split, from));
  uint64_t length = run.shape().chunkLength;
  for (const data::NeighborTarget &target : targets)
    for (uint64_t sample = 0; sample < target.samples; ++sample) {
      std::vector<int32_t> all(target.options.sequenceLength + 1);
      HOCKET_RETURN_IF_ERROR(target.text->read(sample, all));
      for (uint64_t begin = 0; begin + length < all.size(); begin += length)
        lines.print(
            {{"data", target.file->prefix()},
             {"sample", sample},
             {"chunk", begin / length}},
            {all.begin() + long(begin), all.begin() + long(begin + length)});
    }
  return okStatus();
}

Status run(const ChunksArguments &arguments) {
  HOCKET_ASSIGN_OR_RETURN(RetrievalRun run, RetrievalRun::open(arguments));
  std::unique_ptr<tokenizer::Tokenizer> tokenizer;
  if (!arguments.tokenizer.empty()) {
    HOCKET_ASSIGN_OR_RETURN(tokenizer,
                            tokenizer::openTokenizer(arguments.tokenizer));
  }
  ChunkLines lines(std::move(tokenizer));
  if (arguments.split.empty())
    return printCorpus(run, lines);
  HOCKET_ASSIGN_OR_RETURN(data::Split split, data::parseSplit(arguments.split));
  return printSamples(run, split, lines);
}

} // namespace

void hocket::registerDataChunks(CLI::App &data, Status &result) {
  auto arguments = std::make_shared<ChunksArguments>();
  CLI::App *command =
      addCommand(data, "chunks",
                 "List the chunks that are retrieved, or those of samples");
  command->footer(
      "One JSON object a line, in the order of the rows that `hocket data "
      "neighbors` takes as --corpus-embeddings and, with --split, as "
      "--sample-embeddings.\n\nExample:\n  hocket data chunks data/wiki --spec "
      "retro.textproto --tokenizer gpt2 > corpus.jsonl\n  hocket data chunks "
      "data/wiki --spec retro.textproto --tokenizer gpt2 --split train > "
      "samples.jsonl");
  addRetrievalOptions(*command, *arguments);
  wantOneOf(command->add_option("--split", arguments->split,
                                "The chunks of this split's samples, not of "
                                "the corpus"),
            {"train", "valid", "test"})
      ->type_name("NAME");
  command
      ->add_option("--tokenizer", arguments->tokenizer,
                   "Shows the text too: byte, or the file or folder that the "
                   "data was prepared with")
      ->type_name("PATH");
  command->callback([arguments, &result] { result = run(*arguments); });
}
