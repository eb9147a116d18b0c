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

function duration(ns) {
  for (const [factor, unit] of STEPS) {
    if (Math.abs(ns) >= factor * 0.9995) return `${digits(ns / factor)} ${unit}`;
  }
  return `${digits(ns)} ns`;
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
