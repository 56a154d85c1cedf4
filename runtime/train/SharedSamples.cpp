//===- SharedSamples.cpp - The samples of a run, opened once --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/RankRun.h"

#include <iostream>

using namespace hocket;

Status hocket::missingData() {
  return invalidArgument("training wants --data PREFIX (made by `hocket data "
                         "prepare`), training.data.train in its "
                         "specification, or --mock-data");
}

StatusOr<std::shared_ptr<const data::SampleSource>>
SharedSamples::open(const data::GptDatasetOptions &dataset,
                    const data::RunLength &run, data::Split split) {
  std::lock_guard lock(mutex);
  auto &known = opened[split];
  if (known)
    return *known;
  auto open = [&]() -> StatusOr<std::shared_ptr<const data::SampleSource>> {
    data::GptDatasetOptions options = dataset;
    options.cache.note = [](const std::string &line) {
      std::cerr << line + "\n";
    };
    auto source = data::openRunSamples(from, options, run, split);
    if (!source.ok())
      return source.status();
    return std::shared_ptr<const data::SampleSource>(*std::move(source));
  };
  known.emplace(open());
  return *known;
}
