// Bring the page to life; what it says stands there without this.

const byId = (id) => document.getElementById(id);

// Draw with the next frame; put the sums into words when the view comes to rest.
function changed(scene) {
  if (!scene.frame) {
    scene.frame = requestAnimationFrame(() => {
      scene.frame = 0;
      draw(scene);
    });
  }
  clearTimeout(scene.rest);
  scene.rest = setTimeout(() => settle(scene), 120);
}

function settle(scene) {
  say(scene);
  const [begin, end] = scene.selection ?? [scene.view.begin, scene.view.end];
  const range = scene.selection ? "Selected" : "In view";
  byId("timeline-range").textContent = `${range}: ${duration(end - begin)}`;
  byId("timeline-sums").replaceChildren(...scene.data.tracks.map((track) => sumRow(track, begin, end)));
}

function say(scene) {
  const { view, data } = scene;
  const length = view.end - view.begin;
  const fine = length / 1000;
  const words = `Showing ${moment(view.begin, fine)} to ${moment(view.end, fine)}: ${duration(length)} of ${duration(data.end - data.begin)}.`;
  if (scene.said !== words) byId("timeline-window").textContent = words;
  scene.said = words;
}

function sumRow(track, begin, end) {
  const number = track.lanes.reduce((sum, lane) => sum + cover(lane, begin, end).count, 0);
  const row = document.createElement("tr");
  const name = Object.assign(document.createElement("th"), { scope: "row" });
  name.append(Object.assign(document.createElement("span"), { className: `swatch ${track.kind}` }), track.name);
  const cells = [count(number), ...(track.levels ? levelCells(track, begin, end) : coverCells(track, begin, end))];
  row.append(name, ...cells.map((words) => Object.assign(document.createElement("td"), { className: "n", textContent: words })));
  return row;
}

function coverCells(track, begin, end) {
  const time = union(track, begin, end);
  return [duration(time), end > begin ? percent(time / (end - begin)) : "not available"];
}

function levelCells(track, begin, end) {
  const found = extremes(track, begin, end);
  const words = found && found.map((one) => quantity(one, track.levels.unit));
  return [found ? `${words[0]} to ${words[1]}` : "not read", ""];
}

function resize(scene) {
  const { canvas, view, data } = scene;
  const width = canvas.parentElement.clientWidth;
  if (!width) return;
  layOut(view, data, width);
  scene.ratio = devicePixelRatio || 1;
  canvas.width = Math.round(view.width * scene.ratio);
  canvas.height = Math.round(view.height * scene.ratio);
  canvas.style.height = `${view.height}px`;
  draw(scene);
}

function listenToSearch(scene) {
  const field = byId("timeline-search");
  const find = () => {
    const found = search(scene.data, field.value);
    scene.matches = found;
    byId("timeline-matches").textContent = found ? `${count(found.found)} found` : "";
    changed(scene);
  };
  field.addEventListener("input", find);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") go(scene, !event.shiftKey);
    else if (event.key === "Escape" && field.value) {
      field.value = "";
      find();
    } else return;
    event.preventDefault();
  });
}

function go(scene, forward) {
  if (!scene.matches) return;
  const found = nextMatch(scene, forward);
  if (found) focusOn(scene, found);
}

function listenToTools(scene) {
  const keys = { in: "+", out: "-", left: "ArrowLeft", right: "ArrowRight", all: "0", steady: "s" };
  for (const button of document.querySelectorAll("[data-do]")) {
    button.addEventListener("click", () => {
      const what = button.dataset.do;
      if (keys[what]) press(scene, keys[what]);
      else go(scene, what === "next");
    });
  }
}

// A link of a finding shows its window, with some room around it.
function listenToEvidence(scene) {
  for (const link of document.querySelectorAll("a[data-begin]")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const begin = Number(link.dataset.begin);
      const end = Number(link.dataset.end);
      clear(scene);
      scene.evidence = [begin, end];
      showAround(scene, begin, end, 0.5);
      changed(scene);
      byId("timeline").scrollIntoView();
      scene.canvas.focus({ preventScroll: true });
    });
  }
}

function offerCopies() {
  for (const block of document.querySelectorAll("pre.command")) {
    const words = block.textContent;
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: "Copy" });
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(words);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(block.querySelector("code"));
        button.textContent = "Selected: press Ctrl+C or ⌘C";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2500);
    });
    block.prepend(button);
  }
}

async function start() {
  offerCopies();
  const packed = byId("timeline-data");
  if (!packed) return;
  let data;
  try {
    data = await unpack(packed.textContent);
  } catch (error) {
    return trouble(error);
  }
  packed.remove();
  byId("timeline-live").hidden = false;
  document.documentElement.classList.add("drawn");
  const canvas = byId("timeline-canvas");
  const scene = { data, canvas, pen: canvas.getContext("2d"), view: makeView(data), tip: byId("timeline-tip"), spoken: byId("timeline-spoken"), matches: null, focus: null, selection: null, evidence: null };
  const recolour = () => {
    scene.colours = palette(canvas.parentElement);
    changed(scene);
  };
  if (data.steady) showSteady(scene);
  recolour();
  resize(scene);
  listen(scene);
  listenToSearch(scene);
  listenToTools(scene);
  listenToEvidence(scene);
  settle(scene);
  new ResizeObserver(() => resize(scene)).observe(canvas.parentElement);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
  for (const choice of document.querySelectorAll('[name="theme"]')) choice.addEventListener("change", recolour);
}

// The still timeline stays in its place, with the reason why.
function trouble(error) {
  const notice = byId("timeline-trouble");
  notice.textContent = `The timeline cannot be made to move: ${error.message}`;
  notice.hidden = false;
  byId("timeline-still").before(notice);
}

start();
