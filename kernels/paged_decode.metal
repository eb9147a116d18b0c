// One decode step of paged attention. A threadgroup takes the q heads of one kv head (HEADS of
// them at a time, where registers would not hold all), one sequence and one partition of its
// tokens, and loads each row of K and V once for all of those heads.
//
// A row is spread over ROW_LANES lanes, HD_TILE elements on each, in loads of 16 bytes, or of 8 if
// a lane's elements are no more. So a simdgroup has SLOTS tokens side by side; a tile is TOKENS of
// each slot, and simdgroups, of all partitions, take tiles in turn. The rows of a tile are loaded
// while the tile before is used, into one of three buffers of registers: the K of the next tile
// into the free one, its V into that of the K as soon as that is used. Each simdgroup has an online
// softmax of its own in float32, its lanes add up scores by shuffles, and there is no barrier in
// the loop over tiles. Simdgroups are merged through threadgroup memory, partitions by
// paged_merge.metal.
//
// MLX builds the kernel of the text after the line that says body; what stands before it
// becomes the header. The body knows
//   T, D, BLOCK, GROUP  template values; GROUP = q heads of a kv head
//   HD_TILE, HEADS, TOKENS, SIMDGROUPS  how the work is shared out; TOKENS is a power of two
//   q             T   [batch, q_heads, D]; this and the pages begin at a multiple of 16 bytes
//   k_pages       T   [blocks, BLOCK, kv_heads, D]
//   v_pages       T   [blocks, BLOCK, kv_heads, D]
//   block_tables  int [batch, max_blocks], flat
//   context_lens  int [batch]
//   max_blocks    int
//   scale         float
//   out           T     [batch, q_heads, D], written if there is one partition
//   sums          float [batch, q_heads, partitions, D], written if there are several: the
//                       values, weighted relative to the partition's peak
//   stats         float [batch, q_heads, partitions, 2]: the peak, the sum of the weights
// and the grid: x = kv heads * shares of their q heads, y = sequences, z = partitions.

// Arrays indexed in a loop that is not unrolled would lie in memory instead of registers.
#define UNROLLED _Pragma("clang loop unroll(full)")

constant constexpr int LANES = 32;
constant constexpr float LOG2_E = 1.44269504088896340736f;
// Lower than any score, and finite, so that a difference of two is never NaN.
constant constexpr float LOWEST = -3.0e38f;
// The peak follows scores only once one exceeds it by so much: weights stay below 2^8, float32
// loses nothing by that, and sums are seldom rescaled.
constant constexpr float MARGIN = 8.0f;
constant constexpr int SCRATCH = 24576;  // bytes of threadgroup memory for sums

// A load of a lane: 16 bytes, or 8.
template <int BYTES>
struct Load {
  using Bits = uint4;
};
template <>
struct Load<8> {
  using Bits = uint2;
};

// A load as floats; the last argument only says of which type they are.
inline void unpack(uint4 bits, thread float* to, float) {
  to[0] = as_type<float>(bits.x);
  to[1] = as_type<float>(bits.y);
  to[2] = as_type<float>(bits.z);
  to[3] = as_type<float>(bits.w);
}

inline void unpack_pair(uint bits, thread float* to, float16_t) {
  const half2 pair = as_type<half2>(bits);
  to[0] = float(pair.x);
  to[1] = float(pair.y);
}

// A bfloat16 is the upper half of a float32.
inline void unpack_pair(uint bits, thread float* to, bfloat16_t) {
  to[0] = as_type<float>(bits << 16);
  to[1] = as_type<float>(bits & 0xffff0000u);
}

template <typename U>
inline void unpack(uint2 bits, thread float* to, U type) {
  unpack_pair(bits.x, to, type);
  unpack_pair(bits.y, to + 2, type);
}

template <typename U>
inline void unpack(uint4 bits, thread float* to, U type) {
  unpack_pair(bits.x, to, type);
  unpack_pair(bits.y, to + 2, type);
  unpack_pair(bits.z, to + 4, type);
  unpack_pair(bits.w, to + 6, type);
}

// What one lane loads of ROWS rows, `apart` elements from each other: chunks of one load, WIDTH
// chunks from each other, of which a row has CHUNKS. The lane's first chunk, `column`, is at
// `from`.
template <int ROWS, int LOADS, int WIDTH, int CHUNKS, typename Bits, typename U>
inline void load_rows(const device U* from, uint apart, int column, thread Bits* to) {
  constexpr int CHUNK = int(sizeof(Bits)) / int(sizeof(U));
  UNROLLED for (int row = 0; row < ROWS; ++row) {
    UNROLLED for (int load = 0; load < LOADS; ++load) {
      Bits bits = Bits(0);
      if (CHUNKS == LOADS * WIDTH || column + load * WIDTH < CHUNKS) {
        bits = *reinterpret_cast<const device Bits*>(
            from + (uint(row) * apart + load * WIDTH * CHUNK));
      }
      to[row * LOADS + load] = bits;
    }
  }
}

// The same of ROWS tokens, `apart` from each other, each looked up in the table; those from `end`
// on are not loaded, and become zeros.
template <int ROWS, int LOADS, int WIDTH, int CHUNKS, int BLOCK, typename Bits, typename U>
inline void load_some_rows(const device U* from, const device int* table, int token, int apart,
                           int end, uint token_size, int column, thread Bits* to) {
  UNROLLED for (int row = 0; row < ROWS; ++row, token += apart) {
    UNROLLED for (int load = 0; load < LOADS; ++load) {
      to[row * LOADS + load] = Bits(0);
    }
    if (token < end) {
      const size_t at = size_t(uint(table[uint(token) / BLOCK])) * (BLOCK * token_size) +
                        uint(token) % BLOCK * token_size;
      load_rows<1, LOADS, WIDTH, CHUNKS>(from + at, 0, column, to + row * LOADS);
    }
  }
}

// Over the lanes whose numbers differ only in the bits FROM ... BELOW / 2.
template <int FROM, int BELOW>
inline float max_over(float value) {
  UNROLLED for (int bit = FROM; bit < BELOW; bit *= 2) {
    value = max(value, simd_shuffle_xor(value, ushort(bit)));
  }
  return value;
}

template <int FROM, int BELOW>
inline float sum_over(float value) {
  UNROLLED for (int bit = FROM; bit < BELOW; bit *= 2) {
    value += simd_shuffle_xor(value, ushort(bit));
  }
  return value;
}

// Scores of what one lane holds of its rows, for the pairs of a head and a row.
template <int HEADS, int ROWS, int TILE, int PAIRS, typename Bits, typename U>
inline void score_rows(thread const float (&query)[HEADS][TILE], thread const Bits* keys,
                       thread float (&scores)[PAIRS], U type) {
  constexpr int LOADS = TILE * int(sizeof(U)) / int(sizeof(Bits));
  UNROLLED for (int pair = HEADS * ROWS; pair < PAIRS; ++pair) {
    scores[pair] = 0.0f;
  }
  UNROLLED for (int row = 0; row < ROWS; ++row) {
    float key[TILE];
    UNROLLED for (int load = 0; load < LOADS; ++load) {
      unpack(keys[row * LOADS + load], key + load * (TILE / LOADS), type);
    }
    UNROLLED for (int head = 0; head < HEADS; ++head) {
      float score = 0.0f;
      UNROLLED for (int e = 0; e < TILE; ++e) {
        score += query[head][e] * key[e];
      }
      scores[head * ROWS + row] = score;
    }
  }
}

// Add up what the lanes of a row have. At each level a lane gives half of its pairs away and
// takes the other lane's part of the rest, until it has what it owns. At the levels below OWN_FIRST
// it always keeps the first half: its heads are in an order of its own.
template <int WIDTH, int OWN_FIRST, int PAIRS>
inline void share_out(int column, thread float (&scores)[PAIRS]) {
  UNROLLED for (int level = 1; level < WIDTH; level *= 2) {
    const int held = PAIRS / (2 * level);
    const ushort offset = ushort(WIDTH / (2 * level));
    const bool upper = level >= OWN_FIRST && (column & int(offset)) != 0;
    if (held == 0) {
      scores[0] += simd_shuffle_xor(scores[0], offset);
    }
    UNROLLED for (int i = 0; i < held; ++i) {
      const float given = upper ? scores[i] : scores[i + held];
      const float kept = upper ? scores[i + held] : scores[i];
      scores[i] = kept + simd_shuffle_xor(given, offset);
    }
  }
}

// Make weights of the first OWNED scores, those that a lane owns. If any exceeds its peak by much,
// the simdgroup takes over higher peaks, and sums and weights become relative to these.
template <int OWNED, int OWNERS, int HEAD_LANES, int WIDTH, int HEADS, int TILE>
inline void weigh(thread float* scores, thread float& peak, thread float& weight,
                  thread float (&sum)[HEADS][TILE]) {
  float higher = peak;
  UNROLLED for (int i = 0; i < OWNED; ++i) {
    higher = max(higher, scores[i]);
  }
  if (simd_any(higher > peak + MARGIN)) {
    higher = max_over<OWNERS, HEAD_LANES>(max_over<WIDTH, LANES>(higher));
    const float kept = exp2(peak - higher);
    peak = higher;
    weight *= kept;
    UNROLLED for (int head = 0; head < HEADS; ++head) {
      const float factor = simd_shuffle(kept, ushort(head * HEAD_LANES));
      UNROLLED for (int e = 0; e < TILE; ++e) {
        sum[head][e] *= factor;
      }
    }
  }
  UNROLLED for (int i = 0; i < OWNED; ++i) {
    scores[i] = exp2(scores[i] - peak);
    weight += scores[i];
  }
}

// Add the values of a lane's rows, weighted by what the owners of their pairs have made.
template <int OWNED, int OWNERS, int ROWS, int HEADS, int TILE, typename Bits, typename U>
inline void add_values(thread const Bits* values, thread const float* weights, int first_owner,
                       thread float (&sum)[HEADS][TILE], U type) {
  constexpr int LOADS = TILE * int(sizeof(U)) / int(sizeof(Bits));
  UNROLLED for (int row = 0; row < ROWS; ++row) {
    float value[TILE];
    UNROLLED for (int load = 0; load < LOADS; ++load) {
      unpack(values[row * LOADS + load], value + load * (TILE / LOADS), type);
    }
    UNROLLED for (int head = 0; head < HEADS; ++head) {
      const int pair = head * ROWS + row;
      const ushort owner = ushort(first_owner + pair / OWNED * OWNERS);
      const float given = simd_shuffle(weights[pair % OWNED], owner);
      UNROLLED for (int e = 0; e < TILE; ++e) {
        sum[head][e] += given * value[e];
      }
    }
  }
}

// ---- body ----
constexpr int LOAD_BYTES = HD_TILE * int(sizeof(T)) < 16 ? 8 : 16;
using Bits = typename Load<LOAD_BYTES>::Bits;
constexpr int CHUNK = LOAD_BYTES / int(sizeof(T));
constexpr int CHUNKS = D / CHUNK;
constexpr int LOADS = HD_TILE / CHUNK;
constexpr int NEEDED = (D + HD_TILE - 1) / HD_TILE;
constexpr int ROW_LANES = NEEDED <= 4 ? 4 : NEEDED <= 8 ? 8 : NEEDED <= 16 ? 16 : 32;
constexpr int SLOTS = LANES / ROW_LANES;
constexpr int TILE = SLOTS * TOKENS;
constexpr int STEP = SIMDGROUPS * TILE;
// While the lanes of a row add their scores up, they share out the pairs of a head and a token.
constexpr int PADDED = HEADS == 1 ? 1 : HEADS == 2 ? 2 : HEADS <= 4 ? 4 : 8;
// Their scores are made of PART tokens at a time, so that they take few registers.
constexpr int PART = PADDED * TOKENS <= 16 ? TOKENS : 16 / PADDED;
constexpr int PARTS = TOKENS / PART;
constexpr int PAIRS = PADDED * PART;
constexpr int OWNED = PAIRS > ROW_LANES ? PAIRS / ROW_LANES : 1;   // by a lane, all of one head
constexpr int OWNERS = PAIRS < ROW_LANES ? ROW_LANES / PAIRS : 1;  // lanes that own the same
constexpr int HEAD_LANES = ROW_LANES / PADDED;  // neighbouring lanes that own pairs of one head
constexpr int OWN_FIRST = HEADS == PADDED ? HEADS : 1;
constexpr int BUFFERS = 3;
constexpr int SHARES = (GROUP + HEADS - 1) / HEADS;

const int lane = int(thread_index_in_simdgroup);
const int simdgroup = int(simdgroup_index_in_threadgroup);
const int column = lane % ROW_LANES;
const int slot = lane / ROW_LANES;
const int owned_head = column / HEAD_LANES;
const int kv_heads = int(threadgroups_per_grid.x) / SHARES;
const int kv_head = int(threadgroup_position_in_grid.x) / SHARES;
const int share = int(threadgroup_position_in_grid.x) % SHARES;
const int sequence = int(threadgroup_position_in_grid.y);
const int partition = int(threadgroup_position_in_grid.z);
const int partitions = int(threadgroups_per_grid.z);
const int heads = GROUP % HEADS == 0 ? HEADS : min(HEADS, GROUP - share * HEADS);
// The row, in q and out, of this threadgroup's first q head.
const int first = (sequence * kv_heads + kv_head) * GROUP + share * HEADS;

const uint token_size = uint(kv_heads * D);
const uint page_size = uint(BLOCK) * token_size;
const uint apart = uint(SLOTS) * token_size;
const size_t corner = size_t(kv_head * D + column * CHUNK);  // of this lane, in a row's heads
const size_t corner_of_slot = corner + uint(slot) * token_size;
const device int* table = block_tables + sequence * max_blocks;
const uint last_entry = uint(max_blocks - 1);
const int turn = partitions * STEP;
// The first tile of a simdgroup depends on no length: its page is looked up while the length is,
// and that of the next one a tile ahead.
int tile = (partition * SIMDGROUPS + simdgroup) * TILE;
const uint first_page = uint(table[min(uint(tile) / BLOCK, last_entry)]);
uint page = uint(table[min(uint(tile + turn) / BLOCK, last_entry)]);
const int length = context_lens[sequence];
// Tiles up to this one are full, each in one page; if no tile divides a page, there are none.
const int last = BLOCK % TILE == 0 ? length - TILE : -1;

Bits rows[BUFFERS][TOKENS * LOADS];
if (tile <= last) {
  const size_t at =
      size_t(first_page) * page_size + uint(tile) % BLOCK * token_size + corner_of_slot;
  load_rows<TOKENS, LOADS, ROW_LANES, CHUNKS>(k_pages + at, apart, column, rows[0]);
  load_rows<TOKENS, LOADS, ROW_LANES, CHUNKS>(v_pages + at, apart, column, rows[1]);
}

// exp(x) = exp2(x log2(e)): the factor goes into the query once. Where the heads fill all places,
// a lane has them in the order in which it keeps them: first the one whose pairs it will own.
const int own_head = OWN_FIRST > 1 ? owned_head : 0;
float query[HEADS][HD_TILE];
float sum[HEADS][HD_TILE];
UNROLLED for (int head = 0; head < HEADS; ++head) {
  UNROLLED for (int load = 0; load < LOADS; ++load) {
    const int chunk = column + load * ROW_LANES;
    Bits bits = Bits(0);
    const int asking = head ^ own_head;
    if (chunk < CHUNKS && asking < heads) {
      bits = *reinterpret_cast<const device Bits*>(
          q + size_t(first + asking) * D + chunk * CHUNK);
    }
    unpack(bits, query[head] + load * CHUNK, T(0));
  }
  UNROLLED for (int e = 0; e < HD_TILE; ++e) {
    query[head][e] *= scale * LOG2_E;
    sum[head][e] = 0.0f;
  }
}

float peak = LOWEST;  // of the simdgroup and the head that this lane owns pairs of
float weight = 0.0f;  // of the pairs that this lane owned
while (tile <= last) {
  // After three tiles each buffer has its first purpose again.
  UNROLLED for (int step = 0; step < BUFFERS; ++step) {
    if (step > 0 && tile > last) {
      break;
    }
    const int keys = 2 * step % BUFFERS;
    const int values = (2 * step + 1) % BUFFERS;
    const int unused = (2 * step + 2) % BUFFERS;
    const int next = tile + turn;
    const size_t at = size_t(page) * page_size + uint(next) % BLOCK * token_size + corner_of_slot;
    page = uint(table[min(uint(next + turn) / BLOCK, last_entry)]);
    if (next <= last) {
      load_rows<TOKENS, LOADS, ROW_LANES, CHUNKS>(k_pages + at, apart, column, rows[unused]);
    }
    float scores[PARTS * OWNED];
    UNROLLED for (int part = 0; part < PARTS; ++part) {
      thread Bits* used = rows[keys] + part * PART * LOADS;
      float pairs[PAIRS];
      score_rows<HEADS, PART>(query, used, pairs, T(0));
      if (next <= last) {
        load_rows<PART, LOADS, ROW_LANES, CHUNKS>(v_pages + at + uint(part * PART) * apart, apart,
                                                  column, used);
      }
      share_out<ROW_LANES, OWN_FIRST>(column, pairs);
      UNROLLED for (int i = 0; i < OWNED; ++i) {
        scores[part * OWNED + i] = pairs[i];
      }
    }
    weigh<PARTS * OWNED, OWNERS, HEAD_LANES, ROW_LANES>(scores, peak, weight, sum);
    UNROLLED for (int part = 0; part < PARTS; ++part) {
      add_values<OWNED, OWNERS, PART>(rows[values] + part * PART * LOADS, scores + part * OWNED,
                                      slot * ROW_LANES, sum, T(0));
    }
    tile = next;
  }
}

// A tile that the sequence fills in part; or all of them, where one may lie in several pages.
for (; tile < length; tile += turn) {
  const int token = tile + slot;
  load_some_rows<TOKENS, LOADS, ROW_LANES, CHUNKS, BLOCK>(
      k_pages + corner, table, token, SLOTS, length, token_size, column, rows[0]);
  load_some_rows<TOKENS, LOADS, ROW_LANES, CHUNKS, BLOCK>(
      v_pages + corner, table, token, SLOTS, length, token_size, column, rows[1]);
  float scores[PARTS * OWNED];
  UNROLLED for (int part = 0; part < PARTS; ++part) {
    float pairs[PAIRS];
    score_rows<HEADS, PART>(query, rows[0] + part * PART * LOADS, pairs, T(0));
    share_out<ROW_LANES, OWN_FIRST>(column, pairs);
    UNROLLED for (int i = 0; i < OWNED; ++i) {
      const int row = part * PART + (column / OWNERS * OWNED + i) % PART;
      scores[part * OWNED + i] = token + row * SLOTS < length ? pairs[i] : LOWEST;
    }
  }
  weigh<PARTS * OWNED, OWNERS, HEAD_LANES, ROW_LANES>(scores, peak, weight, sum);
  UNROLLED for (int part = 0; part < PARTS; ++part) {
    add_values<OWNED, OWNERS, PART>(rows[1] + part * PART * LOADS, scores + part * OWNED,
                                    slot * ROW_LANES, sum, T(0));
  }
}

// Slots have the same peaks: their sums are added as scores were, elements shared out.
weight = sum_over<OWNERS, HEAD_LANES>(sum_over<ROW_LANES, LANES>(weight));
UNROLLED for (int level = 1; level < SLOTS; level *= 2) {
  const bool upper = (slot & level) != 0;
  UNROLLED for (int head = 0; head < HEADS; ++head) {
    UNROLLED for (int i = 0; i < HD_TILE / (2 * level); ++i) {
      const float given = upper ? sum[head][2 * i] : sum[head][2 * i + 1];
      const float kept = upper ? sum[head][2 * i + 1] : sum[head][2 * i];
      sum[head][i] = kept + simd_shuffle_xor(given, ushort(ROW_LANES * level));
    }
  }
}

// All heads at a time if the scratch holds them, else equal shares of them.
constexpr int HEAD_BYTES = SIMDGROUPS * D * 4;
constexpr int FITTING = SCRATCH < HEAD_BYTES ? 1 : SCRATCH / HEAD_BYTES;
constexpr int PASSES = (HEADS + FITTING - 1) / FITTING;
constexpr int AT_ONCE = (HEADS + PASSES - 1) / PASSES;
constexpr int QUARTER = D / 4;
threadgroup float peaks[PADDED * SIMDGROUPS];
threadgroup float weights[PADDED * SIMDGROUPS];
threadgroup float partial[AT_ONCE * SIMDGROUPS * D];

// All simdgroups take over the highest peak; then what they have is added.
const bool speaks = slot == 0 && column % HEAD_LANES == 0;  // for this head, of its simdgroup
if (speaks) {
  peaks[owned_head * SIMDGROUPS + simdgroup] = peak;
}
threadgroup_barrier(mem_flags::mem_threadgroup);
float highest = LOWEST;
UNROLLED for (int g = 0; g < SIMDGROUPS; ++g) {
  highest = max(highest, peaks[owned_head * SIMDGROUPS + g]);
}
const float kept = exp2(peak - highest);  // 0 for a simdgroup without tokens, beside one with any
if (speaks) {
  weights[owned_head * SIMDGROUPS + simdgroup] = weight * kept;
  if (partitions > 1 && simdgroup == 0 && owned_head < heads) {
    stats[(size_t(first + owned_head) * partitions + partition) * 2] = highest;
  }
}
UNROLLED for (int from = 0; from < HEADS; from += AT_ONCE) {
  if (from > 0) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  // Element i of chunk c stands at i * CHUNKS + c: neighbouring lanes, neighbouring words.
  UNROLLED for (int head = from; head < HEADS && head < from + AT_ONCE; ++head) {
    const float factor = simd_shuffle(kept, ushort(head * HEAD_LANES));
    UNROLLED for (int i = 0; i < HD_TILE / SLOTS; ++i) {
      const int e = i * SLOTS + slot;
      const int chunk = column + e / CHUNK * ROW_LANES;
      if (chunk < CHUNKS) {
        partial[((head - from) * SIMDGROUPS + simdgroup) * D + e % CHUNK * CHUNKS + chunk] =
            sum[head][i] * factor;
      }
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const int merged = min(AT_ONCE, heads - from);
  for (int at = simdgroup * LANES + lane; at < merged * QUARTER; at += SIMDGROUPS * LANES) {
    const int head = from + at / QUARTER;
    float total = 0.0f;
    float value[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    UNROLLED for (int g = 0; g < SIMDGROUPS; ++g) {
      total += weights[head * SIMDGROUPS + g];
      UNROLLED for (int i = 0; i < 4; ++i) {
        value[i] += partial[((head - from) * SIMDGROUPS + g) * D + i * QUARTER + at % QUARTER];
      }
    }
    const float norm = total > 0.0f ? 1.0f / total : 0.0f;
    const size_t row = size_t(first + head) * partitions + partition;
    if (partitions > 1 && at % QUARTER == 0) {
      stats[row * 2 + 1] = total;
    }
    UNROLLED for (int i = 0; i < 4; ++i) {
      const int place = i * QUARTER + at % QUARTER;
      const int d = place % CHUNKS * CHUNK + place / CHUNKS;
      if (partitions == 1) {
        out[row * D + d] = T(value[i] * norm);
      } else {
        sums[row * D + d] = value[i];
      }
    }
  }
}
