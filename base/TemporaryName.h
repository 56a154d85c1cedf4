//===- TemporaryName.h - Names of what is not finished yet ------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A file or folder that is being written stands beside its final place:
///
///   dir/.name.3f2a9c1e-9b1d6c0c5f6e2a71.partial
///
/// First comes the boot of the machine that writes, then a random number: no
/// two processes share a name, be both process 1 of a container. Whoever writes
/// holds a lock (flock) on it, which ends with its process. So a name whose
/// lock is free was abandoned, provided that its lock is known here: on a local
/// file system, or written since this machine's last start. Nothing else is
/// ever removed: not what another machine writes on a network file system, nor
/// what cannot be locked.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_BASE_TEMPORARYNAME_H
#define HOCKET_BASE_TEMPORARYNAME_H

#include <string>
#include <string_view>

namespace hocket {

/// The first digits of the kernel's identifier of this start of the machine,
/// which its containers share; zeros where there is none.
const std::string &thisBoot();

/// Another name beside `path` at each call; it ends in `ending`.
std::string temporaryName(const std::string &path, std::string_view ending);

/// Locks what was just made under a temporary name, as long as `descriptor` is
/// open. False if it was taken for abandoned before that: take another name.
/// True, without a lock, where the file system has none.
bool holdTemporary(int descriptor);

/// Removes what dead processes have left in the folder of `path` under
/// temporary names with this `ending`: files, or folders with all they hold.
/// What cannot be removed stays.
void removeAbandoned(const std::string &path, std::string_view ending);

} // namespace hocket

#endif // HOCKET_BASE_TEMPORARYNAME_H
