// From the packed columns of the page to tracks of typed arrays.

function octets(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const letters = atob(base64);
  const found = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at += 1) found[at] = letters.charCodeAt(at);
  return found;
}

async function inflate(base64) {
  try {
    const inflated = new Blob([octets(base64.trim())]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(inflated).arrayBuffer());
  } catch (cause) {
    const able = typeof DecompressionStream === "function";
    throw new Error(able ? "its data are damaged" : "this browser is too old for it", { cause });
  }
}

async function unpack(base64) {
  const bytes = await inflate(base64);
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  if (header.format !== 2) throw new Error(`its data have the unknown format ${header.format}`);
  const reader = { bytes, at: 4 + length };
  const tracks = header.tracks.map((track) => unpackTrack(track, reader, header.texts));
  return { begin: header.begin, end: header.end, steady: header.steady, tracks, texts: header.texts };
}

function unpackTrack(track, reader, texts) {
  const size = track.lanes.reduce((sum, lane) => sum + lane, 0);
  const columns = track.widths.map((width) => readColumn(reader, size, width, new Float64Array(size)));
  const [starts, durations, codes] = columns;
  const lanes = laneViews(track, starts, durations, codes);
  const details = track.details.map(([name, unit], at) => ({ name: texts[name], unit, values: detailValues(unit, columns[3 + at], starts, track.tick) }));
  const levels = track.levels && levelValues(track.levels, columns.at(-1));
  return { name: texts[track.name], note: texts[track.note], kind: track.kind, starts, durations, codes: Uint32Array.from(codes), details, levels, size, lanes };
}

function readColumn(reader, size, width, values) {
  let factor = 1;
  for (let plane = 0; plane < width; plane += 1, factor *= 256) {
    for (let row = 0; row < size; row += 1) values[row] += reader.bytes[reader.at + row] * factor;
    reader.at += size;
  }
  return values;
}

// 0, 1, 2, 3, 4 … mean 0, -1, 1, -2, 2 …
function unfold(value) {
  return value % 2 ? -(value + 1) / 2 : value / 2;
}

// Undo the distances, turn ticks into ns, and sum up durations so that any stretch's cover is
// one subtraction.
function laneViews(track, starts, durations, codes) {
  const [over, under] = track.tick;
  const nanoseconds = (ticks) => Math.floor((ticks * over) / under);
  const before = new Map();
  let first = 0;
  return track.lanes.map((size) => {
    const sums = new Float64Array(size + 1);
    const ends = new Float64Array(size);
    let at = track.from;
    for (let row = first; row < first + size; row += 1) {
      at += starts[row];
      const lasted = (before.get(codes[row]) ?? 0) + unfold(durations[row]);
      before.set(codes[row], lasted);
      starts[row] = nanoseconds(at);
      at += lasted;
      ends[row - first] = nanoseconds(at);
      durations[row] = ends[row - first] - starts[row];
      sums[row - first + 1] = sums[row - first] + durations[row];
    }
    const lane = { first, size, starts: starts.subarray(first, first + size), ends, sums };
    first += size;
    return lane;
  });
}

// Each value plus one, so that zero means unknown.
function detailValues(unit, values, starts, [over, under]) {
  let sum = 0;
  for (let row = 0; row < values.length; row += 1) {
    const value = values[row];
    if (unit === "ns") {
      const beyond = value - 1001;
      if (beyond >= 0) values[row] = ((beyond % 900) + 100) * 10 ** (Math.floor(beyond / 900) + 1) + 1;
    } else if (unit === "number") values[row] = sum += unfold(value);
    else if (unit === "lead") {
      sum += unfold(value);
      values[row] = Math.max(0, starts[row] - Math.floor((sum * over) / under) + 1);
    }
  }
  return values;
}

function levelValues([low, high, unit], steps) {
  return { low, high, unit, values: steps.map((one) => low + (one / 65535) * (high - low)) };
}

// The lowest and the highest level of a track between begin and end, or null.
function extremes(track, begin, end) {
  const [lane] = track.lanes;
  const from = place(lane.ends, begin);
  const to = place(lane.starts, end, true);
  if (to <= from) return null;
  let [low, high] = [Infinity, -Infinity];
  for (let at = from; at < to; at += 1) {
    low = Math.min(low, track.levels.values[at]);
    high = Math.max(high, track.levels.values[at]);
  }
  return [low, high];
}

// The first place in a sorted array whose value is not below (or, with `above`, is above) `value`.
function place(values, value, above = false, low = 0) {
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle] < value || (above && values[middle] === value)) low = middle + 1;
    else high = middle;
  }
  return low;
}

// How much of [begin, end) a lane covers, and how many of its intervals touch it.
function cover(lane, begin, end) {
  const from = place(lane.ends, begin, true);
  const to = Math.max(from, place(lane.starts, end));
  if (to === from) return { count: 0, time: 0 };
  let time = lane.sums[to] - lane.sums[from];
  time -= Math.max(0, begin - lane.starts[from]) + Math.max(0, lane.ends[to - 1] - end);
  return { count: to - from, time: Math.max(0, time) };
}

// The time that all lanes of a track cover together between begin and end: the union.
function union(track, begin, end) {
  if (track.lanes.length === 1) return cover(track.lanes[0], begin, end).time;
  const next = track.lanes.map((lane) => place(lane.ends, begin, true));
  let reached = begin;
  let time = 0;
  for (;;) {
    let chosen = -1;
    track.lanes.forEach((lane, one) => {
      if (next[one] >= lane.size || lane.starts[next[one]] >= end) return;
      if (chosen < 0 || lane.starts[next[one]] < track.lanes[chosen].starts[next[chosen]]) chosen = one;
    });
    if (chosen < 0) return time;
    const lane = track.lanes[chosen];
    const stop = Math.min(end, lane.ends[next[chosen]]);
    time += Math.max(0, stop - Math.max(reached, lane.starts[next[chosen]]));
    reached = Math.max(reached, stop);
    next[chosen] += 1;
  }
}
