//===- FailureText.h - What a rank says that could not go on ----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Why a run has ended comes first; what each rank waited for then is a line of
/// its own:
///
///   rank 2 has died (process 22219 of vm); last it was in ...
///     rank 3, sequence 'backward', instruction 17 (...): all_reduce of 4096
///     bf16 in group 'tp' of ranks 2, 3 waits for rank 2
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_COMM_INTERFACES_FAILURETEXT_H
#define HOCKET_RUNTIME_COMM_INTERFACES_FAILURETEXT_H

#include "base/Status.h"

namespace hocket::comm {

/// Unavailable: `cause`, and below it what was waited for.
Status waitError(const std::string &cause, const std::string &waiting);

/// An error with the place where it was met. In front of the message; of what
/// another rank has caused, in front of what was waited for.
Status atPlace(const Status &error, const std::string &place);

/// What others are told of a rank's error: "rank 2 failed: token 99". An error
/// that names the rank already stays as it is.
std::string failureText(unsigned rank, const Status &error);

/// What waitError() and atPlace() have put below the cause, or all of it.
std::string waitTextOf(const Status &error);

} // namespace hocket::comm

#endif // HOCKET_RUNTIME_COMM_INTERFACES_FAILURETEXT_H
