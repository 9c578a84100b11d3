/**
 * Makes pages livelier where scripts run; everything works without. The color scheme is set before the page is drawn. Filters
 * apply when they change; another order or another page of a table replaces the one that is shown, without a reload; a bar or
 * point of a chart shows its value under the pointer or with the focus.
 */

const dark = matchMedia('(prefers-color-scheme: dark)');
const setScheme = () => {
  document.documentElement.dataset.bsTheme = dark.matches ? 'dark' : 'light';
};
setScheme();
dark.addEventListener('change', setScheme);

const IN_PLACE = 'main thead a, main nav.pages a';
const MARK = 'figure svg a[aria-label]';

document.addEventListener('click', (event) => {
  const link = event.target instanceof Element ? event.target.closest(IN_PLACE) : null;
  const isPlain = event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
  if (link === null || !isPlain || event.defaultPrevented) return;
  event.preventDefault();
  show(link.href, placeOf(link));
});
/** A filter that was changed applies at once, and the menu that it is in stays open. */
document.addEventListener('change', ({ target }) => {
  const form = target.closest('form.filters[method="get"]');
  if (form === null) return;
  const asked = new URLSearchParams(
    [...new FormData(form)].filter(([name, value]) => value !== '' || name === 'zone'),
  );
  const open = [...form.querySelectorAll('details[open]')].map(({ id }) => id);
  show(`${form.getAttribute('action')}?${asked}`, { open, id: target.id });
});
// Menus close like those of the system: with Escape, or when something else is clicked.
document.addEventListener('click', ({ target }) => {
  for (const menu of document.querySelectorAll('details.dropdown[open]'))
    if (!menu.contains(target)) menu.open = false;
});
document.addEventListener('keydown', (event) => {
  const menu = event.key === 'Escape' ? document.activeElement?.closest('details.dropdown[open]') : null;
  if (menu === null || menu === undefined) return;
  menu.open = false;
  menu.querySelector('summary').focus();
});
// The address of a page that is gone back to is there already.
window.addEventListener('popstate', () => show(location.href, null));

/** The newest request counts, however late an older one is answered. */
let requests = 0;

/** @param place of the link that was followed, which has the focus again when the page was changed; null: none was */
async function show(address, place) {
  requests += 1;
  const own = requests;
  const main = document.querySelector('main');
  main.setAttribute('aria-busy', 'true');
  try {
    const answer = await fetch(address, { headers: { accept: 'text/html' } });
    const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html').querySelector('main');
    if (own !== requests) return;
    if (!answer.ok || fresh === null) throw new Error(`The page was answered with ${answer.status}.`);
    const across = document.querySelector('.rows')?.scrollLeft ?? 0;
    main.replaceWith(document.adoptNode(fresh));
    if (place !== null) history.pushState(null, '', address);
    const rows = document.querySelector('.rows');
    if (rows !== null) rows.scrollLeft = across;
    if (place !== null) returnTo(place, rows);
  } catch {
    // The browser tells what is wrong better than a page that stays as it was.
    if (own === requests) location.assign(address);
  }
}

function placeOf(link) {
  const kind = link.closest('thead') ? 'main thead th' : 'main nav.pages a';
  const one = link.closest('th') ?? link;
  return { kind, index: [...document.querySelectorAll(kind)].indexOf(one), text: link.textContent };
}

function returnTo({ kind, index, text, open, id }, rows) {
  if (open !== undefined) {
    for (const each of open) document.getElementById(each)?.setAttribute('open', '');
    document.getElementById(id)?.focus({ preventScroll: true });
    return;
  }
  const all = [...document.querySelectorAll(kind)];
  const one = kind.endsWith('th') ? all[index]?.querySelector('a') : all.find((a) => a.textContent === text);
  if (kind.endsWith('a')) rows?.scrollIntoView();
  (one ?? all[0])?.focus({ preventScroll: true });
}

const tip = document.createElement('div');
tip.className = 'tip card p-1';
tip.hidden = true;
// The link's own name says the same to who does not see it.
tip.setAttribute('aria-hidden', 'true');
document.addEventListener('DOMContentLoaded', () => document.body.append(tip));

function tell(mark, { x, y }) {
  tip.textContent = mark.getAttribute('aria-label');
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(0, Math.min(x + 12, document.documentElement.clientWidth - width - 4))}px`;
  tip.style.top = `${y + 16 + height > window.innerHeight ? Math.max(0, y - height - 8) : y + 16}px`;
}

const markAt = ({ target }) => (target instanceof Element ? target.closest(MARK) : null);
document.addEventListener('pointermove', (event) => {
  const mark = markAt(event);
  if (mark === null) tip.hidden = true;
  else tell(mark, { x: event.clientX, y: event.clientY });
});
document.addEventListener('focusin', (event) => {
  const mark = markAt(event);
  if (mark === null) return;
  const { right, top } = mark.getBoundingClientRect();
  tell(mark, { x: right - 12, y: top });
});
document.addEventListener('focusout', () => {
  tip.hidden = true;
});
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') tip.hidden = true;
});
