/* Part of Hocket, under the Apache License v2.0.
 *
 * hopperAttentionForward of kernels/cuda/HopperAttention.cuh. `key` and `next`
 * say whether there is such a tile; behind // stands the kernel's line.
 */

#define TILES (4 * places)
#define PLACES (2 * places)
#define OWN_PLACES 1
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
       awaitPlace(keyRing, i_);
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
    showBarriers();
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
       awaitPlace(valueRing, tile);
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
       awaitTile(keyRing, 0);
       beginDots(queries, keys(0));
       waitProducts(0);
       giveBack(keyRing, 0);
       seen(1, key)
     }
     do // for (key = seen(key + side); key < Shape::keys; ++tile)
     :: atomic {
          key ->
          seen(tile + 1, next);
          awaitTile(keyRing, tile);
          beginTurn();
          beginDots(queries, keys(tile));
          awaitTile(valueRing, tile - 1);
          beginSums(values(tile - 1));
          endTurn(!next)
        }
        atomic {
          waitProducts(1);
          giveBack(keyRing, tile)
        }
        atomic {
          waitProducts(0);
          giveBack(valueRing, tile - 1);
          key = next;
          tile = at(tile + 1)
        }
     :: else -> break
     od;
     atomic {
       awaitTile(valueRing, tile - 1);
       beginSums(values(tile - 1));
       waitProducts(0)
     }
  :: else
  fi;
  running--
}
