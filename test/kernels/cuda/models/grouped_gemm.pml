/* Part of Hocket, under the Apache License v2.0.
 *
 * WarpgroupGemm of kernels/cuda/HopperGemm.cuh, and what calls it; see
 * attention_forward.pml. Steps belong to ranges of k, any number of them, of
 * which empty ones do nothing. The last step of one may have rows that are to be
 * cleared. Threads that fetch do not care where a range ends.
 */

#define TILES (4 * kGroupStages)
#define STAGES (2 * kGroupStages)
#define OWN_STAGES 0
#define Own_bytes 0
#define READS(p) 1
#define READS_OF_GROUP 2
#define LANES 1
#define MEETINGS 2
#include "barriers.pml"

/* What is known of the step in a stage: that others of its range follow, that
 * none does, or that rows of this last one are to be cleared.
 */
#define GOES_ON 1
#define ENDS 2
#define IS_CUT 3
byte kinds[kGroupStages], passed[kGroupStages], cleared[STAGES];
#define kind kinds[step % kGroupStages]
inline findKind() {
  atomic {
    if
    :: kind == 0 && !(ended && frontier == at(step + 1)) ->
       kind = GOES_ON;
       if
       :: frontier == at(step + 1) -> frontier = at(frontier + 1)
       :: else
       fi
    :: kind == 0 -> kind = ENDS
    :: kind == 0 -> kind = IS_CUT
    :: else
    fi
  }
}
/* All that is known is forgotten when the last process has done with the step. */
inline pass(left, leftTile, right, rightTile) {
  d_step {
    more = (kind == GOES_ON);
    passed[step % kGroupStages]++;
    if
    :: passed[step % kGroupStages] == WARPS ->
       passed[step % kGroupStages] = 0;
       kind = 0;
       cleared[left] = 0;
       cleared[right] = 0
    :: else
    fi
  }
}
#define passStep(left, right) pass(left, right)
inline clear(p, i) {
  assert(memory[p].there && memory[p].tile == i);
  cleared[p]++
}
inline multiply(p, i) {
  assert(cleared[p] == (kind == IS_CUT -> WARPS : 0));
  read(p, i)
}
#define clearTile(tiles) clear(tiles)
#define multiplyTile(tiles) multiply(tiles)
#define fetchStep(tiles, b) copy(tiles, b)

inline WarpgroupGemm() {
  // if (threadIdx.x == 0)
  beginRing(ring, 1, 4 * kGemmWarpgroups);
  fenceBarrierInit();
  __syncthreads()
}

inline fetch() {
  do // for (int k = firstK; k < firstK + count; k += depth, ++step)
  :: atomic {
       more ->
       producerAcquire(ring, step);
       expect(barrier(ring, step), kGroupBytes / kGroupStages);
       fetchStep(left(step), barrier(ring, step));
       fetchStep(right(step), barrier(ring, step));
       step = at(step + 1);
       seen(step, more)
     }
  :: else -> break
  od
}

inline clearFrom() {
  atomic {
    clearTile(left(step));
    clearTile(right(step));
    fenceProxyAsync()
  }
  namedBarrierSync(1, 128 * kGemmWarpgroups)
}

inline multiplyStep() {
  multiplyTile(left(step));
  multiplyTile(right(step))
}

inline add() {
  isFirst = true;
  do // for (int k = 0; k < count; k += depth, ++step)
  :: atomic {
       more ->
       consumerWait(ring, step);
       findKind()
     }
     if
     // if constexpr (!AIsDeep)
     // if (k + depth > count)
     :: kind == IS_CUT -> clearFrom()
     :: else
     fi;
     atomic {
       multiplyStep();
       waitWgmma(1);
       passStep(left(step), right(step));
       if // if (k > 0)
       :: !isFirst -> consumerRelease(ring, step - 1)
       :: else
       fi;
       isFirst = false;
       step = at(step + 1)
     }
  :: else -> break
  od;
  atomic {
    waitWgmma(0);
    // if (count > 0)
    consumerRelease(ring, step - 1);
    seen(step, more)
  }
}

init {
  byte i;
  atomic {
    WarpgroupGemm();
    run Fetch();
    running++;
    runWarps()
  }
  endBlock()
}

// if (Roles::fetches())
proctype Fetch() {
  byte warp = OTHER, at_, step;
  bool more;
  beginToFetch();
  // if (Roles::isFetcher())
  seen(0, more);
  // for (Integer i = 0; i < shape.stretches(); ++i)
  fetch();
  running--
}

// else
proctype Multiply(byte group, warp) {
  chan reading = [4] of { byte };
  byte at_, step;
  bool more, isFirst, round;
  beginToMultiply();
  seen(0, more);
  do // for (Integer i = 0; i < shape.stretches(); ++i)
  :: more -> add()
  :: else -> break
  od;
  running--
}
