/* Part of Hocket, under the Apache License v2.0.
 *
 * WarpRoles of kernels/cuda/TensorCopies.cuh: warps take registers when others
 * have given enough of theirs (PTX ISA, "setmaxnreg"). All numbers are those of
 * a thread of a warp; LAUNCHED is what each begins with.
 */

int pool;
byte running = 1 + GROUPS;

/* The warps of a group are alike: one after another. */
proctype Fetch() {
  byte warp;
  assert(GIVEN <= LAUNCHED);
  do
  :: warp < 4 -> pool = pool + LAUNCHED - GIVEN; warp++
  :: else -> break
  od;
  running--
}

proctype Multiply() {
  byte warp;
  assert(TAKEN >= LAUNCHED);
  do
  :: atomic {
       warp < 4 ->
       pool >= TAKEN - LAUNCHED ->
       pool = pool - (TAKEN - LAUNCHED);
       warp++
     }
  :: else -> break
  od;
  running--
}

init {
  byte i;
  atomic {
    run Fetch();
    do
    :: i < GROUPS -> run Multiply(); i++
    :: else -> break
    od
  }
  running == 0;
  assert(32 * (4 * GIVEN + 4 * GROUPS * TAKEN) <= 65536)
}
