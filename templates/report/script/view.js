// What part of the axis is seen, and where things stand on the canvas.

const LANE = 17;
const LEVEL = 36;
const GAP = 5;
const AXIS = 24;
const NARROW = 620;

function makeView(data) {
  const view = { begin: data.begin, end: data.end, width: 0, height: 0, gutter: 0, rows: [] };
  view.scale = () => (view.width - view.gutter) / (view.end - view.begin);
  view.x = (time) => view.gutter + (time - view.begin) * view.scale();
  view.time = (x) => view.begin + (x - view.gutter) / view.scale();
  return view;
}

// Wide: names stand in a gutter at the left. Narrow: each stands above its track.
function layOut(view, data, width) {
  const narrow = width < NARROW;
  view.width = width;
  view.gutter = narrow ? 0 : Math.min(210, Math.round(width * 0.18));
  let top = AXIS;
  view.rows = data.tracks.map((track) => {
    const heading = narrow ? 15 : 0;
    const lane = track.levels ? LEVEL : track.lanes.length === 1 ? LANE + 3 : LANE;
    const row = { track, top: top + heading, lane, heading, height: lane * track.lanes.length };
    top += heading + row.height + GAP;
    return row;
  });
  view.height = top;
}

// Show [begin, end), kept inside the data and never shorter than 100 ns.
function show(view, data, begin, end) {
  const least = Math.min(100, data.end - data.begin);
  const length = Math.min(data.end - data.begin, Math.max(least, end - begin));
  const middle = (begin + end) / 2;
  const from = Math.min(Math.max(data.begin, middle - length / 2), data.end - length);
  view.begin = from;
  view.end = from + length;
}

function zoom(view, data, factor, around = (view.begin + view.end) / 2) {
  const length = Math.min(data.end - data.begin, Math.max(100, (view.end - view.begin) * factor));
  const share = (around - view.begin) / (view.end - view.begin);
  const begin = around - share * length;
  show(view, data, begin, begin + length);
}

function move(view, data, time) {
  show(view, data, view.begin + time, view.end + time);
}

// A step of 1, 2 or 5 times a power of ten that puts ticks at least `apart` pixels from another.
function tickStep(view, apart) {
  const least = apart / view.scale();
  const power = 10 ** Math.floor(Math.log10(least));
  return Math.max(1, power * ([1, 2, 5, 10].find((one) => power * one >= least) ?? 10));
}
