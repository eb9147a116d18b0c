// Which interval is meant: by the pointer, by the keyboard, by a search.

function rowAt(view, y) {
  return view.rows.findIndex((row) => y >= row.top - row.heading - 2 && y < row.top + row.height + GAP / 2);
}

// The interval under the pointer, or the nearest within three pixels.
function pick(scene, x, y) {
  const { view } = scene;
  const number = rowAt(view, y);
  if (number < 0 || x < view.gutter) return null;
  const row = view.rows[number];
  const laneNumber = Math.max(0, Math.min(row.track.lanes.length - 1, Math.floor((y - row.top) / row.lane)));
  const lane = row.track.lanes[laneNumber];
  const slack = 3 / view.scale();
  const time = view.time(x);
  const at = place(lane.ends, time);
  const near = [at - 1, at].filter((one) => one >= 0 && one < lane.size);
  const away = (one) => Math.max(0, lane.starts[one] - time, time - lane.ends[one]);
  near.sort((one, other) => away(one) - away(other));
  if (!near.length || away(near[0]) > slack) return null;
  return { row: number, lane: laneNumber, index: lane.first + near[0] };
}

function laneOf(track, index) {
  return track.lanes.findIndex((lane) => index >= lane.first && index < lane.first + lane.size);
}

// The next (or previous) interval of the focused track, by start, over all its lanes.
function step(scene, forward) {
  const row = scene.focus?.row ?? 0;
  const track = scene.data.tracks[row];
  const from = scene.focus?.index;
  const time = from === undefined ? (forward ? scene.view.begin - 0.5 : scene.view.end + 0.5) : track.starts[from];
  return nearest(track, row, time, forward, () => true, from);
}

function nearest(track, row, time, forward, wanted, not = -1) {
  let best = null;
  track.lanes.forEach((lane, number) => {
    let at = forward ? place(lane.starts, time, true) : place(lane.starts, time) - 1;
    while (at >= 0 && at < lane.size && (lane.first + at === not || !wanted(lane.first + at))) at += forward ? 1 : -1;
    if (at < 0 || at >= lane.size) return;
    const start = lane.starts[at];
    if (!best || (forward ? start < best.start : start > best.start)) best = { row, lane: number, index: lane.first + at, start };
  });
  return best;
}

// What the words are found in: the labels of intervals, and the names of tracks, which stand
// for all that is on them.
function search(data, words) {
  const wanted = words.trim().toLowerCase();
  if (!wanted) return null;
  const holds = (text) => text.toLowerCase().includes(wanted);
  const labels = Uint8Array.from(data.texts, (text) => (holds(text) ? 1 : 0));
  const whole = new Set(data.tracks.filter((track) => holds(track.name)));
  let found = 0;
  for (const track of data.tracks) {
    if (whole.has(track)) found += track.size;
    else for (const code of track.codes) found += labels[code];
  }
  return { found, has: (track, index) => whole.has(track) || labels[track.codes[index]] === 1 };
}

// The match after (or before) the focus, going on with the next track, and round.
function nextMatch(scene, forward) {
  const { tracks } = scene.data;
  const start = scene.focus?.index === undefined ? null : scene.focus;
  const first = start ? start.row : forward ? 0 : tracks.length - 1;
  for (let turn = 0; turn <= tracks.length; turn += 1) {
    const row = (first + (forward ? turn : -turn) + 2 * tracks.length) % tracks.length;
    const track = tracks[row];
    const time = start && turn === 0 ? track.starts[start.index] : forward ? -Infinity : Infinity;
    const found = nearest(track, row, time, forward, (index) => scene.matches.has(track, index));
    if (found) return found;
  }
  return null;
}

// What an interval says, line by line.
function described(scene, focus) {
  const track = scene.data.tracks[focus.row];
  const start = track.starts[focus.index];
  const lines = [`${duration(track.durations[focus.index])} from ${instant(start)}`];
  if (track.levels) lines.unshift(quantity(track.levels.values[focus.index], track.levels.unit));
  for (const detail of track.details) {
    const value = detail.values[focus.index] - 1;
    if (value >= 0) lines.push(`${detail.name}: ${detailWords(scene, detail.unit, value)}`);
  }
  lines.push(track.note ? `${track.name}, ${track.note}` : track.name);
  return { title: scene.data.texts[track.codes[focus.index]], lines };
}

function detailWords(scene, unit, value) {
  if (unit === "text") return scene.data.texts[value];
  return unit === "number" ? `no. ${count(value + 1)}` : duration(value);
}

// What belongs to the same command buffer as the focused interval: by row, which intervals.
function family(scene, focus) {
  const number = (track) => track.details.find((detail) => detail.unit === "number");
  const { tracks } = scene.data;
  const own = number(tracks[focus.row]);
  const wanted = own?.values[focus.index];
  const found = new Map();
  if (!wanted) return found;
  tracks.forEach((track, row) => {
    const detail = number(track);
    if (detail?.name !== own.name) return;
    const members = [];
    for (let at = 0; at < track.size; at += 1) if (detail.values[at] === wanted) members.push(at);
    if (members.length) found.set(row, members);
  });
  return found;
}
