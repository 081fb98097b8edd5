/* The page as a whole: its figures, the time, the queues, and what the reader does. */

function tile(title, big, more, wide) {
  const box = element('div', undefined, wide ? 'wide' : '');
  box.append(element('dt', title));
  if (big !== null) { box.append(element('dd', big, 'big')); }
  if (more) { box.append(element('dd', more, 'more')); }
  byId('figures').append(box);
  return box;
}

function setUpFigures() {
  const figures = data.figures;
  document.title = data.live ? data.title : `${data.title} – muster simulate`;
  byId('title').textContent = data.title;
  const all = figures.gangs + figures.singles;
  byId('subtitle').textContent = [
    `${clock(data.end)} played`, counted(figures.nodes, 'node'), counted(data.queues.length, 'queue'),
    figures.gangs ? counted(figures.gangs, 'gang') : '',
    figures.singles ? counted(figures.singles, 'single pod') : '',
  ].filter(Boolean).join(' · ');
  const span = (seconds) => (seconds === null ? '–' : clock(Math.round(seconds * 1000)));
  tile('Started', number(figures.started), `of ${counted(all, 'gang or single pod', 'gangs and single pods')}`);
  tile('Wait of half of the pods', span(figures.waitP50), `99 of 100 waited at most ${span(figures.waitP99)}`);
  tile('Evictions', number(figures.evictions), `${counted(figures.preempted, 'gang')} preempted`);
  tile('Makespan', span(figures.makespan), 'from the first submission to the last end');
  const used = Object.entries(figures.utilisation).filter(([resource]) => resource !== 'pods');
  const box = tile('Used, as the mean over time', null, '', true);
  for (const [resource, ratio] of used) {
    const line = element('dd', undefined, 'meter');
    const bar = element('span');
    const fill = element('i');
    fill.style.width = `${Math.min(100, ratio * 100)}%`;
    bar.append(fill);
    const label = element('em', resource);
    label.title = resource;
    line.append(label, bar, element('b', `${Math.round(ratio * 100)} %`));
    box.append(line);
  }
  if (!used.length) { box.append(element('dd', '–', 'big')); }
  if (data.violations.length) {
    const alarm = byId('violations');
    alarm.hidden = false;
    alarm.append(element('b', 'This is a bug in Muster, and nothing of this page can be trusted:'));
    const lines = element('ul');
    data.violations.slice(0, 20).forEach((one) => lines.append(element('li', one)));
    alarm.append(lines);
  }
  const left = data.leftOut;
  const notes = [];
  if (left.gangs) {
    notes.push(`There are too many gangs for one page: ${number(left.gangs)} have no bar, first of all those`
      + ' that were never disturbed and started soonest. All figures, counts and curves include them.');
  }
  if (left.curves) { notes.push(`${counted(left.curves, 'queue')} that used the least have no curve.`); }
  if (left.merged) {
    notes.push(`Where curves change often, changes within ${clock(left.merged)} are merged to their`
      + ' first, last, least and most.');
  }
  byId('half-life').textContent = onAxis(data.halfLife);
  byId('left-out').textContent = notes.join(' ');
  const origin = data.live ? `Made by ${data.title} ${data.version}. Times are counted from its beginning.`
    : `Made by muster simulate ${data.version} with seed ${data.seed}. Times are virtual.`;
  byId('origin').textContent = `${origin} Keys: + and - zoom, 0 shows the whole time, arrow keys move what has the focus.`;
}

/* One line for each queue; of more than so many, some at a time are in sight. */
const queueRows = [];
const MANY_QUEUES = 16;

function depthOf(queue) {
  let depth = 0;
  for (let at = queue; at.parent !== null && depth < 16; at = data.queues[at.parent]) { depth += 1; }
  return depth;
}

function setUpQueues() {
  const box = byId('queues');
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const row = queueRows[Number(entry.target.dataset.row)];
      row.inSight = entry.isIntersecting;
      /* What is out of sight keeps no pixels. */
      if (!row.inSight) { row.canvas.width = 0; row.canvas.height = 0; }
    }
    changed();
  }, { rootMargin: '200px' });
  for (const queue of data.queues) {
    if (!queue.t) { continue; }
    const line = element('div', undefined, 'lane queue');
    line.dataset.row = queueRows.length;
    const label = element('div', undefined, 'label');
    const title = element('h3', queue.name);
    title.title = queue.name;
    label.style.paddingLeft = `${Math.min(4, depthOf(queue)) * 14}px`;
    const tier = queue.tier ? `, tier ${queue.tier}` : '';
    title.append(element('small', queue.declared ? `  weight ${queue.weight}${tier}` : '  not declared'));
    const [books, counts] = [element('div'), element('div', undefined, 'quiet')];
    label.append(title, books, counts);
    const canvas = element('canvas');
    canvas.setAttribute('role', 'img');
    const most = Math.max(highest(queue.u), highest(queue.s), highest(queue.f));
    canvas.setAttribute('aria-label', `Queue ${queue.name} over time: usage at most ${cores(highest(queue.u))},`
      + ` fair share at most ${cores(highest(queue.s))} cores' worth`);
    scrub(canvas);
    line.append(label, canvas);
    box.append(line);
    queueRows.push({ queue, canvas, books, counts, most, inSight: false });
    watcher.observe(line);
  }
  box.classList.toggle('many', queueRows.length > MANY_QUEUES);
  const mostOfAll = roundUp(highest(queueRows.map((row) => row.most)));
  const same = byId('same-scale');
  same.addEventListener('change', changed);
  listeners.push(() => {
    for (const row of queueRows) {
      if (!row.inSight) { continue; }
      const now = booksAt(row.queue, view.cursor);
      row.books.textContent = `uses ${cores(now.usage)} of ${cores(now.share)}, flow ${cores(now.flow)}`;
      const counts = countsAt(row.queue, view.cursor);
      row.counts.textContent = `${number(counts.waiting)} wait · ${number(counts.running)} run`;
      paintQueue(row.canvas, row.queue, same.checked ? mostOfAll : roundUp(row.most));
    }
  });
}

/* Pressing and dragging on a canvas moves the time. */
function scrub(canvas) {
  const move = (event) => {
    const box = canvas.getBoundingClientRect();
    setCursor(scaleOf().time(event.clientX - box.left));
  };
  canvas.addEventListener('pointerdown', (event) => { canvas.setPointerCapture(event.pointerId); move(event); });
  canvas.addEventListener('pointermove', (event) => { if (event.buttons & 1) { move(event); } });
  canvas.addEventListener('wheel', wheel, { passive: false });
}

/* With Ctrl the wheel zooms, with Shift or sideways it moves; else the page scrolls. */
function wheel(event) {
  const box = event.currentTarget.getBoundingClientRect();
  const left = event.currentTarget.id === 'bars' ? leftWidth() : 0;
  const scale = scaleOf();
  if (event.ctrlKey || event.metaKey) {
    event.preventDefault();
    zoom(Math.pow(1.002, event.deltaY), scale.time(event.clientX - box.left - left));
  } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    event.preventDefault();
    const by = (event.deltaX || event.deltaY) * (scale.to - scale.from) / scale.pixels;
    setView(view.from + by, view.to + by);
  }
}

/* On the strip of the whole time a click chooses a moment, and dragging a stretch. */
function setUpOverview() {
  const canvas = byId('overview');
  let drag = null;
  const timeAt = (event) => {
    const box = canvas.getBoundingClientRect();
    return Math.min(END, Math.max(0, scaleOf(0, END).time(event.clientX - box.left)));
  };
  canvas.addEventListener('pointerdown', (event) => {
    canvas.setPointerCapture(event.pointerId);
    drag = { from: timeAt(event), to: timeAt(event), x: event.clientX };
  });
  canvas.addEventListener('pointermove', (event) => {
    if (!drag) { return; }
    drag.to = timeAt(event);
    drag.wide = drag.wide || Math.abs(event.clientX - drag.x) > 5;
    changed();
  });
  const end = (event) => {
    if (!drag) { return; }
    const { from, to, wide } = drag;
    drag = null;
    if (wide && event.type === 'pointerup') {
      setView(Math.min(from, to), Math.max(from, to));
    } else if (event.type === 'pointerup') {
      setCursor(from);
    }
    changed();
  };
  canvas.addEventListener('pointerup', end);
  canvas.addEventListener('pointercancel', end);
  scrub(byId('axis'));
  listeners.push(() => {
    const chosen = drag && drag.wide ? [Math.min(drag.from, drag.to), Math.max(drag.from, drag.to)] : null;
    paintOverview(canvas, chosen);
    paintAxis(byId('axis'));
  });
}

/* The time that is chosen, and what holds then. */
function setUpTime() {
  const slider = byId('slider');
  slider.max = END;
  slider.addEventListener('input', () => setCursor(Number(slider.value)));
  slider.addEventListener('keydown', (event) => {
    const span = view.to - view.from;
    const moves = {
      ArrowRight: span / 200, ArrowUp: span / 200, ArrowLeft: -span / 200, ArrowDown: -span / 200,
      PageUp: span / 20, PageDown: -span / 20,
    };
    if (event.key in moves) {
      event.preventDefault();
      const by = Math.sign(moves[event.key]) * Math.max(1, Math.abs(moves[event.key]));
      setCursor(view.cursor + by);
    }
  });
  const [used, counts] = [element('div'), element('div', undefined, 'quiet')];
  const key = (name, line) => { line.append(element('i', undefined, `key ${name}`), ' ', element('span')); return line.lastChild; };
  const [usedText, countsText] = [key('use', used), key('wait', counts)];
  byId('cluster-label').append(used, counts);
  listeners.push(() => {
    slider.value = view.cursor;
    byId('now').textContent = clock(view.cursor);
    const now = booksAt(data.cluster, view.cursor);
    const found = countsAt(data.cluster, view.cursor);
    const part = now.share ? ` (${Math.round((now.usage / now.share) * 100)} %)` : '';
    usedText.textContent = `uses ${cores(now.usage)} of ${cores(now.share)}${part}`;
    countsText.textContent = `${number(found.waiting)} wait · ${number(found.running)} run`;
    slider.setAttribute('aria-valuetext', `${clock(view.cursor)}: ${counted(found.waiting, 'gang')} wait,`
      + ` ${number(found.running)} run, ${usedText.textContent} cores' worth`);
  });
}

/* Plays what is looked at in half a minute. */
const PLAY_MS = 30000;

function setUpPlay() {
  const button = byId('play');
  let playing = false;
  let last = 0;
  const stop = () => {
    playing = false;
    button.textContent = 'Play';
    button.setAttribute('aria-pressed', 'false');
  };
  const frame = (at) => {
    if (!playing) { return; }
    const by = ((view.to - view.from) * Math.min(at - last, 100)) / PLAY_MS;
    last = at;
    exact = Math.min(view.to, exact + by);
    if (Math.abs(view.cursor - exact) > Math.max(2, 3 * by)) { exact = view.cursor; }
    setCursor(exact);
    if (exact >= view.to) { stop(); return; }
    requestAnimationFrame(frame);
  };
  let exact = 0;
  button.addEventListener('click', () => {
    if (playing) { stop(); return; }
    playing = true;
    button.textContent = 'Pause';
    button.setAttribute('aria-pressed', 'true');
    const inside = view.cursor >= view.from && view.cursor < view.to;
    exact = inside ? view.cursor : view.from;
    setCursor(exact);
    last = performance.now();
    requestAnimationFrame(frame);
  });
}

function setUpKeys() {
  const around = () => (view.cursor >= view.from && view.cursor <= view.to ? view.cursor : (view.from + view.to) / 2);
  const acts = {
    '+': () => zoom(0.5, around()), '=': () => zoom(0.5, around()), '-': () => zoom(2, around()),
    0: () => setView(0, END),
  };
  byId('zoom-in').addEventListener('click', acts['+']);
  byId('zoom-out').addEventListener('click', acts['-']);
  byId('zoom-all').addEventListener('click', acts['0']);
  document.addEventListener('keydown', (event) => {
    const writes = event.target.matches('input[type="search"], select');
    if (!writes && !event.ctrlKey && !event.metaKey && !event.altKey && event.key in acts) {
      event.preventDefault();
      acts[event.key]();
    }
  });
  byId('bars').addEventListener('wheel', wheel, { passive: false });
}

/* What the bars mean. */
function setUpLegend() {
  const kinds = STATES.map((state, index) => ({ ...state, index })).filter(({ index }) => index !== OVER);
  const used = new Set();
  for (const gang of gangs) {
    for (let at = 0; at < gang.spans.length; at += 3) { used.add(gang.spans[at]); }
  }
  const marks = new Set(gangs.flatMap((gang) => marksOf(gang).map((mark) => mark.kind)));
  const entries = kinds.filter(({ index }) => index === WAITING || index === RUNNING || used.has(index))
    .map(({ words, index }) => [words, (pen) => paintSpan(pen, index, 1, 24, -2, 1)])
    .concat([...marks].sort().map((kind) => [MARKS[kind].words, (pen) => paintMark(pen, kind, 13, 8)]));
  for (const [words, draw] of entries) {
    const line = element('li');
    const canvas = element('canvas');
    line.append(canvas, words);
    byId('states').append(line);
    const paint = () => draw(prepare(canvas, 26, 14));
    legendPainters.push(paint);
  }
}
const legendPainters = [];

/* The box of bars is as high as they need, and no higher than the window. */
function fitBox() {
  const most = Math.max(240, Math.round(window.innerHeight * 0.62));
  const height = Math.min(most, list.height + 10);
  byId('gangs').style.height = `${Math.max(60, height)}px`;
}

function begin() {
  readColours();
  setUpFigures();
  setUpTime();
  setUpOverview();
  setUpCluster();
  setUpQueues();
  setUpGangs();
  setUpLegend();
  setUpPlay();
  setUpKeys();
  listGangs();
  const again = () => {
    readColours();
    listGangs();
    fitBox();
    legendPainters.forEach((paint) => paint());
    changed();
  };
  window.addEventListener('resize', again);
  window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', again);
  again();
  if (data.live) { setUpLive(); }
}

begin();
