// From the packed columns of the page to tracks of typed arrays.

async function inflate(base64) {
  try {
    const packed = Uint8Array.from(atob(base64.trim()), (letter) => letter.charCodeAt(0));
    const inflated = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
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
  if (header.format !== 1) throw new Error(`its data have the unknown format ${header.format}`);
  const reader = { bytes, at: 4 + length };
  const tracks = header.tracks.map((track) => unpackTrack(track, reader, header));
  return { begin: header.begin, end: header.end, steady: header.steady, tracks, texts: header.texts };
}

function unpackTrack(track, reader, header) {
  const size = track.lanes.reduce((sum, lane) => sum + lane, 0);
  const column = (place, array) => readColumn(reader, size, track.widths[place], array);
  const starts = column(0, new Float64Array(size));
  const durations = column(1, new Float64Array(size));
  const codes = column(2, new Uint32Array(size));
  const details = track.details.map(([name, unit], place) => ({
    name: header.texts[name],
    unit,
    values: column(3 + place, new Float64Array(size)),
  }));
  const whole = { name: header.texts[track.name], note: header.texts[track.note], kind: track.kind };
  return { ...whole, starts, durations, codes, details, size, lanes: laneViews(track.lanes, starts, durations, header.begin) };
}

function readColumn(reader, size, width, values) {
  let factor = 1;
  for (let plane = 0; plane < width; plane += 1, factor *= 256) {
    for (let row = 0; row < size; row += 1) values[row] += reader.bytes[reader.at + row] * factor;
    reader.at += size;
  }
  return values;
}

// Undo the distances, and sum up durations so that any stretch's cover is one subtraction.
function laneViews(sizes, starts, durations, begin) {
  let first = 0;
  return sizes.map((size) => {
    const sums = new Float64Array(size + 1);
    const ends = new Float64Array(size);
    let at = begin;
    for (let row = 0; row < size; row += 1) {
      at += starts[first + row];
      starts[first + row] = at;
      ends[row] = at + durations[first + row];
      sums[row + 1] = sums[row] + durations[first + row];
    }
    const lane = { first, size, starts: starts.subarray(first, first + size), ends, sums };
    first += size;
    return lane;
  });
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
