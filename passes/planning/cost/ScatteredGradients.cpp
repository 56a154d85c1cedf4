//===- ScatteredGradients.cpp - What waits to be scattered ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/cost/ScatteredGradients.h"

using namespace hocket;
using namespace hocket::planning;

void ScatteredGradients::deal(std::span<const double> bytes) {
  for (double gradient : bytes) {
    if (isFull()) {
      gone = open;
      open = 0;
    }
    open += gradient;
    made -= gradient;
  }
}

double ScatteredGradients::live() const {
  return made + open + (isFull() ? open / ranks : 0) + gone + gone / ranks;
}
