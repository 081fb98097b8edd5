/* The data, and what follows from it. The order of a gang's fields is that of rows.rs. */
'use strict';

const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId('data').textContent);
const END = Math.max(data.end, 1000);

/* How a gang can be. The order is that of State in gangs.rs. */
const WAITING = 0;
const PARTIAL = 1;
const RUNNING = 2;
const PREEMPTED = 3;
const RELEASED = 4;
const OVER = 5;
const STATES = [
  { words: 'waits', colour: '--wait' },
  { words: 'partly bound', colour: '--partial' },
  { words: 'runs', colour: '--run' },
  { words: 'waits: preempted', colour: '--preempted' },
  { words: 'waits: lost its place', colour: '--released' },
  { words: 'is over', colour: '--quiet' },
];

/* What can befall a gang. The order is that of MarkKind in gangs.rs: one more is one line here. */
const MARKS = [
  { words: 'preempted', colour: '--preempted', shape: 'down' },
  { words: 'taken off its nodes', colour: '--released', shape: 'diamond' },
  { words: 'lost with its node', colour: '--quiet', shape: 'cross' },
];

/* The gangs as objects; what is needed only for one of them is taken apart when it is. */
const gangs = data.gangs.map((row, number) => ({
  number, title: row[0], single: row[1] === 1, queue: row[2], priority: row[3], min: row[4],
  pods: row[5], nodes: row[6], submitted: row[7], spans: row[8], marks: row[9],
  why: row[10] < 0 ? '' : data.texts[row[10]], thinned: row[11] === 1,
}));
data.gangs = null;

function marksOf(gang) {
  const found = [];
  for (let at = 0; at < gang.marks.length; at += 5) {
    const [kind, time, pods, by, text] = gang.marks.slice(at, at + 5);
    found.push({ kind, time, pods, by: by < 0 ? null : gangs[by], text: data.texts[text] || '' });
  }
  return found;
}

/* Who went for whom. */
const victims = new Map();
for (const gang of gangs) {
  for (const mark of marksOf(gang)) {
    if (mark.by) {
      const list = victims.get(mark.by.number) || [];
      list.push({ gang, mark });
      victims.set(mark.by.number, list);
    }
  }
}

/* The index of the last time in a rising list that is not after `time`; -1 if there is none. */
function lastAt(times, time) {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= time) { low = middle + 1; } else { high = middle; }
  }
  return low - 1;
}

/* What a flow is a while after it was so much: what is above usage halves with every half-life. */
function flowAfter(flow, usage, span) {
  if (!data.halfLife) { return flow; }
  return usage + Math.max(0, flow - usage) * Math.pow(2, -span / data.halfLife);
}

function booksAt(curves, time) {
  const at = curves.t ? lastAt(curves.t, time) : -1;
  if (at < 0) { return { usage: 0, share: 0, flow: 0 }; }
  const usage = curves.u[at];
  return { usage, share: curves.s[at], flow: flowAfter(curves.f[at], usage, time - curves.t[at]) };
}

function countsAt(curves, time) {
  const at = curves.c ? lastAt(curves.c, time) : -1;
  return at < 0 ? { waiting: 0, running: 0 } : { waiting: curves.w[at], running: curves.r[at] };
}

/* The index of the span a gang is in; -1 before it is submitted. */
function spanAt(gang, time) {
  for (let at = gang.spans.length - 3; at >= 0; at -= 3) {
    if (gang.spans[at + 1] <= time) { return at; }
  }
  return -1;
}

function stateAt(gang, time) {
  const at = spanAt(gang, time);
  return at < 0 ? OVER : gang.spans[at];
}

function firstRan(gang) {
  for (let at = 0; at < gang.spans.length; at += 3) {
    if (gang.spans[at] === RUNNING) { return gang.spans[at + 1]; }
  }
  return null;
}

const lastState = (gang) => gang.spans[gang.spans.length - 3];

/* 0s, 1.5s, 10m, 10m30s, 1h05m, 2d03h: as the tables of muster simulate have it. */
function clock(ms) {
  const two = (number) => String(number).padStart(2, '0');
  if (ms < 60000) { return `${Number((ms / 1000).toFixed(ms < 10000 ? 3 : 1))}s`; }
  const all = Math.round(ms / 1000);
  const [days, hours] = [Math.floor(all / 86400), Math.floor(all / 3600)];
  const [minutes, seconds] = [Math.floor(all / 60) % 60, all % 60];
  if (all < 3600) { return seconds ? `${minutes}m${two(seconds)}s` : `${minutes}m`; }
  if (all < 172800) { return seconds ? `${hours}h${two(minutes)}m${two(seconds)}s` : `${hours}h${two(minutes)}m`; }
  return `${days}d${two(hours % 24)}h${minutes ? `${two(minutes)}m` : ''}`;
}

/* The same to the millisecond, where what happened within a second is told apart. */
function exactly(ms) {
  const part = ms % 1000;
  if (!part || ms < 10000) { return clock(ms); }
  const rest = String(part).padStart(3, '0').replace(/0+$/, '');
  return ms < 60000 ? `${Math.floor(ms / 1000)}.${rest}s` : `${clock(ms - part)} + 0.${rest}s`;
}

/* Thousandths of a core as a number of cores. */
function cores(thousandths) {
  const value = thousandths / 1000;
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return Number(value.toFixed(digits)).toLocaleString('en');
}

const number = (count) => count.toLocaleString('en');
const counted = (count, one, many) => `${number(count)} ${count === 1 ? one : many || `${one}s`}`;

/* An element with a text; texts are never read as markup. */
function element(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) { made.textContent = text; }
  if (className) { made.className = className; }
  return made;
}

/* What is looked at: a stretch of time, and a moment. */
const view = { from: 0, to: END, cursor: 0 };
const listeners = [];
let awaited = false;

/* Draws anew what depends on the view, once a frame. */
function changed() {
  if (awaited) { return; }
  awaited = true;
  requestAnimationFrame(() => {
    awaited = false;
    for (const listener of listeners) { listener(); }
  });
}

function setCursor(time) {
  view.cursor = Math.round(Math.min(END, Math.max(0, time)));
  changed();
}

function setView(from, to) {
  const span = Math.min(END, Math.max(to - from, Math.min(END, 10)));
  view.from = Math.min(Math.max(0, from), END - span);
  view.to = view.from + span;
  changed();
}

function zoom(factor, around) {
  const span = (view.to - view.from) * factor;
  const part = (around - view.from) / (view.to - view.from);
  setView(around - span * part, around + span * (1 - part));
}
