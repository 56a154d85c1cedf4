/* Part of Hocket, under the Apache License v2.0.
 *
 * hopperAttentionForward of kernels/cuda/HopperAttention.cuh. `key` and `next`
 * say whether there is such a tile; behind // stands the kernel's line.
 */

#define TILES (4 * stages)
#define STAGES (2 * stages)
#define OWN_STAGES 1
#define READS(p) 1
#define READS_OF_GROUP 1
#define LANES 1
#define MEETINGS (1 + GROUPS)
#include "barriers.pml"

inline fetchKeys(key_, i_) {
  if // if (key >= Shape::keys)
  :: !key_ -> skip // return
  :: else ->
     atomic {
       producerAcquire(keyRing, i_);
       expect(barrier(keyRing, i_), Tile_bytes);
       fetchRows(keys(i_), barrier(keyRing, i_))
     }
  fi
}

init {
  byte i;
  atomic {
    // if (threadIdx.x == 0)
    beginBarrier(queriesThere, 1);
    beginRing(keyRing, 1, 4 * groups);
    beginRing(valueRing, 1, 4 * groups);
    fenceBarrierInit();
    __syncthreads();
    run Fetch();
    running++;
    runWarps()
  }
  endBlock()
}

// if (Roles::fetches())
proctype Fetch() {
  byte warp = OTHER, at_, tile;
  bool key, next;
  beginToFetch();
  // if (!Roles::isFetcher())
  // return
  seen(0, key);
  if // if (key < Shape::keys)
  :: key ->
     atomic {
       expect(queriesThere, Own_bytes);
       fetchRows(queries, queriesThere)
     }
  :: else
  fi;
  fetchKeys(key, 0);
  do // for (int tile = 0; key < Shape::keys; ++tile)
  :: key ->
     seen(tile + 1, next);
     fetchKeys(next, tile + 1);
     atomic {
       producerAcquire(valueRing, tile);
       expect(barrier(valueRing, tile), Tile_bytes);
       fetchRows(values(tile), barrier(valueRing, tile));
       key = next;
       tile = at(tile + 1)
     }
  :: else -> break
  od;
  running--
}

// else
proctype Multiply(byte group, warp) {
  chan reading = [2] of { byte };
  byte at_, tile = 1;
  bool key, next, isFirst = true, round;
  beginToMultiply();
  seen(0, key);
  if // if (int key = seen(0); key < Shape::keys)
  :: key ->
     wait(queriesThere, 0);
     atomic {
       consumerWait(keyRing, 0);
       beginDots(queries, keys(0));
       waitWgmma(0);
       consumerRelease(keyRing, 0);
       seen(1, key)
     }
     do // for (key = seen(key + side); key < Shape::keys; ++tile)
     :: atomic {
          key ->
          seen(tile + 1, next);
          consumerWait(keyRing, tile);
          beginOrdered();
          beginDots(queries, keys(tile));
          consumerWait(valueRing, tile - 1);
          beginSums(values(tile - 1));
          endOrdered(!next)
        }
        atomic {
          waitWgmma(1);
          consumerRelease(keyRing, tile)
        }
        atomic {
          waitWgmma(0);
          consumerRelease(valueRing, tile - 1);
          key = next;
          tile = at(tile + 1)
        }
     :: else -> break
     od;
     atomic {
       consumerWait(valueRing, tile - 1);
       beginSums(values(tile - 1));
       waitWgmma(0)
     }
  :: else
  fi;
  running--
}
