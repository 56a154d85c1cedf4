//===- KeptOutcomes.cpp - What runs came to, for later tests --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/end_to_end/support/KeptOutcomes.h"

#include "compiler/targets/cpu/KernelObjects.h"
#include "runtime/hal/drivers/cpu/CpuFeatures.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

using namespace hocket;
using namespace hocket::test;

std::string test::toBytes(const Outcome &outcome) {
  std::vector<uint8_t> bytes =
      nlohmann::json::to_cbor({outcome.losses, outcome.norms, outcome.state});
  return {bytes.begin(), bytes.end()};
}

std::optional<Outcome> test::fromBytes(const std::string &bytes) {
  nlohmann::json read = nlohmann::json::from_cbor(bytes, /*strict=*/true,
                                                  /*allow_exceptions=*/false);
  if (!read.is_array() || read.size() != 3)
    return std::nullopt;
  Outcome outcome;
  read[0].get_to(outcome.losses);
  read[1].get_to(outcome.norms);
  read[2].get_to(outcome.state);
  return outcome;
}

KeptOutcomes::KeptOutcomes() {
  StatusOr<kernels::Isa> isa = hal::chooseIsa();
  if (!std::getenv("HOCKET_CACHE") || !isa.ok())
    return;
  identity = cpu::compilerIdentity();
  if (StatusOr<ResultCache> opened = ResultCache::open();
      opened.ok() && !identity.empty())
    cache = *std::move(opened);
  identity += std::to_string(static_cast<int>(*isa));
}

std::string KeptOutcomes::keyOf(std::vector<std::string> parts) const {
  parts.push_back("outcome of a run");
  parts.push_back(identity);
  return ResultCache::keyOf(parts);
}

std::optional<Outcome>
KeptOutcomes::find(std::vector<std::string> parts) const {
  std::optional<std::string> bytes =
      cache ? cache->find(keyOf(std::move(parts))) : std::nullopt;
  return bytes ? fromBytes(*bytes) : std::nullopt;
}

void KeptOutcomes::keep(std::vector<std::string> parts,
                        const Outcome &outcome) const {
  if (cache)
    (void)cache->store(keyOf(std::move(parts)), toBytes(outcome));
}
