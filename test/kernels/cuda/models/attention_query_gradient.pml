/* Part of Hocket, under the Apache License v2.0.
 *
 * hopperAttentionQueryGradient of kernels/cuda/HopperAttention.cuh; see
 * attention_forward.pml. Keys are read for two MMAs, the second one beside
 * the next tile's.
 */

#define TILES (2 * keyStages * valueStages)
#define STAGES kHopperGradientStages
#define OWN_STAGES 2
#define READS(p) ((p) < keyStages -> 2 : 1)
#define READS_OF_GROUP 1
#define LANES 1
#define MEETINGS 1
#include "barriers.pml"

inline beginTile(tile_) {
  consumerWait(keyRing, tile_);
  beginDots(queries, keys(tile_));
  consumerWait(valueRing, tile_);
  beginDots(gradients, values(tile_))
}

init {
  byte i;
  atomic {
    // if (threadIdx.x == 0)
    beginBarrier(ownThere, 1);
    beginRing(keyRing, 1, own / 16);
    beginRing(valueRing, 1, own / 16);
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
  bool key;
  beginToFetch();
  // if (!Roles::isFetcher())
  // return
  seen(0, key);
  if // if (key < Shape::keys)
  :: key ->
     atomic {
       expect(ownThere, 2 * Own_bytes);
       fetchRows(queries, ownThere);
       fetchRows(gradients, ownThere)
     }
  :: else
  fi;
  do // for (int tile = 0; key < Shape::keys; ++tile, key = seen(key + side))
  :: key ->
     atomic {
       producerAcquire(keyRing, tile);
       expect(barrier(keyRing, tile), Tile_bytes);
       fetchRows(keys(tile), barrier(keyRing, tile))
     }
     atomic {
       producerAcquire(valueRing, tile);
       expect(barrier(valueRing, tile), Tile_bytes);
       fetchRows(values(tile), barrier(valueRing, tile));
       tile = at(tile + 1);
       seen(tile, key)
     }
  :: else -> break
  od;
  running--
}

// else
proctype Multiply(byte group, warp) {
  chan reading = [3] of { byte };
  byte at_, tile = 1;
  bool key;
  beginToMultiply();
  seen(0, key);
  if // if (int key = seen(0); key < Shape::keys)
  :: key ->
     atomic {
       wait(ownThere, 0);
       beginTile(0);
       waitWgmma(1);
       waitWgmma(0);
       consumerRelease(valueRing, 0);
       seen(1, key)
     }
     do // for (key = seen(key + side); key < Shape::keys; key = seen(key + side), ++tile)
     :: atomic {
          key ->
          beginTile(tile);
          beginSums(keys(tile - 1));
          waitWgmma(2);
          waitWgmma(1);
          consumerRelease(valueRing, tile)
        }
        atomic {
          waitWgmma(0);
          consumerRelease(keyRing, tile - 1);
          tile = at(tile + 1);
          seen(tile, key)
        }
     :: else -> break
     od;
     atomic {
       beginSums(keys(tile - 1));
       waitWgmma(0)
     }
  :: else
  fi;
  running--
}
