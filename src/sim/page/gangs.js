/* The gangs as bars: only what is in sight is drawn, so that there may be a hundred thousand. */

const ROW = 19;
const HEAD = 30;
const list = {
  rows: [], tops: [], places: new Int32Array(gangs.length), height: 0, closed: new Set(), chosen: null, hovered: null, search: '', which: 'all',
};

const WHICH = {
  all: ['all', () => true],
  cursor: ['those there at the chosen time', (gang) => stateAt(gang, view.cursor) !== OVER],
  waiting: ['those waiting at the chosen time', (gang) => {
    const state = stateAt(gang, view.cursor);
    return state !== OVER && state !== RUNNING;
  }],
  marked: ['those that lost pods', (gang) => gang.marks.length > 0],
  never: ['those that never ran', (gang) => firstRan(gang) === null],
};

/* Which gangs are listed, below their queues. */
function listGangs() {
  const fits = WHICH[list.which][1];
  const search = list.search.toLowerCase();
  const byQueue = data.queues.map(() => []);
  let count = 0;
  for (const gang of gangs) {
    if ((!search || gang.title.toLowerCase().includes(search)) && fits(gang)) {
      byQueue[gang.queue].push(gang);
      count += 1;
    }
  }
  list.rows = [];
  list.tops = [];
  let y = 0;
  list.places.fill(-1);
  const add = (row, height) => {
    if (row.gang) { list.places[row.gang.number] = list.rows.length; }
    list.rows.push(row); list.tops.push(y);
    y += height;
  };
  byQueue.forEach((found, queue) => {
    if (!found.length) { return; }
    add({ queue, count: found.length }, HEAD);
    if (!list.closed.has(queue)) { found.forEach((gang) => add({ gang }, ROW)); }
  });
  list.height = y;
  if (list.chosen && list.places[list.chosen.number] < 0) { list.chosen = null; tellDetail(); }
  byId('spacer').style.height = `${Math.max(0, y + 6 - byId('bars').clientHeight)}px`;
  const all = gangs.length + data.leftOut.gangs;
  byId('gangs-hint').textContent = `${number(count)} of ${number(all)} gangs and single pods`
    + ' are listed. Click on a queue to fold it, on a gang to see what happened to it.';
}

const rowHeight = (row) => (row.gang ? ROW : HEAD);

function topOf(gang) {
  const at = list.places[gang.number];
  return at < 0 ? null : list.tops[at];
}

const leftWidth = () => parseFloat(getComputedStyle(document.documentElement).getPropertyValue('--left')) - 1;

function fitText(pen, text, width) {
  if (pen.measureText(text).width <= width) { return text; }
  let keep = Math.floor(text.length * (width / pen.measureText(text).width));
  while (keep > 1 && pen.measureText(`${text.slice(0, keep)}…`).width > width) { keep -= 1; }
  return `${text.slice(0, keep)}…`;
}

/* One state of a gang as a bar. Those that run are blocks, those that wait are lines, so that
   nobody has to tell colours apart. */
function paintSpan(pen, state, x, width, y, part) {
  const colour = colours[STATES[state].colour];
  pen.fillStyle = colour;
  const middle = y + ROW / 2;
  if (state === RUNNING) {
    const whole = ROW - 7;
    pen.globalAlpha = 0.28;
    pen.fillRect(x, y + 3.5, width, whole);
    pen.globalAlpha = 1;
    const height = Math.max(2, whole * part);
    pen.fillRect(x, y + 3.5 + whole - height, width, height);
  } else if (state === PARTIAL) {
    pen.fillRect(x, middle - 3.5, width, 7);
  } else if (state === PREEMPTED || state === RELEASED) {
    for (let at = x; at < x + width; at += 7) {
      pen.fillRect(at, middle - 1.5, Math.min(4, x + width - at), 3);
    }
  } else {
    pen.fillRect(x, middle - 1, width, 2);
  }
}

function paintMark(pen, kind, x, middle) {
  const { colour, shape } = MARKS[kind];
  pen.fillStyle = colours[colour];
  pen.strokeStyle = colours['--panel'];
  pen.lineWidth = 1.5;
  pen.beginPath();
  if (shape === 'down') {
    pen.moveTo(x - 5, middle - 7);
    pen.lineTo(x + 5, middle - 7);
    pen.lineTo(x, middle + 2);
  } else if (shape === 'diamond') {
    pen.moveTo(x, middle - 6);
    pen.lineTo(x + 5, middle);
    pen.lineTo(x, middle + 6);
    pen.lineTo(x - 5, middle);
  } else {
    const arm = 4;
    pen.moveTo(x - arm, middle - arm);
    pen.lineTo(x + arm, middle + arm);
    pen.moveTo(x + arm, middle - arm);
    pen.lineTo(x - arm, middle + arm);
    pen.lineWidth = 5;
    pen.stroke();
    pen.strokeStyle = colours[colour];
    pen.lineWidth = 2;
    pen.stroke();
    return;
  }
  pen.closePath();
  pen.stroke();
  pen.fill();
}

function paintGang(pen, gang, y, left, scale) {
  const spans = gang.spans;
  for (let at = 0; at < spans.length; at += 3) {
    const end = at + 4 < spans.length ? spans[at + 4] : END;
    if (spans[at] !== OVER && end >= scale.from && spans[at + 1] <= scale.to) {
      const from = Math.max(0, scale.x(spans[at + 1]));
      const to = Math.min(scale.pixels, scale.x(end));
      const part = gang.pods ? Math.min(1, spans[at + 2] / gang.pods) : 1;
      paintSpan(pen, spans[at], left + from, Math.max(1, to - from), y, part);
    }
  }
  for (let at = 0; at < gang.marks.length; at += 5) {
    const x = scale.x(gang.marks[at + 1]);
    if (x >= 0 && x <= scale.pixels) { paintMark(pen, gang.marks[at], left + x, y + ROW / 2); }
  }
}

function paintHead(pen, row, y, left, width) {
  const queue = data.queues[row.queue];
  pen.fillStyle = colours['--back'];
  pen.fillRect(0, y, width, HEAD - 4);
  pen.fillStyle = colours['--ink'];
  const bold = pen.font.replace('12px', '600 13px');
  const plain = pen.font;
  const closed = list.closed.has(row.queue) ? '▸' : '▾';
  pen.fillText(closed, 12, y + (HEAD - 4) / 2);
  pen.font = bold;
  const title = fitText(pen, queue.name, left - 36);
  pen.fillText(title, 26, y + (HEAD - 4) / 2);
  pen.font = plain;
  pen.fillStyle = colours['--quiet'];
  const what = queue.declared ? `${number(row.count)} listed` : `${number(row.count)} listed; nobody declared this queue`;
  pen.fillText(what, left + 4, y + (HEAD - 4) / 2);
}

/* From the mark on one gang to the bar of the one it was for. */
function paintLink(pen, mark, gang, offset, left, scale) {
  const [from, to] = [topOf(gang), mark.by && topOf(mark.by)];
  if (from === null || to === null || !mark.by) { return; }
  const x = left + Math.min(scale.pixels, Math.max(0, scale.x(mark.time)));
  const [y1, y2] = [from - offset + ROW / 2, to - offset + ROW / 2];
  pen.strokeStyle = colours['--preempted'];
  pen.lineWidth = 1.5;
  pen.setLineDash([2, 3]);
  pen.beginPath();
  pen.moveTo(x, y1);
  pen.lineTo(x, y2);
  pen.stroke();
  pen.setLineDash([]);
  pen.beginPath();
  pen.arc(x, y2, 4, 0, 7);
  pen.fillStyle = colours['--preempted'];
  pen.fill();
}

function paintGangs() {
  const box = byId('gangs');
  const canvas = byId('bars');
  const width = box.clientWidth;
  const height = box.clientHeight;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const pen = prepare(canvas, width, height);
  const left = leftWidth();
  const scale = scaleOf();
  const offset = box.scrollTop;
  pen.save();
  pen.translate(left, 0);
  gridLines(pen, scale, height);
  pen.restore();
  pen.textBaseline = 'middle';
  pen.textAlign = 'left';
  let at = Math.max(0, lastAt(list.tops, offset));
  for (; at < list.rows.length && list.tops[at] < offset + height; at += 1) {
    const row = list.rows[at];
    const y = list.tops[at] - offset + 2;
    if (!row.gang) { paintHead(pen, row, y, left, width); continue; }
    if (row.gang === list.chosen || row.gang === list.hovered) {
      pen.fillStyle = colours['--chosen'];
      pen.fillRect(0, y, width, ROW);
    }
    pen.fillStyle = colours['--ink'];
    pen.fillText(fitText(pen, row.gang.title, left - 36), 26, y + ROW / 2);
    paintGang(pen, row.gang, y, left, scale);
  }
  pen.save();
  pen.translate(left, 0);
  cursorLine(pen, scale, height);
  pen.restore();
  for (const gang of new Set([list.chosen, list.hovered])) {
    if (!gang) { continue; }
    const links = marksOf(gang).map((mark) => ({ gang, mark })).concat(victims.get(gang.number) || []);
    for (const link of links.slice(0, 200)) { paintLink(pen, link.mark, link.gang, offset - 2, left, scale); }
  }
  if (!list.rows.length) {
    pen.fillStyle = colours['--quiet'];
    pen.fillText('No gang is like that.', 26, 20);
  }
}

/* What a gang is, in a line. */
function what(gang) {
  const parts = [`queue ${data.queues[gang.queue].name}`];
  if (gang.single) {
    parts.push('a pod on its own');
  } else {
    parts.push(`${counted(gang.pods, 'pod')}, of which ${number(gang.min)} must run`);
  }
  if (gang.priority !== null) { parts.push(`priority ${gang.priority}`); }
  if (gang.nodes) { parts.push(`on ${counted(gang.nodes, 'node')}`); }
  return parts.join(' · ');
}

/* How it was at a time, in words. */
function then(gang, time) {
  const at = spanAt(gang, time);
  if (at < 0) { return 'not submitted yet'; }
  const [state, from, pods] = gang.spans.slice(at, at + 3);
  const running = state === RUNNING && !gang.single ? ` with ${number(pods)} of ${counted(gang.pods, 'pod')}` : '';
  return `${STATES[state].words} since ${clock(from)}${running}`;
}

const markWords = (mark, gang) => (gang.single ? mark.text : `${counted(mark.pods, 'pod')} ${mark.text}`);

/* What happened to it: [time, words, the other gang] in the order of time. */
function storyOf(gang) {
  const told = [[gang.submitted, 'submitted', null, 0]];
  let before = null;
  for (let at = 0; at < gang.spans.length; at += 3) {
    const [state, from, pods] = gang.spans.slice(at, at + 3);
    if (state === RUNNING && before !== RUNNING) {
      const waited = before === null || told.length === 1 ? ` after waiting ${clock(from - gang.submitted)}` : '';
      told.push([from, `runs${gang.single ? '' : ` with ${counted(pods, 'pod')}`}${waited}`, null, 2]);
    } else if (state === RUNNING) {
      told.push([from, `runs with ${counted(pods, 'pod')}`, null, 2]);
    } else if (state === PARTIAL && before !== PARTIAL) {
      told.push([from, 'partly bound', null, 2]);
    } else if (state === OVER) {
      told.push([from, 'over', null, 3]);
    } else if (before === RUNNING || before === OVER) {
      told.push([from, state === WAITING ? 'waits' : 'waits again', null, 2]);
    }
    before = state;
  }
  for (const mark of marksOf(gang)) { told.push([mark.time, markWords(mark, gang), mark.by, 1]); }
  for (const { gang: other, mark } of victims.get(gang.number) || []) {
    told.push([mark.time, `${counted(mark.pods, 'pod')} of ${other.title} made room for it`, other, 1]);
  }
  return told.sort((a, b) => a[0] - b[0] || a[3] - b[3]);
}

const MOST_TOLD = 60;

function tellDetail() {
  const box = byId('detail');
  const gang = list.chosen;
  box.replaceChildren();
  if (!gang) { return; }
  box.append(element('h3', gang.title), element('p', what(gang), 'quiet'));
  const lines = element('ol');
  const told = storyOf(gang);
  for (const [time, words, other] of told.slice(0, MOST_TOLD)) {
    const line = element('li');
    const text = element('span', words);
    if (other) {
      const show = element('button', `Show ${other.title}`);
      show.type = 'button';
      show.addEventListener('click', () => choose(other, true));
      text.append(' ', show);
    }
    line.append(element('b', exactly(time)), text);
    lines.append(line);
  }
  box.append(lines);
  if (told.length > MOST_TOLD) { box.append(element('p', `and ${number(told.length - MOST_TOLD)} lines more`, 'quiet')); }
  if (gang.thinned) { box.append(element('p', 'More happened to it than is kept.', 'quiet')); }
  if (gang.why) { box.append(element('p', `At the end it waits: ${gang.why}`)); }
}

/* Chooses a gang, and brings it into sight. */
function choose(gang, scroll) {
  list.chosen = gang;
  if (gang && scroll) {
    if (topOf(gang) === null) {
      list.which = 'all';
      list.search = '';
      byId('which').value = 'all';
      byId('search').value = '';
      list.closed.delete(gang.queue);
      listGangs();
      list.chosen = gang;
    }
    const box = byId('gangs');
    const y = topOf(gang);
    if (y < box.scrollTop) { box.scrollTop = y - ROW; }
    if (y + 2 * ROW > box.scrollTop + box.clientHeight) { box.scrollTop = y + 2 * ROW - box.clientHeight; }
  }
  tellDetail();
  changed();
}

/* The row at a place in the box. */
function rowAt(y) {
  const offset = y - 2 + byId('gangs').scrollTop;
  const at = lastAt(list.tops, offset);
  const row = at < 0 ? null : list.rows[at];
  return row && offset < list.tops[at] + rowHeight(row) ? row : null;
}

function showTip(event, gang, time) {
  const tip = byId('tip');
  tip.replaceChildren(element('b', gang.title), element('p', what(gang), 'quiet'));
  tip.append(element('p', `At ${clock(time)}: ${then(gang, time)}`));
  for (const mark of marksOf(gang).slice(-4)) {
    tip.append(element('p', `At ${clock(mark.time)}: ${markWords(mark, gang)}`));
  }
  if (gang.why && lastState(gang) === stateAt(gang, time)) { tip.append(element('p', gang.why.slice(0, 300))); }
  tip.hidden = false;
  const { offsetWidth: width, offsetHeight: height } = tip;
  const x = Math.min(event.clientX + 16, window.innerWidth - width - 8);
  const below = event.clientY + 18 + height < window.innerHeight;
  tip.style.left = `${Math.max(8, x)}px`;
  tip.style.top = `${Math.max(8, below ? event.clientY + 18 : event.clientY - height - 12)}px`;
}

function hideTip() {
  byId('tip').hidden = true;
  if (list.hovered) { list.hovered = null; changed(); }
}

/* Moves the choice by so many gangs. */
function step(by) {
  const shownGangs = list.rows.filter((row) => row.gang).map((row) => row.gang);
  if (!shownGangs.length) { return; }
  const at = shownGangs.indexOf(list.chosen);
  const next = at < 0 ? (by > 0 ? 0 : shownGangs.length - 1) : at + by;
  choose(shownGangs[Math.min(shownGangs.length - 1, Math.max(0, next))], true);
}

function setUpGangs() {
  const box = byId('gangs');
  const canvas = byId('bars');
  for (const [key, [words]] of Object.entries(WHICH)) {
    const option = element('option', words);
    option.value = key;
    byId('which').append(option);
  }
  const again = () => { list.which = byId('which').value; list.search = byId('search').value; listGangs(); changed(); };
  byId('which').addEventListener('change', again);
  byId('search').addEventListener('input', again);
  box.addEventListener('scroll', changed);
  const timeAt = (event) => {
    const x = event.clientX - canvas.getBoundingClientRect().left - leftWidth();
    return scaleOf().time(x);
  };
  canvas.addEventListener('pointermove', (event) => {
    const row = rowAt(event.clientY - canvas.getBoundingClientRect().top);
    if (!row || !row.gang) { hideTip(); return; }
    if (list.hovered !== row.gang) { list.hovered = row.gang; changed(); }
    showTip(event, row.gang, Math.round(Math.min(END, Math.max(0, timeAt(event)))));
  });
  canvas.addEventListener('pointerleave', hideTip);
  canvas.addEventListener('click', (event) => {
    const row = rowAt(event.clientY - canvas.getBoundingClientRect().top);
    if (!row) { return; }
    if (row.gang) {
      if (event.clientX - canvas.getBoundingClientRect().left > leftWidth()) { setCursor(timeAt(event)); }
      choose(row.gang === list.chosen ? null : row.gang, false);
    } else {
      if (!list.closed.delete(row.queue)) { list.closed.add(row.queue); }
      listGangs();
      changed();
    }
  });
  box.addEventListener('keydown', (event) => {
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20, Home: -Infinity, End: Infinity };
    if (event.key in moves) {
      event.preventDefault();
      step(moves[event.key]);
    } else if (event.key === 'Escape') {
      hideTip();
      choose(null, false);
    }
  });
  listeners.push(() => {
    if (list.which === 'cursor' || list.which === 'waiting') { listGangs(); }
    paintGangs();
  });
}
