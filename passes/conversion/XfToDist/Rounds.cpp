//===- Rounds.cpp - How finely ranks share sequences ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/conversion/XfToDist/Rounds.h"

#include <numeric>

int64_t hocket::dist::roundsOf(int64_t longest, int64_t least) {
  int64_t unit = std::gcd(longest, least);
  for (int64_t rounds = longest / least; rounds > 1; --rounds)
    if (longest % (rounds * unit) == 0)
      return rounds;
  return 1;
}
