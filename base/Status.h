//===- Status.h - Errors as values ------------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Every function of the runtime that can fail returns a Status or a
/// StatusOr<T>. A message says what was expected, what was found, and what to
/// do; it starts with the place (`file:line:column:`) where an input has one.
///
/// The code decides the exit status of a command (exitStatusOf): what the user
/// gave is wrong or does not exist (exit 2), or the work itself failed (1).
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_BASE_STATUS_H
#define HOCKET_BASE_STATUS_H

#include <optional>
#include <string>
#include <utility>

namespace hocket {

enum class StatusCode {
  Ok,
  InvalidArgument,    ///< A flag, a spec or a file says something wrong.
  DataLoss,           ///< A file is truncated, corrupt or hostile.
  NotFound,           ///< A file or a name does not exist.
  ResourceExhausted,  ///< Memory, disk or address space ran out.
  FailedPrecondition, ///< The machine lacks what the request needs.
  Unavailable,        ///< A peer or a device does not answer.
  Internal,           ///< A defect of Hocket itself.
};

class [[nodiscard]] Status {
public:
  /// Success.
  Status() = default;
  Status(StatusCode code, std::string message)
      : statusCode(code), text(std::move(message)) {}

  bool ok() const { return statusCode == StatusCode::Ok; }
  StatusCode code() const { return statusCode; }
  const std::string &message() const { return text; }

  /// The same error with `context` and ": " before its message.
  Status withContext(const std::string &context) const {
    return ok() ? *this : Status(statusCode, context + ": " + text);
  }

private:
  StatusCode statusCode = StatusCode::Ok;
  std::string text;
};

/// 0: done. 2: the command line or an input was wrong. 1: the work failed.
inline int exitStatusOf(const Status &status) {
  switch (status.code()) {
  case StatusCode::Ok:
    return 0;
  case StatusCode::InvalidArgument:
  case StatusCode::DataLoss:
  case StatusCode::NotFound:
    return 2;
  case StatusCode::ResourceExhausted:
  case StatusCode::FailedPrecondition:
  case StatusCode::Unavailable:
  case StatusCode::Internal:
    return 1;
  }
  return 1;
}

inline Status okStatus() { return Status(); }
inline Status invalidArgument(std::string message) {
  return Status(StatusCode::InvalidArgument, std::move(message));
}
inline Status dataLoss(std::string message) {
  return Status(StatusCode::DataLoss, std::move(message));
}
inline Status notFound(std::string message) {
  return Status(StatusCode::NotFound, std::move(message));
}
inline Status resourceExhausted(std::string message) {
  return Status(StatusCode::ResourceExhausted, std::move(message));
}
inline Status failedPrecondition(std::string message) {
  return Status(StatusCode::FailedPrecondition, std::move(message));
}
inline Status unavailable(std::string message) {
  return Status(StatusCode::Unavailable, std::move(message));
}
inline Status internalError(std::string message) {
  return Status(StatusCode::Internal, std::move(message));
}

/// A value, or the Status that says why there is none.
template <typename T> class [[nodiscard]] StatusOr {
public:
  StatusOr(T result) : stored(std::move(result)) {}
  StatusOr(Status error) : failure(std::move(error)) {}

  bool ok() const { return stored.has_value(); }
  const Status &status() const { return failure; }

  /// Only where ok().
  T &operator*() & { return *stored; }
  const T &operator*() const & { return *stored; }
  T &&operator*() && { return *std::move(stored); }
  T *operator->() { return &*stored; }
  const T *operator->() const { return &*stored; }

private:
  std::optional<T> stored;
  Status failure;
};

} // namespace hocket

#define HOCKET_CONCAT_INNER(a, b) a##b
#define HOCKET_CONCAT(a, b) HOCKET_CONCAT_INNER(a, b)

/// Returns the error of `expr` from the enclosing function, if it has one.
#define HOCKET_RETURN_IF_ERROR(expr)                                           \
  do {                                                                         \
    if (::hocket::Status hocketStatus = (expr); !hocketStatus.ok())            \
      return hocketStatus;                                                     \
  } while (false)

/// `HOCKET_ASSIGN_OR_RETURN(auto file, open(path));`
#define HOCKET_ASSIGN_OR_RETURN(declaration, expr)                             \
  HOCKET_ASSIGN_OR_RETURN_IMPL(HOCKET_CONCAT(hocketResult, __LINE__),          \
                               declaration, expr)
#define HOCKET_ASSIGN_OR_RETURN_IMPL(result, declaration, expr)                \
  auto result = (expr);                                                        \
  if (!result.ok())                                                            \
    return result.status();                                                    \
  declaration = *std::move(result)

#endif // HOCKET_BASE_STATUS_H
