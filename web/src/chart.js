// SPDX-License-Identifier: MIT
// Line charts as SVG, with linear or logarithmic axes.

const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT] = [440, 300];
const FRAME = { left: 52, right: 12, top: 14, bottom: 40 };

function shape(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

/** The function from a value of an axis to a place between the two ends. */
function scale({ min, max, log }, from, to) {
  const f = log ? Math.log10 : (value) => value;
  const [low, high] = [f(min), f(max)];
  return (value) => from + ((f(value) - low) / (high - low)) * (to - from);
}

function drawAxes({ x, y }, px, py) {
  const bottom = HEIGHT - FRAME.bottom;
  const right = WIDTH - FRAME.right;
  const rows = y.ticks.flatMap(([value, text]) => [
    shape("line", { class: "grid", x1: FRAME.left, x2: right, y1: py(value), y2: py(value) }),
    shape("text", { x: FRAME.left - 6, y: py(value) + 4, "text-anchor": "end" }, text),
  ]);
  const columns = x.ticks.map(([value, text]) =>
    shape("text", { x: px(value), y: bottom + 16, "text-anchor": "middle" }, text));
  const name = shape("text", { x: (FRAME.left + right) / 2, y: HEIGHT - 6, "text-anchor": "middle" }, x.label);
  return [...rows, ...columns, shape("line", { class: "axis", x1: FRAME.left, x2: right, y1: bottom, y2: bottom }), name];
}

function drawCurve({ layout, points, dots, chosen }, { y }, frame, px, py) {
  const place = ([a, b]) => `${px(a).toFixed(1)},${py(Math.max(b, y.min / 1e9)).toFixed(1)}`;
  const line = shape("polyline", { class: `curve ${layout}${chosen ? " chosen" : ""}`, points: points.map(place).join(" "),
    "clip-path": `url(#${frame})` });
  const marks = dots ? points.map(([a, b]) => shape("circle", { class: `dot ${layout}`, cx: px(a), cy: py(b), r: 2.5 })) : [];
  return [line, ...marks];
}

/** The names of the curves in a row above them, in their colours. */
function drawNames(curves) {
  const step = (WIDTH - FRAME.left - FRAME.right) / curves.length;
  return curves.map(({ layout }, i) => shape("text", { class: `name ${layout}`, x: FRAME.left + step * i, y: 8 }, layout));
}

/**
 * Replaces the content of `into` by a chart. Axes have min, max, log, label and ticks [value, text]; curves have layout,
 * points [x, y], chosen and dots; `mark` is a point [x, y] of the layout `mark.layout`.
 */
export function drawChart(into, { axes, curves, mark, label }) {
  const px = scale(axes.x, FRAME.left, WIDTH - FRAME.right);
  const py = scale(axes.y, HEIGHT - FRAME.bottom, FRAME.top + 6);
  const chart = shape("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label });
  const frame = shape("clipPath", { id: `${into.id}-frame` });
  frame.append(shape("rect", { x: FRAME.left, y: FRAME.top, width: WIDTH - FRAME.left - FRAME.right,
    height: HEIGHT - FRAME.top - FRAME.bottom }));
  chart.append(frame, ...drawAxes(axes, px, py), ...drawNames(curves));
  for (const curve of curves) chart.append(...drawCurve(curve, axes, frame.id, px, py));
  const [a, b] = mark.point;
  if (a >= axes.x.min && a <= axes.x.max && b >= axes.y.min && b <= axes.y.max) {
    chart.append(shape("line", { class: "rule", x1: px(a), x2: px(a), y1: py(b), y2: HEIGHT - FRAME.bottom }),
      shape("circle", { class: `mark ${mark.layout}`, cx: px(a), cy: py(b), r: 6 }));
  }
  into.replaceChildren(chart);
}
