/* Drawing: canvases, colours, the time axis, the curves. */

/* What is left free on the right of all charts: a scroll bar may stand there. */
const RIGHT = 20;
const colours = {};

function readColours() {
  const style = getComputedStyle(document.documentElement);
  const names = ['--back', '--panel', '--ink', '--quiet', '--line', '--run', '--wait', '--preempted',
    '--released', '--partial', '--use', '--share', '--flow', '--cursor', '--chosen'];
  for (const one of names) { colours[one] = style.getPropertyValue(one).trim(); }
}

/* A canvas of the size it has on the page, cleared; the units are those of CSS. */
function prepare(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
  const pen = canvas.getContext('2d');
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = '12px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
  return pen;
}

/* From time to place and back. It is the same for all charts, whether or not they have a scroll
   bar, so that what happens at one time stands in one line. */
function scaleOf(from = view.from, to = view.to) {
  const pixels = Math.max(1, byId('axis').clientWidth - RIGHT);
  return {
    x: (time) => ((time - from) / (to - from)) * pixels,
    time: (x) => from + (x / pixels) * (to - from),
    from, to, pixels,
  };
}

const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500,
  ...[1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400]
    .map((seconds) => seconds * 1000)];

/* The times of the axis' lines. */
function ticks(scale) {
  const most = Math.max(2, Math.floor(scale.pixels / 84));
  const rough = (scale.to - scale.from) / most;
  const day = 86400000;
  const step = STEPS.find((one) => one >= rough) || Math.ceil(rough / day) * day;
  const times = [];
  for (let time = Math.ceil(scale.from / step) * step; time <= scale.to; time += step) { times.push(time); }
  return times;
}

/* Whole hours and days are short on the axis. */
function onAxis(time) {
  const hours = time / 3600000;
  if (!Number.isInteger(hours) || hours === 0) { return clock(time); }
  return hours < 48 ? `${hours}h` : `${Math.floor(hours / 24)}d${hours % 24 ? `${String(hours % 24).padStart(2, '0')}h` : ''}`;
}

function gridLines(pen, scale, height) {
  pen.strokeStyle = colours['--line'];
  pen.lineWidth = 1;
  pen.beginPath();
  for (const time of ticks(scale)) {
    const x = Math.round(scale.x(time)) + 0.5;
    pen.moveTo(x, 0);
    pen.lineTo(x, height);
  }
  pen.stroke();
}

function cursorLine(pen, scale, height) {
  const x = Math.round(scale.x(view.cursor)) + 0.5;
  if (x < -1 || x > scale.pixels + 2) { return; }
  pen.strokeStyle = colours['--cursor'];
  pen.lineWidth = 1;
  pen.setLineDash([]);
  pen.beginPath();
  pen.moveTo(x, 0);
  pen.lineTo(x, height);
  pen.stroke();
}

function paintAxis(canvas) {
  const { clientWidth: width, clientHeight: height } = canvas;
  const pen = prepare(canvas, width, height);
  const scale = scaleOf();
  pen.fillStyle = colours['--quiet'];
  pen.strokeStyle = colours['--line'];
  pen.textBaseline = 'middle';
  for (const time of ticks(scale)) {
    const x = scale.x(time);
    pen.textAlign = x < 18 ? 'left' : x > scale.pixels - 18 ? 'right' : 'center';
    pen.fillText(onAxis(time), Math.min(x, scale.pixels + RIGHT - 2), height / 2 + 1);
  }
}

/* The stretch of a list of times that a scale shows, with what holds at its beginning. */
function shown(times, scale) {
  return [Math.max(0, lastAt(times, scale.from)), lastAt(times, scale.to)];
}

/* A line that stays as it is from one time to the next. */
function steps(pen, scale, times, values, y) {
  const [first, last] = shown(times, scale);
  let before = null;
  for (let at = first; at <= last; at += 1) {
    if (at > first && values[at] === values[at - 1]) { continue; }
    const x = Math.max(0, scale.x(times[at]));
    if (before === null) { pen.moveTo(x, y(values[at])); } else { pen.lineTo(x, before); }
    before = y(values[at]);
    pen.lineTo(x, before);
  }
  if (before === null) { return null; }
  const end = Math.min(scale.pixels, scale.x(END));
  pen.lineTo(end, before);
  return { begin: Math.max(0, scale.x(times[first])), end };
}

function area(pen, scale, times, values, y, colour) {
  pen.beginPath();
  const sides = steps(pen, scale, times, values, y);
  if (!sides) { return; }
  pen.strokeStyle = colour;
  pen.lineWidth = 1.5;
  pen.setLineDash([]);
  pen.stroke();
  pen.lineTo(sides.end, y(0));
  pen.lineTo(sides.begin, y(0));
  pen.closePath();
  pen.globalAlpha = 0.25;
  pen.fillStyle = colour;
  pen.fill();
  pen.globalAlpha = 1;
}

/* The flow falls between the times at which something changed. */
function flowLine(pen, scale, curves, y) {
  const [first, last] = shown(curves.t, scale);
  pen.beginPath();
  let drawn = false;
  for (let at = first; at <= last; at += 1) {
    const [begin, usage, flow] = [curves.t[at], curves.u[at], curves.f[at]];
    const end = Math.min(at + 1 < curves.t.length ? curves.t[at + 1] : END, scale.to);
    const from = Math.max(0, scale.x(begin));
    const to = Math.max(from, scale.x(end));
    const falls = flow > usage;
    for (let x = from; ; x += 3) {
      const place = falls ? Math.min(x, to) : to;
      const value = y(flowAfter(flow, usage, Math.max(0, scale.time(place) - begin)));
      if (!falls || x === from) {
        const start = y(flowAfter(flow, usage, Math.max(0, scale.time(from) - begin)));
        if (drawn) { pen.lineTo(from, start); } else { pen.moveTo(from, start); }
        drawn = true;
      }
      pen.lineTo(place, value);
      if (place >= to) { break; }
    }
  }
  pen.strokeStyle = colours['--flow'];
  pen.lineWidth = 1.75;
  pen.setLineDash([6, 4]);
  pen.stroke();
  pen.setLineDash([]);
}

const highest = (values) => values.reduce((most, one) => Math.max(most, one), 0);

/* A round number above a value: 1, 2 or 5 times a power of ten, and halves of those. */
function roundUp(value) {
  if (value <= 0) { return 1000; }
  const power = Math.pow(10, Math.floor(Math.log10(value)));
  return [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].map((one) => one * power).find((one) => one >= value);
}

function paintQueue(canvas, queue, most) {
  const { clientWidth: width, clientHeight: height } = canvas;
  const pen = prepare(canvas, width, height);
  const scale = scaleOf();
  const [ceiling, floor] = [17, height - 6];
  const y = (value) => floor - (value / most) * (floor - ceiling);
  gridLines(pen, scale, height);
  pen.beginPath();
  pen.moveTo(0, Math.round(ceiling) + 0.5);
  pen.lineTo(scale.pixels, Math.round(ceiling) + 0.5);
  pen.moveTo(0, Math.round(floor) + 0.5);
  pen.lineTo(scale.pixels, Math.round(floor) + 0.5);
  pen.stroke();
  if (queue.t && queue.t.length) {
    area(pen, scale, queue.t, queue.u, y, colours['--use']);
    flowLine(pen, scale, queue, y);
    pen.beginPath();
    steps(pen, scale, queue.t, queue.s, y);
    pen.strokeStyle = colours['--share'];
    pen.lineWidth = 1.5;
    pen.stroke();
  }
  pen.textBaseline = 'middle';
  pen.textAlign = 'left';
  pen.fillStyle = colours['--quiet'];
  pen.fillText(cores(most), 2, ceiling - 8);
  cursorLine(pen, scale, height);
}

/* The whole time, with what is looked at; `drag` is a stretch being chosen. */
function paintOverview(canvas, drag) {
  const { clientWidth: width, clientHeight: height } = canvas;
  const pen = prepare(canvas, width, height);
  const scale = scaleOf(0, END);
  const cluster = data.cluster;
  const [ceiling, floor] = [4.5, height - 2];
  const most = Math.max(highest(cluster.s), highest(cluster.u), 1);
  area(pen, scale, cluster.t, cluster.u, (value) => floor - (value / most) * (floor - ceiling), colours['--use']);
  pen.beginPath();
  steps(pen, scale, cluster.t, cluster.s, (value) => floor - (value / most) * (floor - ceiling));
  pen.strokeStyle = colours['--share'];
  pen.lineWidth = 1;
  pen.stroke();
  const waiting = Math.max(highest(cluster.w), 1);
  pen.beginPath();
  steps(pen, scale, cluster.c, cluster.w, (value) => floor - (value / waiting) * (floor - ceiling));
  pen.strokeStyle = colours['--wait'];
  pen.lineWidth = 1.5;
  pen.stroke();
  const [from, to] = drag || [view.from, view.to];
  if (drag || from > 0 || to < END) {
    pen.fillStyle = colours['--back'];
    pen.globalAlpha = 0.7;
    pen.fillRect(0, 0, scale.x(from), height);
    pen.fillRect(scale.x(to), 0, scale.pixels - scale.x(to), height);
    pen.globalAlpha = 1;
    pen.strokeStyle = colours['--quiet'];
    pen.strokeRect(scale.x(from) + 0.5, 0.5, Math.max(2, scale.x(to) - scale.x(from)) - 1, height - 1);
  }
  cursorLine(pen, scale, height);
}
