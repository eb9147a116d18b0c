// Wheel, fingers, pointer and keys, turned into what the scene does.

const GESTURE = 250; // ms without a wheel event after which a new gesture begins

function listen(scene) {
  const { canvas } = scene;
  listenToWheel(scene);
  listenToPointers(scene);
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (press(scene, event.key)) event.preventDefault();
  });
  canvas.addEventListener("focus", () => say(scene));
  canvas.addEventListener("dblclick", (event) => {
    const found = pick(scene, event.offsetX, event.offsetY);
    if (found) fill(scene, found);
  });
}

// A wheel gesture that began elsewhere goes on scrolling the page; one that begins on the
// timeline zooms it, until there is nothing left to zoom out of.
function listenToWheel(scene) {
  const { canvas, view, data } = scene;
  let last = -Infinity;
  let ours = false;
  addEventListener("wheel", (event) => {
    if (event.timeStamp - last > GESTURE) ours = event.target === canvas;
    last = event.timeStamp;
  }, { capture: true, passive: true });
  canvas.addEventListener("wheel", (event) => {
    const meant = event.ctrlKey || event.metaKey;
    if (!ours && !meant) return;
    const lines = event.deltaMode === 1 ? 16 : 1;
    const whole = view.begin <= data.begin && view.end >= data.end;
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey) {
      move(view, data, ((event.deltaX || event.deltaY) * lines) / view.scale());
    } else if (whole && event.deltaY > 0 && !meant) return;
    else zoom(view, data, Math.exp(event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.002)), view.time(event.offsetX));
    event.preventDefault();
    changed(scene);
  }, { passive: false });
}

function listenToPointers(scene) {
  const { canvas } = scene;
  const pointers = new Map();
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button > 0) return;
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, { x: event.offsetX, from: event.offsetX, y: event.offsetY });
    scene.drag = event.shiftKey ? "select" : "move";
    canvas.classList.toggle("selecting", event.shiftKey);
  });
  canvas.addEventListener("pointermove", (event) => {
    const pointer = pointers.get(event.pointerId);
    if (!pointer) return hover(scene, event.offsetX, event.offsetY);
    drag(scene, pointers, pointer, event.offsetX);
  });
  const up = (event) => {
    const pointer = pointers.get(event.pointerId);
    pointers.delete(event.pointerId);
    canvas.classList.remove("moving", "selecting");
    if (pointer && event.type === "pointerup" && Math.abs(event.offsetX - pointer.from) < 4) {
      focusOn(scene, pick(scene, event.offsetX, event.offsetY), false);
    }
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("pointerleave", () => hideTip(scene));
}

function drag(scene, pointers, pointer, x) {
  const { view, data, canvas } = scene;
  const other = [...pointers.values()].find((one) => one !== pointer);
  if (other) {
    const before = Math.max(8, Math.abs(pointer.x - other.x));
    const after = Math.max(8, Math.abs(x - other.x));
    zoom(view, data, before / after, view.time((x + other.x) / 2));
  } else if (scene.drag === "select") {
    const ends = [view.time(pointer.from), view.time(x)].sort((one, two) => one - two);
    scene.selection = [Math.max(data.begin, ends[0]), Math.min(data.end, ends[1])];
  } else {
    canvas.classList.add("moving");
    move(view, data, (pointer.x - x) / view.scale());
  }
  pointer.x = x;
  hideTip(scene);
  changed(scene);
}

function press(scene, key) {
  const { view, data } = scene;
  const page = (view.end - view.begin) / 5;
  const actions = {
    "+": () => zoom(view, data, 0.5, anchor(scene)),
    "=": () => zoom(view, data, 0.5, anchor(scene)),
    "-": () => zoom(view, data, 2, anchor(scene)),
    ArrowLeft: () => move(view, data, -page),
    ArrowRight: () => move(view, data, page),
    ArrowUp: () => chooseRow(scene, -1),
    ArrowDown: () => chooseRow(scene, 1),
    n: () => focusOn(scene, step(scene, true)),
    p: () => focusOn(scene, step(scene, false)),
    Enter: () => scene.focus?.index !== undefined && fill(scene, scene.focus),
    0: () => showAll(scene),
    Home: () => showAll(scene),
    s: () => showSteady(scene),
    Escape: () => clear(scene),
  };
  if (!actions[key]) return false;
  actions[key]();
  changed(scene);
  return true;
}

// Zoom around what is focused, if it is seen; else around the middle.
function anchor(scene) {
  const { view, focus } = scene;
  if (focus?.index === undefined) return undefined;
  const track = scene.data.tracks[focus.row];
  const middle = track.starts[focus.index] + track.durations[focus.index] / 2;
  return middle >= view.begin && middle <= view.end ? middle : undefined;
}

function showAll(scene) {
  show(scene.view, scene.data, scene.data.begin, scene.data.end);
}

function showSteady(scene) {
  const { steady } = scene.data;
  if (steady) showAround(scene, steady[0], steady[1], 0.02);
}

function showAround(scene, begin, end, margin) {
  const room = Math.max((end - begin) * margin, 50);
  show(scene.view, scene.data, begin - room, end + room);
}

function clear(scene) {
  scene.focus = null;
  scene.selection = null;
  scene.evidence = null;
  hideTip(scene);
}

function chooseRow(scene, by) {
  const last = scene.data.tracks.length - 1;
  const row = Math.min(last, Math.max(0, (scene.focus?.row ?? (by > 0 ? -1 : last + 1)) + by));
  scene.focus = { row };
  const { track } = scene.view.rows[row];
  scene.spoken.textContent = `${track.name}: ${count(track.size)} intervals. ${track.note}`;
}

// Focus an interval, bring it into view, and say what it is.
function focusOn(scene, found, bring = true) {
  scene.focus = found ? { row: found.row, lane: found.lane, index: found.index } : null;
  if (found) scene.focus.family = family(scene, scene.focus);
  if (!found) {
    hideTip(scene);
    return changed(scene);
  }
  const track = scene.data.tracks[found.row];
  const start = track.starts[found.index];
  const end = start + track.durations[found.index];
  const { view, data } = scene;
  if (bring && (end < view.begin || start > view.end)) {
    const half = (view.end - view.begin) / 2;
    show(view, data, (start + end) / 2 - half, (start + end) / 2 + half);
  }
  const { title, lines } = described(scene, scene.focus);
  scene.spoken.textContent = [title, ...lines].join(". ");
  changed(scene);
  if (bring) tipAtFocus(scene);
}

function fill(scene, found) {
  const track = scene.data.tracks[found.row];
  const start = track.starts[found.index];
  scene.focus = { ...found, family: family(scene, found) };
  showAround(scene, start, start + track.durations[found.index], 0.25);
  changed(scene);
}

function hover(scene, x, y) {
  const found = pick(scene, x, y);
  if (!found) return hideTip(scene);
  showTip(scene, found, x, y);
}

function tipAtFocus(scene) {
  const row = scene.view.rows[scene.focus.row];
  const x = scene.view.x(row.track.starts[scene.focus.index]);
  showTip(scene, scene.focus, Math.max(scene.view.gutter, x), row.top + row.height);
}

function showTip(scene, found, x, y) {
  const { tip, view } = scene;
  const { title, lines } = described(scene, found);
  const heading = document.createElement("b");
  heading.textContent = title;
  tip.replaceChildren(heading, ...lines.map((line) => Object.assign(document.createElement("span"), { textContent: line })));
  tip.hidden = false;
  const left = x + 14 + tip.offsetWidth > view.width ? Math.max(4, x - 14 - tip.offsetWidth) : x + 14;
  const top = y + 14 + tip.offsetHeight > view.height ? Math.max(2, y - 10 - tip.offsetHeight) : y + 14;
  tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
}

function hideTip(scene) {
  scene.tip.hidden = true;
}
