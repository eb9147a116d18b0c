// Numbers and times in words, as the rest of the page words them.

const STEPS = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]];

function digits(value, significant = 3) {
  if (value === 0) return "0";
  const rounded = Math.abs(Number(value.toPrecision(significant)));
  const whole = Math.floor(Math.log10(rounded)) + 1;
  const text = value.toLocaleString("en-US", {
    minimumFractionDigits: Math.max(0, significant - whole),
    maximumFractionDigits: Math.max(0, significant - whole),
  });
  return text.includes(".") && Number.isInteger(value) ? text.replace(/\.?0+$/, "") : text;
}

const SIZES = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]];
const SCALES = [[1e12, "T"], [1e9, "G"], [1e6, "M"]];
const PREFIXED = ["Hz", "W"];

function stepped(value, steps, least) {
  for (const [factor, unit] of steps) {
    if (Math.abs(value) >= factor * 0.9995) return `${digits(value / factor)} ${unit}`;
  }
  return `${digits(value)} ${least}`;
}

// A level in the words of its unit.
function quantity(value, unit) {
  if (unit === "ns") return duration(value);
  if (unit === "ratio") return percent(value);
  if (unit === "bytes") return stepped(value, SIZES, "B");
  if (unit === "count") return Number.isInteger(value) ? count(value) : digits(value);
  const [factor, prefix] = SCALES.find(([size]) => Math.abs(value) >= size) ?? [1, ""];
  const number = digits(value / factor);
  return PREFIXED.includes(unit) ? `${number} ${prefix}${unit}` : `${number} ${prefix} ${unit}`.replace(/ +/g, " ").trim();
}

function duration(ns) {
  return stepped(ns, STEPS, "ns");
}

function percent(ratio) {
  const value = ratio * 100;
  return value !== 0 && value < 0.1 ? "< 0.1 %" : `${value.toFixed(1)} %`;
}

function count(number) {
  return number.toLocaleString("en-US");
}

// A point of the trace's time, exact to the microsecond.
function instant(ns) {
  const micros = Math.round(ns / 1e3);
  const [seconds, rest] = [Math.floor(Math.abs(micros) / 1e6), Math.abs(micros) % 1e6];
  const [millis, last] = [Math.floor(rest / 1e3), rest % 1e3].map((one) => String(one).padStart(3, "0"));
  return `${micros < 0 ? "-" : ""}${seconds}.${millis} ${last} s`;
}

// A point of time with as many digits as a step of `step` ns needs to be seen.
function moment(ns, step) {
  const [factor, unit] = STEPS.find(([size]) => Math.abs(ns) >= size && step >= size / 1e6) ?? [1, "ns"];
  const decimals = Math.min(9, Math.max(0, Math.ceil(Math.log10(factor / step) - 1e-9)));
  const fixed = (ns / factor).toLocaleString("en-US", {
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
  return `${fixed} ${unit}`;
}
