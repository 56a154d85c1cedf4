//===- Upcycle.cpp - Experts made of a dense model ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/Upcycle.h"

#include "frontends/spec/model/Parameters.h"
#include "runtime/checkpoint/hugging_face/Adapters.h"
#include "runtime/train/values/NormalValues.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

using namespace hocket;
using namespace hocket::checkpoint;

/// "layers.3.mlp.experts.up.weight" is made of "layers.3.mlp.up.weight".
static std::string sourceOf(const std::string &name) {
  constexpr std::string_view experts = ".mlp.experts.";
  size_t at = name.find(experts);
  return at == std::string::npos
             ? name
             : name.substr(0, at) + ".mlp." + name.substr(at + experts.size());
}

/// What has to hold for a mixture of equal experts to be one of them.
static Status checkIsTheSame(const spec::LoadedSpec &mixture) {
  const spec::Moe &moe = mixture.spec.model().moe();
  const char *why = !moe.renormalise() ? "model.moe.renormalise must be true"
                    : moe.scale() != 1 ? "model.moe.scale must be 1"
                    : moe.shared_experts() > 0
                        ? "model.moe.shared_experts must be 0"
                        : nullptr;
  return why ? invalidArgument(std::string(why) +
                               ", so that experts which are all the same make "
                               "what one of them makes")
             : okStatus();
}

/// A router's numbers, in f32.
static ByteProducer drawn(const spec::Parameter &router,
                          const kernels::RandomStream &stream) {
  uint64_t count = 1;
  for (int64_t size : router.shape)
    count *= static_cast<uint64_t>(size);
  return [count, stream, stddev = router.stddev](const ByteSink &sink) {
    constexpr uint64_t most = uint64_t{1} << 18;
    std::vector<double> values;
    std::vector<float> rounded;
    for (uint64_t first = 0; first < count; first += values.size()) {
      values.resize(std::min(most, count - first));
      standardNormalValues(stream, first, values);
      rounded.clear();
      for (double value : values)
        rounded.push_back(static_cast<float>(value * stddev));
      HOCKET_RETURN_IF_ERROR(
          sink({reinterpret_cast<const uint8_t *>(rounded.data()),
                rounded.size() * sizeof(float)}));
    }
    return okStatus();
  };
}

/// The same bytes for one expert after another.
static ByteProducer repeated(const ByteProducer &bytes, uint64_t times) {
  return [bytes, times](const ByteSink &sink) {
    for (uint64_t i = 0; i < times; ++i)
      HOCKET_RETURN_IF_ERROR(bytes(sink));
    return okStatus();
  };
}

static std::map<std::string, TensorSpec> weightsByName(const Checkpoint &from) {
  std::map<std::string, TensorSpec> weights;
  for (TensorSpec &spec : from.tensors())
    if (spec.key.slot.empty() && spec.key.name != "state" &&
        !isAdapter(spec.key.name))
      weights.emplace(spec.key.name, std::move(spec));
  return weights;
}

StatusOr<std::vector<CheckpointTensor>>
hocket::upcycle(const Checkpoint &dense, const spec::LoadedSpec &mixture) {
  HOCKET_RETURN_IF_ERROR(checkIsTheSame(mixture));
  const std::map<std::string, TensorSpec> stored = weightsByName(dense);
  std::vector<CheckpointTensor> tensors;
  std::set<std::string> used;
  uint32_t number = 0;
  for (const spec::Parameter &parameter : modelParameters(mixture.spec)) {
    std::vector<uint64_t> shape(parameter.shape.begin(), parameter.shape.end());
    TensorSpec spec{{parameter.name, ""}, ElementType::F32, shape};
    if (parameter.role == spec::Parameter::Role::Router) {
      kernels::RandomStream stream{
          static_cast<uint64_t>(mixture.spec.training().seed()), number++,
          0xFFFFFFFFU};
      tensors.push_back({spec, {{wholeOf(shape), drawn(parameter, stream)}}});
      continue;
    }
    std::string source = sourceOf(parameter.name);
    bool isOfExperts = source != parameter.name;
    uint64_t times = isOfExperts ? shape[0] : 1;
    auto found = stored.find(source);
    if (found == stored.end() ||
        !std::ranges::equal(found->second.shape,
                            std::span(shape).subspan(isOfExperts ? 1 : 0)))
      return invalidArgument(dense.path() +
                             (found == stored.end()
                                  ? ": has no '" + source + "'"
                                  : ": '" + source + "' has shape " +
                                        shapeText(found->second.shape)) +
                             ", of which '" + parameter.name + "' " +
                             shapeText(shape) + " could be made");
    used.insert(source);
    spec.type = found->second.type;
    ByteProducer bytes =
        dense.bytesOf(found->second, wholeOf(found->second.shape));
    tensors.push_back({spec, {{wholeOf(shape), repeated(bytes, times)}}});
  }
  for (const auto &[name, spec] : stored)
    if (!used.contains(name))
      return invalidArgument(dense.path() + ": '" + name +
                             "' has no place in the model with experts");
  return tensors;
}
