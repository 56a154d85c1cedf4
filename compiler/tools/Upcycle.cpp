//===- Upcycle.cpp - Experts made of a dense model ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/Upcycle.h"

#include "frontends/spec/model/Parameters.h"
#include "runtime/train/values/Initialize.h"

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
static ByteProducer drawn(const spec::Parameter &router, uint32_t key,
                          uint64_t seed, uint64_t count) {
  program::Parameter parameter;
  parameter.set_random_key(key);
  parameter.mutable_initializer()->set_kind("normal");
  parameter.mutable_initializer()->set_stddev(router.stddev);
  return [parameter, seed, count](const ByteSink &sink) {
    constexpr uint64_t most = uint64_t{1} << 18;
    std::vector<double> values;
    std::vector<float> rounded;
    for (uint64_t first = 0; first < count; first += values.size()) {
      values.resize(std::min(most, count - first));
      initialValues(parameter, seed, first, values);
      rounded.assign(values.begin(), values.end());
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

StatusOr<std::vector<CheckpointTensor>>
hocket::upcycle(const std::string &place,
                std::span<const CheckpointTensor> dense,
                const spec::LoadedSpec &mixture) {
  HOCKET_RETURN_IF_ERROR(checkIsTheSame(mixture));
  std::map<std::string, const CheckpointTensor *> stored;
  for (const CheckpointTensor &tensor : dense)
    stored.emplace(tensor.spec.key.name, &tensor);
  std::vector<CheckpointTensor> tensors;
  std::set<std::string> used;
  uint32_t number = 0;
  for (const spec::Parameter &parameter : modelParameters(mixture.spec)) {
    std::vector<uint64_t> shape(parameter.shape.begin(), parameter.shape.end());
    TensorSpec spec{{parameter.name, ""}, ElementType::F32, shape};
    if (parameter.role == spec::Parameter::Role::Router) {
      auto seed = static_cast<uint64_t>(mixture.spec.training().seed());
      SliceBounds whole = wholeOf(shape);
      ByteProducer bytes = drawn(parameter, number++, seed, elementsOf(whole));
      tensors.push_back({spec, {{whole, bytes}}});
      continue;
    }
    std::string source = sourceOf(parameter.name);
    bool isOfExperts = source != parameter.name;
    uint64_t times = isOfExperts ? shape[0] : 1;
    auto found = stored.find(source);
    if (found == stored.end() ||
        !std::ranges::equal(found->second->spec.shape,
                            std::span(shape).subspan(isOfExperts ? 1 : 0)))
      return invalidArgument(place +
                             (found == stored.end()
                                  ? ": has no '" + source + "'"
                                  : ": '" + source + "' has shape " +
                                        shapeText(found->second->spec.shape)) +
                             ", of which '" + parameter.name + "' " +
                             shapeText(shape) + " could be made");
    used.insert(source);
    spec.type = found->second->spec.type;
    tensors.push_back(
        {spec,
         {{wholeOf(shape), repeated(found->second->slices[0].bytes, times)}}});
  }
  for (const auto &[name, tensor] : stored)
    if (!used.contains(name))
      return invalidArgument(place + ": '" + name +
                             "' has no place in the model with experts");
  return tensors;
}
