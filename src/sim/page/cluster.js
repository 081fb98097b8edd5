/* The cluster as its tree at the chosen time: which gang is on which node, and what is free. The
   places come from layout.rs; the order of the fields is that of places.rs. */

const places = data.places;
data.places = null;
const PALETTE = ['#e69f00', '#56b4e9', '#009e73', '#f0e442', '#0072b2', '#d55e00', '#cc79a7'];
const SINGLE = -3;
const NO_ROW = -1;
const MOST_ROWS = 40;
const MOST_WAITING = 12;
const map = { scale: 1, at: -1, nodes: [], cell: -1, patterns: [], listed: '', counts: new Map() };

/* What is on whom: gangs by their rows, pods on their own and others' pods by negative numbers. */
const whoOf = (row) => (row >= 0 && gangs[row].single ? SINGLE : row);
const slotOf = (who) => (who >= 0 ? places.marks[who][1] : -1);
const lastPart = (text) => text.slice(text.lastIndexOf('/') + 1);

/* The nodes at a time: what each offers, and who has what part of its scarcest resource. */
function nodesAt(time) {
  const nodes = places.nodes.map(() => ({ there: false, cordoned: false, offers: null, stays: [], parts: [], taken: 0, of: '', used: false, exclusive: false }));
  const { presences, stays } = places;
  for (let at = 0; at < presences.length; at += 5) {
    if (presences[at + 1] <= time && (presences[at + 2] < 0 || time < presences[at + 2])) {
      const node = nodes[presences[at]];
      node.there = true;
      node.offers = places.offers[presences[at + 3]];
      node.cordoned = presences[at + 4] === 1;
    }
  }
  const counts = new Map();
  for (let at = 0; at < stays.length; at += 6) {
    if (stays[at + 1] > time) { break; }
    if (stays[at + 2] >= 0 && time >= stays[at + 2]) { continue; }
    const flags = places.takes[stays[at + 4]][0];
    const who = flags & 2 ? -2 : whoOf(stays[at + 3]);
    const node = nodes[stays[at]];
    node.stays.push([who, places.takes[stays[at + 4]], stays[at + 5]]);
    node.used = node.used || !(flags & 2);
    node.exclusive = node.exclusive || (flags & 1) === 1;
    const count = counts.get(who) || { pods: 0, nodes: new Set() };
    count.pods += stays[at + 5];
    count.nodes.add(stays[at]);
    counts.set(who, count);
  }
  nodes.forEach(fill);
  return { nodes, counts };
}

/* What a pod takes of a resource; of `pods` it is one. */
function taken(takes, resource) {
  if (places.resources[resource] === 'pods') { return 1; }
  for (let at = 1; at < takes.length; at += 2) {
    if (takes[at] === resource) { return Math.max(0, takes[at + 1]); }
  }
  return 0;
}

function fill(node) {
  if (!node.there) { return; }
  let best = null;
  for (const isPods of [false, true]) {
    for (let at = 0; at < node.offers.length; at += 2) {
      const [resource, offer] = [node.offers[at], node.offers[at + 1]];
      if (offer <= 0 || (places.resources[resource] === 'pods') !== isPods) { continue; }
      const used = node.stays.reduce((sum, [, takes, count]) => sum + taken(takes, resource) * count, 0);
      if (!best || used / offer > best.part) { best = { resource, part: used / offer, of: Math.max(used, offer) }; }
    }
  }
  if (!best) { return; }
  const by = new Map();
  for (const [who, takes, count] of node.stays) {
    by.set(who, (by.get(who) || 0) + (taken(takes, best.resource) * count) / best.of);
  }
  node.of = places.resources[best.resource];
  node.parts = [...by].sort((a, b) => order(a[0]) - order(b[0]));
  node.taken = Math.min(1, best.part);
}

/* Gangs by their numbers, then pods on their own, then the others. */
const order = (who) => (who >= 0 ? places.marks[who][0] : 1e9 - who);
const isFree = (node) => node.there && !node.used && !node.cordoned;

/* Who has what part of the nodes of a cell. */
function shares(cell) {
  const nodes = map.nodes.slice(cell[3], cell[3] + cell[4]).filter((node) => node.there);
  const sums = new Map();
  for (const node of nodes) {
    for (const [who, part] of node.parts) { sums.set(who, (sums.get(who) || 0) + part / nodes.length); }
  }
  return { nodes, parts: [...sums].sort((a, b) => order(a[0]) - order(b[0])) };
}

/* Patterns over colours, as in the SVG file. */
function makePatterns(pen) {
  const tile = (side, draw) => {
    const canvas = element('canvas');
    canvas.width = side;
    canvas.height = side;
    draw(canvas.getContext('2d'));
    return pen.createPattern(canvas, 'repeat');
  };
  const slanted = (colour, wide) => tile(8, (on) => {
    on.strokeStyle = colour;
    on.lineWidth = wide;
    on.beginPath();
    for (const shift of [-8, 0, 8]) { on.moveTo(shift - 2, 10); on.lineTo(shift + 10, -2); }
    on.stroke();
  });
  map.patterns = [null, slanted('rgb(255 255 255 / 85%)', 2.4), tile(5, (on) => {
    on.fillStyle = '#1c2430';
    on.beginPath();
    on.arc(2.5, 2.5, 1.3, 0, 7);
    on.fill();
  }), tile(5, (on) => { on.fillStyle = 'rgb(28 36 48 / 75%)'; on.fillRect(0, 0, 5, 1.6); }), slanted(colours['--quiet'], 1)];
}

function paintPart(pen, who, x, y, width, height) {
  const slot = slotOf(who);
  pen.fillStyle = slot >= 0 ? PALETTE[slot % PALETTE.length] : who === -2 ? '#6f7a89' : '#aab3bf';
  pen.fillRect(x, y, width, height);
  const pattern = slot >= 0 ? Math.floor(slot / PALETTE.length) : 0;
  if (pattern) { pen.fillStyle = map.patterns[pattern]; pen.fillRect(x, y, width, height); }
}

function paintCell(pen, cell, number) {
  const [width, height, head] = places.size;
  const [x, y] = cell;
  const { nodes, parts } = shares(cell);
  const all = (is) => nodes.length > 0 && nodes.every(is);
  const [exclusive, cordoned] = [all((node) => node.exclusive), all((node) => node.cordoned)];
  pen.fillStyle = cordoned ? colours['--line'] : colours['--panel'];
  pen.fillRect(x, y, width, height);
  let at = x;
  const [top, high] = [y + head, height - head];
  const numbers = [];
  for (const [who, part] of parts) {
    const wide = Math.min(x + width - at, width * part);
    pen.globalAlpha = list.chosen && gangs[who] !== list.chosen ? 0.22 : 1;
    paintPart(pen, who, at, top, wide, high);
    if (who >= 0) { numbers.push([String(places.marks[who][0]), at + wide / 2, wide]); }
    at += wide;
  }
  pen.globalAlpha = 1;
  if (exclusive && at < x + width) {
    pen.fillStyle = map.patterns[4];
    pen.fillRect(at, top, x + width - at, high);
  }
  pen.textBaseline = 'middle';
  pen.textAlign = 'center';
  pen.font = pen.font.replace(/^.*?px/, '600 10px');
  for (const [text, middle, wide] of numbers) {
    if (high < 16 || wide < 7 * text.length + 2) { continue; }
    pen.lineJoin = 'round';
    pen.lineWidth = 3;
    pen.strokeStyle = '#fff';
    pen.strokeText(text, middle, top + high / 2 + 0.5);
    pen.fillStyle = '#1c2430';
    pen.fillText(text, middle, top + high / 2 + 0.5);
  }
  if (head) { paintName(pen, cell, nodes[0]); }
  pen.setLineDash(cordoned || !nodes.length ? [3, 2] : []);
  pen.lineWidth = exclusive ? 2.5 : 1;
  pen.strokeStyle = exclusive ? colours['--ink'] : cordoned || nodes.some((node) => node.used) ? colours['--quiet'] : colours['--line'];
  if (head) { pen.strokeRect(x + 0.5, top + 0.5, width - 1, high - 1); }
  pen.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
  pen.setLineDash([]);
  if (number === map.cell) {
    pen.lineWidth = 3;
    pen.strokeStyle = colours['--run'];
    pen.strokeRect(x - 1.5, y - 1.5, width + 3, height + 3);
  }
}

function paintName(pen, cell, node) {
  const [width, , head] = places.size;
  const [x, y] = cell;
  const middle = y + head / 2 + 1;
  const full = node ? `${Math.floor(node.taken * 100 + 1e-9)} % ${lastPart(node.of)}` : 'gone';
  pen.font = pen.font.replace(/^.*?px/, '600 11px');
  const name = places.nodes[cell[3]];
  const wide = pen.measureText(name).width;
  pen.font = pen.font.replace(/^.*?px/, '11px');
  pen.fillStyle = colours['--quiet'];
  pen.textAlign = 'right';
  const room = width - 12 - pen.measureText(full).width;
  if (wide <= room) { pen.fillText(full, x + width - 5, middle); }
  pen.font = pen.font.replace(/^.*?px/, '600 11px');
  pen.textAlign = 'left';
  pen.fillStyle = colours['--ink'];
  pen.fillText(fitText(pen, name, width - 10), x + 5, middle);
}

function paintFrame(pen, frame) {
  const [x, y, width, height, depth, label, first, count] = frame;
  pen.fillStyle = depth % 2 ? colours['--panel'] : colours['--back'];
  pen.fillRect(x, y, width, height);
  pen.lineWidth = 1;
  pen.strokeStyle = colours['--line'];
  pen.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
  const nodes = map.nodes.slice(first, first + count);
  const words = `${number(nodes.filter(isFree).length)} of ${number(nodes.filter((node) => node.there).length)} free`;
  pen.textBaseline = 'middle';
  pen.font = pen.font.replace(/^.*?px/, '11px');
  const beside = pen.measureText(words).width;
  pen.font = pen.font.replace(/^.*?px/, '600 11px');
  pen.textAlign = 'left';
  pen.fillStyle = colours['--ink'];
  const wide = pen.measureText(label).width;
  const called = wide <= width - 12 ? label : label.slice(label.indexOf('=') + 1);
  pen.fillText(fitText(pen, called, width - 12), x + 6, y + 10);
  if (wide + beside + 20 <= width) {
    pen.font = pen.font.replace(/^.*?px/, '11px');
    pen.textAlign = 'right';
    pen.fillStyle = colours['--quiet'];
    pen.fillText(words, x + width - 6, y + 10);
  }
}

function paintCluster() {
  if (map.at !== view.cursor) {
    const found = nodesAt(view.cursor);
    [map.at, map.nodes, map.counts] = [view.cursor, found.nodes, found.counts];
  }
  const canvas = byId('map');
  const room = byId('map-box').clientWidth - 4;
  map.scale = Math.max(0.75, Math.min(1.4, room / places.width));
  const [width, height] = [places.width * map.scale, (places.height + 6) * map.scale];
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const pen = prepare(canvas, width, height);
  pen.scale(map.scale, map.scale);
  pen.translate(2, 3);
  makePatterns(pen);
  places.frames.forEach((frame) => paintFrame(pen, frame));
  places.cells.forEach((cell, index) => paintCell(pen, cell, index));
  tellCluster();
}

/* The sentence above, the gangs beside, and the cell that was chosen. */
function tellCluster() {
  const there = map.nodes.filter((node) => node.there);
  const on = [...map.counts.keys()].filter((who) => who >= 0);
  const waiting = gangs.filter((gang) => !gang.single && isWaiting(gang, view.cursor))
    .sort((a, b) => order(a.number) - order(b.number));
  const sum = `At ${clock(view.cursor)}: ${number(there.filter(isFree).length)} of ${counted(there.length, 'node')} free;`
    + ` ${counted(on.length, 'gang')} on nodes, ${number(waiting.length)} waiting`;
  byId('cluster-sum').textContent = sum;
  const late = places.fullAt !== null && view.cursor >= places.fullAt;
  byId('cluster-late').hidden = !late;
  const key = JSON.stringify([on.map((who) => [who, map.counts.get(who).pods]), waiting.slice(0, MOST_WAITING).map((gang) => gang.number),
    waiting.length, [...map.counts.keys()], list.chosen && list.chosen.number]);
  if (key !== map.listed) {
    map.listed = key;
    listOnNodes(on, waiting);
  }
  byId('cell').textContent = map.cell < 0 ? '' : cellWords(places.cells[map.cell]);
}

function isWaiting(gang, time) {
  const state = stateAt(gang, time);
  return state !== OVER && state !== RUNNING;
}

/* The colour of a gang as a background. */
function swatch(who) {
  const box = element('i', who >= 0 ? String(places.marks[who][0]) : '', 'swatch');
  const slot = slotOf(who);
  box.style.backgroundColor = slot >= 0 ? PALETTE[slot % PALETTE.length] : who === -2 ? '#6f7a89' : '#aab3bf';
  box.classList.add(`over${slot >= 0 ? Math.floor(slot / PALETTE.length) : 0}`);
  return box;
}

function listOnNodes(on, waiting) {
  const box = byId('who');
  const focused = box.contains(document.activeElement) ? document.activeElement.dataset.row : undefined;
  box.replaceChildren();
  const head = element('div', undefined, 'row head');
  head.append(element('b', `On nodes: ${counted(on.length, 'gang')}`), element('span', 'pods'), element('span', 'hops'), element('span', 'lost'));
  box.append(head);
  const shown = on.slice().sort((a, b) => map.counts.get(b).nodes.size - map.counts.get(a).nodes.size || a - b).slice(0, MOST_ROWS);
  for (const who of shown.sort((a, b) => order(a) - order(b))) {
    const [, , hops, lost] = places.marks[who];
    box.append(rowOf(gangs[who], swatch(who), [
      `${map.counts.get(who).pods}/${gangs[who].min}`, hops < 0 ? '–' : String(hops), lost < 0 ? '–' : cores(lost),
    ]));
  }
  if (on.length > shown.length) { box.append(element('p', `and ${number(on.length - shown.length)} more`, 'quiet')); }
  for (const [who, words] of [[SINGLE, 'pods on their own'], [NO_ROW, 'gangs that have no bar'], [-2, 'others’ pods']]) {
    if (map.counts.has(who)) {
      const line = element('div', undefined, 'row');
      line.append(swatch(who), element('em', words), element('span', number(map.counts.get(who).pods)), element('span'), element('span'));
      box.append(line);
    }
  }
  box.append(element('b', waiting.length ? `Waiting: ${counted(waiting.length, 'gang')}` : 'No gang waits', 'head'));
  for (const gang of waiting.slice(0, MOST_WAITING)) {
    const since = gang.spans[spanAt(gang, view.cursor) + 1];
    box.append(rowOf(gang, element('i', String(places.marks[gang.number][0])), [`since ${clock(since)}`]));
  }
  if (waiting.length > MOST_WAITING) { box.append(element('p', `and ${number(waiting.length - MOST_WAITING)} more`, 'quiet')); }
  if (focused !== undefined) {
    const again = box.querySelector(`[data-row="${focused}"]`);
    if (again) { again.focus(); }
  }
}

function rowOf(gang, mark, cells) {
  const line = element('button', undefined, cells.length > 1 ? 'row' : 'row waits');
  line.type = 'button';
  line.dataset.row = gang.number;
  line.title = gang.title;
  line.setAttribute('aria-pressed', String(gang === list.chosen));
  line.append(mark, element('em', gang.title), ...cells.map((text) => element('span', text)));
  line.addEventListener('click', () => choose(gang === list.chosen ? null : gang, false));
  return line;
}

function cellWords(cell) {
  const { nodes, parts } = shares(cell);
  const name = cell[4] === 1 ? places.nodes[cell[3]] : `${cell[2] || `${places.nodes[cell[3]]} and those after it`}`;
  if (!nodes.length) { return `${name}: not there at this time`; }
  const free = cell[4] === 1 ? `${Math.floor(nodes[0].taken * 100 + 1e-9)} % of ${nodes[0].of || 'nothing'} taken`
    : `${number(nodes.filter(isFree).length)} of ${counted(nodes.length, 'node')} free`;
  const names = { [SINGLE]: 'pods on their own', [NO_ROW]: 'gangs that have no bar', [-2]: 'others' };
  const by = parts.slice(0, 8).map(([who, part]) => `${who >= 0 ? gangs[who].title : names[who]} ${Math.round(part * 100)} %`);
  const more = parts.length > 8 ? [`${parts.length - 8} more`] : [];
  const marks = [nodes.every((node) => node.exclusive) ? 'its gang’s alone' : '', nodes.every((node) => node.cordoned) ? 'cordoned' : ''];
  return [`${name}: ${free}`, ...by, ...more, ...marks.filter(Boolean)].join(' · ');
}

function cellAt(event) {
  const box = byId('map').getBoundingClientRect();
  const [x, y] = [(event.clientX - box.left) / map.scale - 2, (event.clientY - box.top) / map.scale - 3];
  const [width, height] = places.size;
  return places.cells.findIndex((cell) => x >= cell[0] && x < cell[0] + width && y >= cell[1] && y < cell[1] + height);
}

function chooseCell(cell) {
  if (map.cell !== cell) { map.cell = cell; changed(); }
}

/* The nearest cell in a direction. */
function stepCell(dx, dy) {
  if (map.cell < 0) { chooseCell(0); return; }
  const [x, y] = places.cells[map.cell];
  let best = null;
  places.cells.forEach((cell, index) => {
    const [along, across] = dx ? [(cell[0] - x) * dx, Math.abs(cell[1] - y)] : [(cell[1] - y) * dy, Math.abs(cell[0] - x)];
    const far = along + 4 * across;
    if (along > 0 && (!best || far < best.far)) { best = { index, far }; }
  });
  if (best) { chooseCell(best.index); }
}

function setUpCluster() {
  if (!places) {
    byId('cluster').hidden = data.figures.nodes === 0;
    byId('cluster-hint').textContent = 'There are too many nodes to draw.';
    byId('places').hidden = true;
    return;
  }
  const many = places.perCell > 1 ? ` There are many nodes: a cell is for up to ${places.perCell} of one domain.` : '';
  byId('cluster-hint').textContent = `${places.words}.${many} A cell is as full as the node’s scarcest resource is; dark frames are of`
    + ' exclusive gangs, dashed ones of nodes that are cordoned or gone. Hops are those of a gang’s last place, lost opportunity is that of all its placements, in cores’ worth.';
  byId('cluster-late').textContent = places.fullAt === null ? ''
    : `Too much happened for one page: who came to a node at or after ${clock(places.fullAt)} is not drawn.`;
  const canvas = byId('map');
  const moves = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
  byId('map-box').addEventListener('keydown', (event) => {
    if (event.key in moves) {
      event.preventDefault();
      stepCell(...moves[event.key]);
    } else if (event.key === 'Escape') {
      chooseCell(-1);
    } else if (event.key === 'Enter' && map.cell >= 0) {
      const of = shares(places.cells[map.cell]).parts.find(([who]) => who >= 0);
      if (of) { choose(gangs[of[0]] === list.chosen ? null : gangs[of[0]], false); }
    }
  });
  canvas.addEventListener('pointermove', (event) => chooseCell(cellAt(event)));
  canvas.addEventListener('pointerleave', () => chooseCell(-1));
  canvas.addEventListener('click', (event) => {
    const cell = places.cells[cellAt(event)];
    const of = cell && shares(cell).parts.find(([who]) => who >= 0);
    choose(of && gangs[of[0]] !== list.chosen ? gangs[of[0]] : null, false);
  });
  listeners.push(paintCluster);
}
