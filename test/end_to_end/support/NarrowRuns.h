//===- NarrowRuns.h - How far apart runs in bf16 are ------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// In bf16 plans and targets round in other places, and what one rounding
/// changes the next ones spread. So do they on one rank: weights that differ by
/// less than the unit roundoff of bf16 (2^-9, of each) are the same weights to
/// every GEMM, but runs that begin with them end apart, by some ten times
/// that, and by nearly as much if the weights differ by a hundredth of it. A
/// run in bf16 is repeatable to that and no better.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_END_TO_END_SUPPORT_NARROWRUNS_H
#define HOCKET_TEST_END_TO_END_SUPPORT_NARROWRUNS_H

#include "test/end_to_end/support/TrainedPlans.h"

namespace hocket::test {

/// The greatest relative differences of two runs.
struct Difference {
  double loss = 0, norm = 0, state = 0;
};

Difference operator|(const Difference &a, const Difference &b);
std::ostream &operator<<(std::ostream &out, const Difference &difference);
Difference differenceOf(const Outcome &a, const Outcome &b);

class NarrowRuns : public TrainedPlans {
protected:
  static constexpr char precision[] = "precision: BF16";

  /// The greatest distance of any two of eight runs of `program` (of one rank)
  /// to step `until`, whose first weights are moved at random.
  Difference bandOf(const SharedProgram &program, uint64_t until);

private:
  Outcome runMoved(const SharedProgram &program, uint64_t until, unsigned seed);
};

} // namespace hocket::test

#endif // HOCKET_TEST_END_TO_END_SUPPORT_NARROWRUNS_H
