// Draw the seen part: at most about as many marks as a lane has pixels.

const KINDS = ["evidence", "phases", "steps", "submissions", "device", "idle", "others", "driver", "compiler", "states", "levels"];
const FONT = '14px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';
const SMALL = FONT.replace("14px", "13px");

// The page's own colours, as the browser resolves them now.
function palette(stage) {
  const probe = document.createElement("span");
  probe.hidden = true;
  stage.append(probe);
  const read = (name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const names = [...KINDS, "card", "sunk", "line", "ink", "dim", "link"];
  const colours = Object.fromEntries(names.map((name) => [name, read(name)]));
  probe.remove();
  return colours;
}

function draw(scene) {
  const { pen, view, colours } = scene;
  pen.setTransform(scene.ratio, 0, 0, scene.ratio, 0, 0);
  pen.fillStyle = colours.card;
  pen.fillRect(0, 0, view.width, view.height);
  pen.textBaseline = "middle";
  drawAxis(scene);
  view.rows.forEach((row, index) => drawRow(scene, row, index));
  drawBand(scene, scene.evidence, colours.evidence, 0.1);
  drawBand(scene, scene.selection, colours.link, 0.13);
  drawFamily(scene);
  drawFocus(scene);
}

function drawAxis({ pen, view, colours }) {
  const step = tickStep(view, 95);
  pen.font = SMALL;
  pen.textAlign = "left";
  const far = Math.abs(view.begin) / step > 1e5;
  const base = far ? Math.floor(view.begin / (step * 100)) * step * 100 : 0;
  for (let at = Math.ceil(view.begin / step) * step; at <= view.end; at += step) {
    const x = Math.round(view.x(at)) + 0.5;
    pen.fillStyle = colours.line;
    pen.fillRect(x, AXIS - 6, 1, view.height - AXIS);
    pen.fillStyle = colours.dim;
    const words = far ? `+${moment(at - base, step)}` : moment(at, step);
    if (x + 4 + pen.measureText(words).width <= view.width) pen.fillText(words, x + 4, 11);
  }
  if (far && view.gutter) pen.fillText(moment(base, step * 100), 8, 11);
}

function drawRow(scene, row, index) {
  const { pen, view, colours } = scene;
  pen.fillStyle = colours.sunk;
  pen.fillRect(view.gutter, row.top - 1, view.width - view.gutter, row.height + 1);
  pen.save();
  pen.beginPath();
  pen.rect(view.gutter, row.top - 1, view.width - view.gutter, row.height + 2);
  pen.clip();
  if (row.track.levels) drawLevels(scene, row);
  else row.track.lanes.forEach((lane, number) => drawLane(scene, row, lane, row.top + number * row.lane));
  pen.restore();
  drawName(scene, row, index);
}

function drawName({ pen, view, colours, focus }, row, index) {
  const chosen = focus && focus.row === index;
  pen.textAlign = "left";
  pen.font = chosen ? `600 ${FONT}` : FONT;
  pen.fillStyle = chosen ? colours.link : colours.ink;
  const room = view.gutter ? view.gutter - 16 : view.width - 8;
  const y = !view.gutter ? row.top - 8 : row.track.levels ? row.top + 10 : row.top + Math.min(row.height, row.lane) / 2;
  const name = fitted(pen, row.track.name, room);
  pen.fillText(name, view.gutter ? 8 : 2, y);
  if (!row.track.levels) return;
  const used = view.gutter ? 8 : 2 + pen.measureText(name).width + 10;
  pen.font = SMALL;
  pen.fillStyle = colours.dim;
  pen.fillText(fitted(pen, ends(row.track.levels), room - used + 8), used, view.gutter ? row.top + 27 : y);
}

// The lowest and the highest level of the whole run: the height of the row spans from zero, or
// from what is below it, to the highest.
function ends({ low, high, unit }) {
  const words = [low, high].map((one) => quantity(one, unit));
  return words[0] === words[1] ? words[0] : words.join(" to ");
}

// Wide intervals are drawn one by one; those thinner than a pixel are drawn together, found by
// binary search instead of by visiting each.
function drawLane(scene, row, lane, top) {
  const { pen, view } = scene;
  const scale = view.scale();
  const height = row.lane - 2;
  let at = place(lane.ends, view.begin);
  while (at < lane.size && lane.starts[at] <= view.end) {
    const left = view.x(lane.starts[at]);
    const wide = (lane.ends[at] - lane.starts[at]) * scale;
    if (wide >= 1.5) {
      drawInterval(scene, row.track, lane.first + at, Math.max(left, view.gutter - 2), Math.min(left + wide, view.width + 2), top, height);
      at += 1;
      continue;
    }
    const pixel = Math.floor(left);
    let stop = Math.max(at + 1, place(lane.starts, view.time(pixel + 1), false, at));
    // The last one may begin in this pixel and go on far beyond it.
    if (stop - at > 1 && (lane.ends[stop - 1] - lane.starts[stop - 1]) * scale >= 1.5) stop -= 1;
    const share = Math.min(1, (lane.sums[stop] - lane.sums[at]) * scale);
    drawShare(scene, row.track.kind, share, shade(scene, row.track, lane, at, stop), [pixel, top, height]);
    at = stop;
  }
  pen.globalAlpha = 1;
}

// Each pixel's lowest and highest level as a stroke above a faint ground; nothing where nothing
// was read.
function drawLevels({ pen, view, colours }, row) {
  const { levels, lanes: [lane] } = row.track;
  const floor = Math.min(0, levels.low);
  const span = levels.high - floor || 1;
  const bottom = row.top + row.height - 2;
  const y = (value) => bottom - ((value - floor) / span) * (row.height - 6);
  pen.fillStyle = colours[row.track.kind];
  let at = place(lane.ends, view.begin);
  while (at < lane.size && lane.starts[at] <= view.end) {
    const left = Math.max(view.gutter, view.x(lane.starts[at]));
    const edge = Math.floor(left) + 1;
    let low = levels.values[at];
    let high = low;
    let right = view.x(lane.ends[at]);
    at += 1;
    for (; at < lane.size && right <= edge && view.x(lane.starts[at]) < edge; at += 1) {
      low = Math.min(low, levels.values[at]);
      high = Math.max(high, levels.values[at]);
      right = view.x(lane.ends[at]);
    }
    const wide = Math.max(1, Math.min(right, view.width) - left);
    pen.globalAlpha = 0.22;
    pen.fillRect(left, y(high), wide, bottom - y(high));
    pen.globalAlpha = 1;
    pen.fillRect(left, y(high) - 1, wide, Math.max(1.5, y(low) - y(high) + 1.5));
  }
}

// A faint line says that there is something, its filled height how much of the pixel's time.
function drawShare({ pen, colours }, kind, share, strength, [pixel, top, height]) {
  const filled = Math.max(1, share * height);
  pen.fillStyle = colours[kind];
  pen.globalAlpha = 0.28 * strength;
  pen.fillRect(pixel, top, 1, height - filled);
  pen.globalAlpha = strength;
  pen.fillRect(pixel, top + height - filled, 1, filled);
}

// What a search does not find is drawn faint.
function shade(scene, track, lane, from, to) {
  if (!scene.matches) return 1;
  const last = Math.min(to, from + 64);
  for (let at = from; at < last; at += 1) if (scene.matches.has(track, lane.first + at)) return 1;
  return 0.18;
}

function drawInterval(scene, track, index, left, right, top, height) {
  const { pen, colours } = scene;
  const wide = right - left;
  const inner = wide > 4 ? wide - 1 : wide;
  pen.globalAlpha = !scene.matches || scene.matches.has(track, index) ? 1 : 0.18;
  if (track.kind === "idle") drawHatched(scene, left, inner, top, height);
  else {
    pen.fillStyle = colours[track.kind];
    pen.fillRect(left, top, inner, height);
  }
  if (wide < 32) return;
  pen.font = SMALL;
  pen.textAlign = "left";
  pen.fillStyle = track.kind === "idle" ? colours.ink : colours.card;
  const words = scene.data.texts[track.codes[index]];
  const fits = fitted(pen, words, wide - 10);
  if (track.kind !== "idle") pen.fillText(fits, left + 5, top + height / 2 + 0.5);
  else if (fits === words) writeOn(scene, fits, left + 5, top, height);
}

function writeOn({ pen, colours }, words, left, top, height) {
  pen.fillStyle = colours.card;
  pen.fillRect(left - 2, top + 2, pen.measureText(words).width + 4, height - 4);
  pen.fillStyle = colours.ink;
  pen.fillText(words, left, top + height / 2 + 0.5);
}

function drawHatched({ pen, colours }, left, wide, top, height) {
  pen.fillStyle = colours.idle;
  if (wide < 5) {
    pen.fillRect(left, top, wide, height);
    return;
  }
  pen.save();
  pen.beginPath();
  pen.rect(left, top, wide, height);
  pen.clip();
  pen.strokeStyle = colours.idle;
  pen.lineWidth = 1.5;
  pen.beginPath();
  for (let x = left - height - ((left - height) % 6); x < left + wide; x += 6) {
    pen.moveTo(x, top + height);
    pen.lineTo(x + height, top);
  }
  pen.stroke();
  pen.lineWidth = 1;
  pen.strokeRect(left + 0.5, top + 0.5, wide - 1, height - 1);
  pen.restore();
}

function drawBand({ pen, view }, band, colour, alpha) {
  if (!band) return;
  const left = Math.max(view.gutter, view.x(band[0]));
  const right = Math.min(view.width, view.x(band[1]));
  if (right < left) return;
  pen.fillStyle = colour;
  pen.globalAlpha = alpha;
  pen.fillRect(left, AXIS - 6, Math.max(1, right - left), view.height);
  pen.globalAlpha = 0.9;
  pen.fillRect(left, AXIS - 6, 1, view.height);
  pen.fillRect(right - 1, AXIS - 6, 1, view.height);
  pen.globalAlpha = 1;
}

// Whatever belongs to the focused interval's command buffer, outlined by dashes.
function drawFamily({ pen, view, focus, colours }) {
  if (!focus?.family) return;
  pen.strokeStyle = colours.ink;
  pen.lineWidth = 1;
  pen.setLineDash([3, 2]);
  for (const [number, members] of focus.family) {
    const row = view.rows[number];
    for (const index of members) {
      const left = view.x(row.track.starts[index]);
      const right = view.x(row.track.starts[index] + row.track.durations[index]);
      if (right < view.gutter || left > view.width) continue;
      const from = Math.max(view.gutter, left);
      pen.strokeRect(from - 0.5, row.top + laneOf(row.track, index) * row.lane - 0.5, Math.max(2, right - from + 1), row.lane - 1);
    }
  }
  pen.setLineDash([]);
}

function drawFocus({ pen, view, focus, colours }) {
  if (!focus || focus.index === undefined) return;
  const row = view.rows[focus.row];
  const left = Math.max(view.gutter, view.x(row.track.starts[focus.index]));
  const right = Math.min(view.width, view.x(row.track.starts[focus.index] + row.track.durations[focus.index]));
  if (right < view.gutter || left > view.width) return;
  pen.strokeStyle = colours.ink;
  pen.lineWidth = 2;
  if (row.track.levels) pen.strokeRect(left - 1, row.top - 1, Math.max(3, right - left + 1), row.height);
  else pen.strokeRect(left - 1, row.top + focus.lane * row.lane - 1, Math.max(3, right - left + 1), row.lane);
}

function fitted(pen, words, room) {
  if (pen.measureText(words).width <= room) return words;
  let low = 0;
  let high = words.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (pen.measureText(`${words.slice(0, middle)}…`).width <= room) low = middle;
    else high = middle - 1;
  }
  return low > 1 ? `${words.slice(0, low)}…` : "";
}
