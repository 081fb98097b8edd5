/* A page of something that goes on: it is drawn anew every second, and looks then as it did before. */

const KEPT = 'muster-live';
const AGAIN_MS = 1000;

function keptBefore() {
  try { return JSON.parse(sessionStorage.getItem(KEPT)) || {}; } catch { return {}; }
}

/* What is looked at. Who looks at the end of the time, or at all of it, goes on to. */
function keepView() {
  const focused = document.activeElement;
  sessionStorage.setItem(KEPT, JSON.stringify({
    follow: byId('follow').checked,
    cursor: view.cursor >= END ? null : view.cursor,
    from: view.from,
    to: view.to >= END ? null : view.to,
    which: byId('which').value, search: byId('search').value, same: byId('same-scale').checked,
    chosen: list.chosen ? [list.chosen.title, list.chosen.submitted] : null,
    /* By their names: a queue more changes the numbers. */
    closed: [...list.closed].map((queue) => data.queues[queue].name),
    focus: focused ? focused.id : '',
    top: window.scrollY, bars: byId('gangs').scrollTop,
  }));
}

function showAsBefore() {
  const before = keptBefore();
  if (before.follow === undefined) { setCursor(END); return; }
  byId('follow').checked = before.follow;
  const told = (id, property, value, event) => {
    if (byId(id)[property] === value) { return; }
    byId(id)[property] = value;
    byId(id).dispatchEvent(new Event(event));
  };
  const closed = new Set(before.closed);
  list.closed = new Set(data.queues.keys().filter((queue) => closed.has(data.queues[queue].name)));
  told('which', 'value', before.which, 'change');
  told('search', 'value', before.search, 'input');
  told('same-scale', 'checked', before.same, 'change');
  setView(before.from, before.to === null ? END : before.to);
  setCursor(before.cursor === null ? END : before.cursor);
  const chosen = before.chosen || [];
  const gang = gangs.find((one) => one.title === chosen[0] && one.submitted === chosen[1]);
  if (gang) { choose(gang, false); }
  listGangs();
  if (before.focus && byId(before.focus)) { byId(before.focus).focus({ preventScroll: true }); }
  window.scrollTo(0, before.top);
  byId('gangs').scrollTop = before.bars;
}

function setUpLive() {
  byId('live').hidden = false;
  showAsBefore();
  let held = false;
  document.addEventListener('pointerdown', () => { held = true; });
  for (const end of ['pointerup', 'pointercancel']) {
    document.addEventListener(end, () => { held = false; });
  }
  byId('follow').addEventListener('change', keepView);
  const busy = () => held || document.hidden || !byId('follow').checked
    || byId('play').getAttribute('aria-pressed') === 'true' || String(window.getSelection());
  /* A page that cannot be loaded again would be lost, so it is asked before whether anybody answers. */
  const again = async () => {
    if (!busy()) {
      const answer = await fetch('/healthz', { cache: 'no-store' }).catch(() => null);
      byId('live-state').textContent = answer && answer.ok ? '' : 'nobody answers any more: this is how it was last';
      if (answer && answer.ok && !busy()) {
        keepView();
        location.reload();
        return;
      }
    }
    setTimeout(again, AGAIN_MS);
  };
  setTimeout(again, AGAIN_MS);
}
