//===- CheckpointCommand.cpp - hocket checkpoint -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/CheckpointCommand.h"

#include "base/File.h"
#include "compiler/tools/ModelWeights.h"
#include "compiler/tools/SpecOptions.h"
#include "compiler/tools/Upcycle.h"
#include "frontends/FrontEnd.h"
#include "frontends/huggingface/ReadConfig.h"
#include "frontends/huggingface/WriteConfig.h"
#include "frontends/megatron/ReadSettings.h"
#include "runtime/checkpoint/IterationFiles.h"
#include "runtime/checkpoint/hugging_face/Adapters.h"
#include "runtime/checkpoint/hugging_face/HuggingFace.h"
#include "runtime/megatron/Import.h"
#include "runtime/tools/CheckpointTools.h"
#include "runtime/tools/command_line/CommandLine.h"
#include "runtime/tools/command_line/OptionValues.h"
#include "runtime/tools/command_line/ProgressLine.h"

#include <filesystem>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>

using namespace hocket;

namespace {

struct CheckpointArguments {
  std::string input, output, spec, base, experts = "joined";
  std::string format = "huggingface", dtype = "float32", tokenizer;
  double fileGigabytes = 5;
  uint64_t expertCount = 0, topK = 2;
  spec::LoadOptions options;
};

/// What Hugging Face's folders hold beside config and weights.
constexpr const char *kTokenizerFiles[] = {
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "vocab.json",
    "merges.txt",
    "vocab.txt",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
    "generation_config.json",
};
constexpr uint64_t kTokenizerFileBytes = uint64_t{256} << 20;

/// Reads the tokenizer's files of a folder, or one file: by name, their text.
/// InvalidArgument if there is none.
StatusOr<std::map<std::string, std::string>>
readTokenizerFiles(const std::string &path) {
  namespace fs = std::filesystem;
  std::map<std::string, std::string> files;
  std::error_code error;
  bool isFolder = fs::is_directory(path, error);
  for (const char *name : kTokenizerFiles) {
    std::string file = isFolder ? path + "/" + name : path;
    if (isFolder ? !fs::exists(file, error) : fs::path(path).filename() != name)
      continue;
    HOCKET_ASSIGN_OR_RETURN(files[name], readFile(file, kTokenizerFileBytes));
  }
  if (files.empty())
    return invalidArgument(path + ": holds no tokenizer: none of "
                                  "tokenizer.json, tokenizer.model, "
                                  "vocab.json, vocab.txt and others");
  return files;
}

/// How far the conversion of weights is.
class WeightsLine {
public:
  void expect(const checkpoint::TensorSpec &spec) {
    if (spec.key.slot.empty())
      total += *checkpoint::tensorBytes(spec.shape, spec.type);
  }
  ~WeightsLine() { line.clear(); }
  void add(uint64_t bytes) {
    done += bytes;
    line.show(
        [this](double seconds) { return describeRate(done, total, seconds); });
  }

private:
  uint64_t total = 0, done = 0;
  ProgressLine line;
};

/// In PyTorch's words.
const std::vector<std::pair<std::string, checkpoint::ElementType>> kDtypes = {
    {"float32", checkpoint::ElementType::F32},
    {"bfloat16", checkpoint::ElementType::BF16},
    {"float16", checkpoint::ElementType::F16},
};

/// The model that a checkpoint was trained from, as it says itself.
StatusOr<spec::LoadedSpec> specOf(const checkpoint::Checkpoint &checkpoint) {
  if (checkpoint.state().specText.empty())
    return invalidArgument(checkpoint.path() +
                           ": the checkpoint does not say which model it is "
                           "of; give --spec");
  return spec::parseSpec(checkpoint.state().specText,
                         checkpoint.path() + "/manifest.json");
}

Status runExport(const CheckpointArguments &arguments) {
  HOCKET_ASSIGN_OR_RETURN(auto checkpoint,
                          checkpoint::Checkpoint::open(arguments.input));
  auto loaded = arguments.spec.empty()
                    ? specOf(checkpoint)
                    : loadSpecification(arguments.spec, arguments.options);
  if (!loaded.ok())
    return loaded.status();
  const spec::Model &model = loaded->spec.model();
  checkpoint::HuggingFaceExport to;
  to.dir = arguments.output;
  HOCKET_ASSIGN_OR_RETURN(to.family,
                          huggingface::familyOf(model, loaded->spec.name()));
  const checkpoint::ModelWeights weights = weightsOf(loaded->spec);
  if (arguments.format == "peft") {
    HOCKET_RETURN_IF_ERROR(checkpoint::exportAdapters(
        checkpoint, to.family, weights, arguments.output, arguments.base,
        arguments.experts == "joined"));
    std::cout << arguments.output << ": adapters of a " << to.family
              << " model of step " << checkpoint.state().step << "\n";
    return okStatus();
  }
  HOCKET_ASSIGN_OR_RETURN(
      to.configText,
      huggingface::writeConfig(model, arguments.dtype,
                               loaded->spec.training().span_corruption(),
                               loaded->spec.name()));
  for (const auto &[name, type] : kDtypes)
    if (name == arguments.dtype)
      to.type = type;
  to.mostFileBytes = uint64_t(arguments.fileGigabytes * 1e9);
  if (!arguments.tokenizer.empty()) {
    HOCKET_ASSIGN_OR_RETURN(to.otherFiles,
                            readTokenizerFiles(arguments.tokenizer));
  }
  {
    WeightsLine line;
    for (const checkpoint::TensorSpec &spec : checkpoint.tensors())
      line.expect(spec);
    to.progress = [&](uint64_t bytes) { line.add(bytes); };
    HOCKET_RETURN_IF_ERROR(
        checkpoint::exportHuggingFace(checkpoint, weights, to));
  }
  std::cout << arguments.output << ": a " << to.family << " model of step "
            << checkpoint.state().step << "\n";
  return okStatus();
}

/// Has `line` count what becomes of the tensors.
void countOn(WeightsLine &line,
             std::vector<checkpoint::CheckpointTensor> &tensors) {
  using checkpoint::ByteSink;
  for (checkpoint::CheckpointTensor &tensor : tensors) {
    line.expect(tensor.spec);
    for (checkpoint::TensorSlice &slice : tensor.slices)
      slice.bytes = [&line, produce = slice.bytes](const ByteSink &sink) {
        return produce([&](std::span<const uint8_t> bytes) {
          line.add(bytes.size());
          return sink(bytes);
        });
      };
  }
}

/// Writes the first checkpoint of a run with these weights.
Status saveImported(const CheckpointArguments &arguments,
                    const spec::LoadedSpec &loaded,
                    std::vector<checkpoint::CheckpointTensor> tensors) {
  checkpoint::RunState state;
  state.seed = loaded.spec.training().seed();
  state.specText = spec::printSpec(loaded.spec);
  WeightsLine line;
  countOn(line, tensors);
  return checkpoint::saveCheckpoint(arguments.output, state, tensors);
}

Status importMegatron(const CheckpointArguments &arguments) {
  HOCKET_ASSIGN_OR_RETURN(megatron::Model model,
                          megatron::openModel(arguments.input));
  auto loaded = arguments.spec.empty()
                    ? megatron::readSpec(model, arguments.options)
                    : loadSpecification(arguments.spec, arguments.options);
  if (!loaded.ok())
    return loaded.status();
  HOCKET_ASSIGN_OR_RETURN(
      auto tensors, megatron::importModel(model, weightsOf(loaded->spec)));
  HOCKET_RETURN_IF_ERROR(saveImported(arguments, *loaded, tensors));
  std::cout << arguments.output << ": " << tensors.size()
            << " tensors of Megatron-LM's iteration " << model.iteration
            << "\n";
  return okStatus();
}

Status importHuggingFace(const CheckpointArguments &arguments) {
  const std::string &specPath =
      arguments.spec.empty() ? arguments.input : arguments.spec;
  HOCKET_ASSIGN_OR_RETURN(spec::LoadedSpec loaded,
                          loadSpecification(specPath, arguments.options));
  const spec::Model &model = loaded.spec.model();
  HOCKET_ASSIGN_OR_RETURN(
      std::string family,
      huggingface::familyOf(model, huggingface::familyIn(arguments.input)));
  HOCKET_ASSIGN_OR_RETURN(auto folder,
                          checkpoint::HuggingFaceFolder::open(arguments.input));
  HOCKET_ASSIGN_OR_RETURN(
      auto tensors,
      checkpoint::importHuggingFace(folder, family, weightsOf(loaded.spec)));
  HOCKET_RETURN_IF_ERROR(saveImported(arguments, loaded, tensors));
  std::cout << arguments.output << ": " << tensors.size() << " tensors of a "
            << family << " model\n";
  return okStatus();
}

/// Every tensor of a checkpoint, to be saved again; `from` must outlive that.
std::vector<checkpoint::CheckpointTensor>
weightsIn(const checkpoint::Checkpoint &from) {
  using namespace checkpoint;
  std::vector<CheckpointTensor> tensors;
  for (const TensorSpec &spec : from.tensors())
    if (spec.key.slot.empty() && !isAdapter(spec.key.name) &&
        spec.key.name != "state") {
      SliceBounds whole = wholeOf(spec.shape);
      tensors.push_back({spec, {{whole, from.bytesOf(spec, whole)}}});
    }
  return tensors;
}

/// The specification of a base with the adapters in a folder of PEFT's.
StatusOr<spec::LoadedSpec>
loadWithAdapters(const CheckpointArguments &arguments,
                 checkpoint::AdapterConfig &config) {
  const std::string &base =
      arguments.spec.empty() ? arguments.base : arguments.spec;
  HOCKET_ASSIGN_OR_RETURN(spec::LoadedSpec plain,
                          loadSpecification(base, arguments.options));
  HOCKET_ASSIGN_OR_RETURN(
      std::string family,
      huggingface::familyOf(plain.spec.model(), plain.spec.name()));
  HOCKET_ASSIGN_OR_RETURN(
      config, checkpoint::readAdapterConfig(arguments.input, family));
  spec::LoadOptions options = arguments.options;
  for (std::string &override : loraOverrides(config.lora))
    options.overrides.push_back(std::move(override));
  return loadSpecification(base, options);
}

/// A checkpoint of adapters and the model that they belong to.
Status importPeft(const CheckpointArguments &arguments) {
  if (arguments.base.empty())
    return invalidArgument(arguments.input +
                           ": holds adapters; name the model that they "
                           "belong to, a Hugging Face folder or a checkpoint, "
                           "with --base");
  checkpoint::AdapterConfig config;
  HOCKET_ASSIGN_OR_RETURN(spec::LoadedSpec loaded,
                          loadWithAdapters(arguments, config));
  const checkpoint::ModelWeights weights = weightsOf(loaded.spec);
  HOCKET_ASSIGN_OR_RETURN(
      std::string family,
      huggingface::familyOf(loaded.spec.model(), loaded.spec.name()));
  HOCKET_ASSIGN_OR_RETURN(
      auto adapters,
      checkpoint::importAdapters(arguments.input, family, weights, config));
  std::error_code error;
  std::vector<checkpoint::CheckpointTensor> tensors;
  std::optional<checkpoint::Checkpoint> run;
  std::optional<checkpoint::HuggingFaceFolder> folder;
  if (std::filesystem::exists(arguments.base + "/config.json", error)) {
    HOCKET_ASSIGN_OR_RETURN(
        folder, checkpoint::HuggingFaceFolder::open(arguments.base));
    HOCKET_ASSIGN_OR_RETURN(
        tensors, checkpoint::importHuggingFace(*folder, family, weights));
  } else {
    HOCKET_ASSIGN_OR_RETURN(run, checkpoint::Checkpoint::open(arguments.base));
    tensors = weightsIn(*run);
  }
  size_t count = adapters.size();
  std::move(adapters.begin(), adapters.end(), std::back_inserter(tensors));
  HOCKET_RETURN_IF_ERROR(saveImported(arguments, loaded, std::move(tensors)));
  std::cout << arguments.output << ": " << count / 2 << " adapters of rank "
            << weights.lora->rank << ", and the " << family
            << " model that they belong to\n";
  return okStatus();
}

/// Names in a file of others may hold what a terminal obeys. Several errors of
/// a specification have a line each.
Status withoutControls(const Status &status) {
  std::string message = status.message();
  for (char &c : message)
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f)
      c = '?';
  return Status(status.code(), message);
}

Status runImport(const CheckpointArguments &arguments) {
  HOCKET_RETURN_IF_ERROR(checkpoint::expectNoIterations(arguments.output));
  std::error_code error;
  bool isPeft = arguments.format == "auto"
                    ? std::filesystem::exists(
                          arguments.input + "/adapter_config.json", error)
                    : arguments.format == "peft";
  if (isPeft)
    return withoutControls(importPeft(arguments));
  if (!arguments.base.empty())
    return invalidArgument("--base is about adapters, which " +
                           arguments.input + " has not");
  bool isMegatron = arguments.format == "auto"
                        ? megatron::holdsMegatron(arguments.input)
                        : arguments.format == "megatron";
  return isMegatron ? withoutControls(importMegatron(arguments))
                    : importHuggingFace(arguments);
}

/// A mixture of experts that computes what the dense model of a run does.
Status runUpcycle(const CheckpointArguments &arguments) {
  HOCKET_RETURN_IF_ERROR(checkpoint::expectNoIterations(arguments.output));
  HOCKET_ASSIGN_OR_RETURN(auto dense,
                          checkpoint::Checkpoint::open(arguments.input));
  const std::string &of =
      arguments.spec.empty() ? arguments.input : arguments.spec;
  HOCKET_ASSIGN_OR_RETURN(spec::LoadedSpec was, loadSpecification(of, {}));
  if (was.spec.model().has_moe())
    return invalidArgument(arguments.input + ": has experts already");
  spec::LoadOptions options = arguments.options;
  options.overrides.insert(
      options.overrides.begin(),
      {"model.moe.experts=" + std::to_string(arguments.expertCount),
       "model.moe.top_k=" + std::to_string(arguments.topK)});
  HOCKET_ASSIGN_OR_RETURN(spec::LoadedSpec mixture,
                          loadSpecification(of, options));
  HOCKET_ASSIGN_OR_RETURN(auto tensors,
                          upcycle(dense.path(), weightsIn(dense), mixture));
  HOCKET_RETURN_IF_ERROR(saveImported(arguments, mixture, std::move(tensors)));
  std::cout << arguments.output << ": " << arguments.expertCount
            << " experts a layer, of which " << arguments.topK
            << " take a token, made of step " << dense.state().step << "\n";
  return okStatus();
}

void addArguments(CLI::App &command, CheckpointArguments &arguments,
                  const char *inputText) {
  command.add_option("DIR", arguments.input, inputText)->required();
  wantPath(command.add_option("-o,--output", arguments.output,
                              "The folder to write"))
      ->type_name("DIR")
      ->required();
  command
      .add_option("--spec", arguments.spec,
                  "The model's specification; default: what DIR says")
      ->type_name("FILE");
  addOverrides(command, arguments.options.overrides);
}

void addExportOptions(CLI::App &command, CheckpointArguments &arguments) {
  wantOneOf(command.add_option("--format", arguments.format,
                               "The kind of folder: a model, with adapters "
                               "merged into it, or PEFT's, with only the "
                               "adapters"),
            {"huggingface", "peft"})
      ->capture_default_str();
  command
      .add_option("--base", arguments.base,
                  "With --format peft: the name of the adapters' model in "
                  "adapter_config.json")
      ->type_name("NAME");
  wantOneOf(command.add_option("--experts", arguments.experts,
                               "With --format peft: all experts of a layer in "
                               "one parameter, which PEFT from 0.17 on adapts "
                               "with transformers from 5 on, or each in "
                               "modules of its own, as before"),
            {"joined", "each"})
      ->capture_default_str();
  wantOneOf(command.add_option("--dtype", arguments.dtype,
                               "The type of the weights, rounded to nearest"),
            {"float32", "bfloat16", "float16"})
      ->capture_default_str();
  wantPositive(command.add_option("--max-shard-size", arguments.fileGigabytes,
                                  "The largest size of a file of weights; "
                                  "several files get an index"),
               1e6)
      ->type_name("GB")
      ->capture_default_str();
  wantPath(command.add_option("--tokenizer", arguments.tokenizer,
                              "Copy these files too: a folder with a "
                              "tokenizer and a generation_config.json, or "
                              "one file"))
      ->type_name("PATH");
}

} // namespace

void hocket::registerCheckpoint(CLI::App &app, Status &result) {
  auto exporting = std::make_shared<CheckpointArguments>();
  auto importing = std::make_shared<CheckpointArguments>();
  CLI::App *command =
      addCommand(app, "checkpoint", "Inspect, compare and convert checkpoints");
  command->require_subcommand(1);
  registerCheckpointTools(*command, result);
  CLI::App *out =
      addCommand(*command, "export",
                 "Write a checkpoint as a Hugging Face folder: config.json and "
                 "model.safetensors");
  out->footer(
      "Example:\n  hocket checkpoint export run -o run-hf --dtype "
      "bfloat16 --tokenizer Qwen3-0.6B\n  hocket checkpoint export run -o "
      "my-adapter --format peft --base Qwen/Qwen3-0.6B");
  addArguments(*out, *exporting, "A checkpoint, or one iteration of it");
  addExportOptions(*out, *exporting);
  out->callback([exporting, &result] { result = runExport(*exporting); });
  CLI::App *in = addCommand(*command, "import",
                            "Make a checkpoint from a Hugging Face folder or "
                            "a Megatron-LM checkpoint");
  in->footer("Example:\n  hocket checkpoint import Qwen3-0.6B -o start\n  "
             "hocket train Qwen3-0.6B --data data/books --load start --save "
             "run\n  hocket checkpoint import megatron-run -o start\n  hocket "
             "checkpoint import my-adapter --base Qwen3-0.6B -o start");
  addArguments(
      *in, *importing,
      "A Hugging Face folder; one of PEFT's with LoRA adapters; or one "
      "that Megatron-LM saved to, or an iteration of it, legacy or "
      "torch_dist");
  in->add_option("--base", importing->base,
                 "For adapters: the model that they belong to, a Hugging "
                 "Face folder or a checkpoint")
      ->type_name("DIR");
  importing->format = "auto";
  wantOneOf(in->add_option("--format", importing->format,
                           "The kind of folder; auto: as its files show"),
            {"auto", "huggingface", "megatron", "peft"})
      ->capture_default_str();
  in->callback([importing, &result] { result = runImport(*importing); });
  auto upcycling = std::make_shared<CheckpointArguments>();
  CLI::App *up = addCommand(*command, "upcycle",
                            "Make the start of a mixture of experts from a "
                            "dense model's checkpoint");
  up->footer(
      "Every expert begins as its layer's MLP, and routers with random "
      "numbers of\ntraining.seed, so that the mixture computes at first what "
      "the dense model does.\n\nExample:\n  hocket checkpoint upcycle run -o "
      "start --experts 8 --top-k 2 --set model.moe.aux_loss=0.01\n  hocket "
      "compile start --mesh dp=8,ep=8 -o mixture.hkx\n  hocket train "
      "mixture.hkx --data data/books --load start --save mixture");
  addArguments(*up, *upcycling,
               "A checkpoint of a dense model, or one iteration of it");
  wantWhole(up->add_option("--experts", upcycling->expertCount,
                           "Experts of a layer (model.moe.experts)"),
            2)
      ->type_name("N")
      ->required();
  wantWhole(up->add_option("--top-k", upcycling->topK,
                           "How many take a token (model.moe.top_k)"),
            1)
      ->type_name("K")
      ->capture_default_str();
  up->callback([upcycling, &result] { result = runUpcycle(*upcycling); });
}
