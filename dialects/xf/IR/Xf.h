//===- Xf.h - The one header to include for the dialect --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_XF_IR_XF_H
#define HOCKET_DIALECTS_XF_IR_XF_H

#include "dialects/xf/IR/XfDialect.h"
#include "dialects/xf/IR/XfInterfaces.h"
#include "dialects/xf/IR/XfOps.h"

#endif // HOCKET_DIALECTS_XF_IR_XF_H
