// A sequence that is longer than the model says, where positions have no table.
// RUN: hocket-translate --spec-to-xf %S/Inputs/long.textproto 2>&1 >/dev/null | FileCheck %s
// RUN: hocket-translate --spec-to-xf %S/Inputs/llama.textproto 2>&1 >/dev/null | count 0

// CHECK: long.textproto:5:3: warning: training.sequence_length is 128, longer than model.max_positions (64); rotary positions go on beyond that, but an export tells other tools that the model ends there: write model.max_positions: 128
