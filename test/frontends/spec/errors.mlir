// RUN: not hocket-translate --spec-to-xf %S/Inputs/bad.textproto 2>&1 | FileCheck %s

// CHECK: bad.textproto:3:18: S5: model.heads is 3, which does not divide model.hidden (8); write 2, or model.head_dim as well
