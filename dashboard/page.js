/**
 * Pages work without scripts; these replace tables without a reload, apply changed filters and show the
 * values of charts.
 */

const dark = matchMedia('(prefers-color-scheme: dark)');
const IN_PLACE = 'main thead a, main nav.pages a';

document.addEventListener('click', (event) => {
  const link = event.target instanceof Element ? event.target.closest(IN_PLACE) : null;
  const isPlain = event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
  if (link === null || !isPlain || event.defaultPrevented) return;
  event.preventDefault();
  show(link.href, { text: link.textContent });
});
document.addEventListener('change', ({ target }) => {
  const form = target.closest('form.filters[method="get"]');
  if (form === null) return;
  const fields = new URLSearchParams(
    [...new FormData(form)].filter(([name, value]) => value !== '' || name === 'zone'),
  );
  const open = [...form.querySelectorAll('details[open]')].map(({ id }) => id);
  show(`${form.getAttribute('action')}?${fields}`, { open, id: target.id });
});
function addCopyButtons() {
  for (const code of document.querySelectorAll('code[data-copy]')) {
    const button = Object.assign(document.createElement('button'), { type: 'button', textContent: 'Copy' });
    button.className = 'btn btn-sm btn-ghost-secondary py-0';
    button.setAttribute('aria-label', `Copy ${code.dataset.copy}`);
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(code.dataset.copy);
      button.textContent = 'Copied';
    });
    code.after(' ', button);
  }
}
/** On a narrow screen a row becomes a block, whose cells have the labels of their columns (dashboard.css). */
function prepareTables() {
  for (const table of document.querySelectorAll('main table.card-table')) {
    const heads = [...table.querySelectorAll('thead th')];
    table.classList.add('stacks');
    for (const row of table.querySelectorAll('tbody tr, tfoot tr'))
      for (const [at, cell] of [...row.children].entries()) {
        cell.dataset.label = heads[at]?.innerText ?? '';
        if (cell.innerText.trim() === '' && cell.querySelector('input, svg') === null)
          cell.className += ' blank';
      }
    const box = table.querySelector('tbody input[type="checkbox"][form]');
    if (box === null || heads[0].querySelector('input') !== null) continue;
    const all = Object.assign(document.createElement('input'), { type: 'checkbox' });
    all.className = 'form-check-input';
    all.setAttribute('aria-label', 'Tick all');
    all.addEventListener('change', () => {
      for (const each of table.querySelectorAll('tbody input[type="checkbox"][form]'))
        each.checked = all.checked;
    });
    heads[0].replaceChildren(all);
  }
}
const prepare = () => {
  addCopyButtons();
  prepareTables();
};
prepare();
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
window.addEventListener('popstate', () => show(location.href, null));

/** Counts the requests, because only the answer of the newest one is shown. */
let requests = 0;

/** @param place the element that receives the focus; null after a step back in the browser, whose address is already current */
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
    for (const { chart } of charts) chart.dispose();
    charts.clear();
    main.replaceWith(document.adoptNode(fresh));
    prepare();
    if (place !== null) history.pushState(null, '', address);
    const rows = document.querySelector('.rows');
    if (rows !== null) rows.scrollLeft = across;
    if (place !== null) returnTo(place, rows);
  } catch {
    if (own === requests) location.assign(address);
  }
}

function returnTo({ text, open = [], id }, rows) {
  for (const each of open) document.getElementById(each)?.setAttribute('open', '');
  const links = [...document.querySelectorAll(IN_PLACE)];
  const link = links.find(({ textContent }) => textContent === text) ?? links[0];
  if (text !== undefined && link?.closest('nav')) rows?.scrollIntoView();
  (document.getElementById(id) ?? link)?.focus({ preventScroll: true });
}

/**
 * The first pointer or focus on a chart loads the library, which draws the same options over the server's
 * drawing. The drawing below stays for the keyboard and screen readers.
 */
const charts = new Set();
let library;
const loadLibrary = () => {
  library ??= new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = document.querySelector('script[data-charts]').dataset.charts;
    script.onload = () => resolve(window.echarts);
    script.onerror = reject;
    document.head.append(script);
  });
  return library;
};

/** A canvas cannot resolve the colors of the style sheet. */
function optionOf(holder) {
  const probe = holder.appendChild(document.createElement('span'));
  const resolved = (color) => {
    probe.style.color = color;
    return getComputedStyle(probe).color;
  };
  const option = JSON.parse(holder.dataset.chart.replace(/var\(--[\w-]+\)|currentColor/g, resolved));
  const box = { backgroundColor: 'var(--tblr-bg-surface)', borderColor: 'var(--line)' };
  for (const name of Object.keys(box)) option.tooltip[name] = resolved(box[name]);
  option.tooltip.textStyle = { color: resolved('currentColor') };
  option.tooltip.formatter = valuesOf;
  probe.remove();
  return option;
}

function valuesOf(points) {
  const list = document.createElement('div');
  const seen = new Set();
  for (const { data, axisValue, color, seriesName } of [points].flat()) {
    if (data.exact === undefined || seen.has(seriesName)) continue;
    seen.add(seriesName);
    if (list.children.length === 0)
      list.appendChild(document.createElement('strong')).textContent = axisValue ?? data.name;
    const row = list.appendChild(document.createElement('div'));
    const dot = row.appendChild(document.createElement('span'));
    dot.className = 'badge badge-dot me-2';
    dot.style.background = color;
    row.append(seriesName.startsWith('series') ? '' : `${seriesName} `, data.exact);
  }
  return list;
}

async function enliven(holder) {
  if (holder.isLive) return;
  holder.isLive = true;
  const echarts = await loadLibrary();
  const canvas = holder.appendChild(document.createElement('div'));
  canvas.className = 'canvas';
  canvas.setAttribute('aria-hidden', 'true');
  const chart = echarts.init(canvas);
  holder.chart = chart;
  chart.setOption(optionOf(holder));
  chart.on('click', ({ data, event: { event } }) => {
    if (data?.address) window.open(data.address, event.ctrlKey || event.metaKey ? '_blank' : '_self');
  });
  charts.add(holder);
  new ResizeObserver(() => chart.resize()).observe(holder);
}
dark.addEventListener('change', () => {
  for (const holder of charts) holder.chart.setOption(optionOf(holder));
});

const holderOf = ({ target }) => (target instanceof Element ? target.closest('[data-chart]') : null);
document.addEventListener('pointerover', (event) => {
  const holder = holderOf(event);
  if (holder !== null) enliven(holder);
});
/** A focused mark shows the same as the pointer. */
document.addEventListener('focusin', async (event) => {
  const holder = holderOf(event);
  if (holder === null) return;
  await enliven(holder);
  const mark = event.target.querySelector('[ecmeta_data_index]');
  const place = ['series', 'data'].map((of) => [
    `${of}Index`,
    Number(mark.getAttribute(`ecmeta_${of}_index`)),
  ]);
  if (document.activeElement === event.target)
    holder.chart.dispatchAction({ type: 'showTip', ...Object.fromEntries(place) });
});
const hideTips = () => {
  for (const { chart } of charts) chart.dispatchAction({ type: 'hideTip' });
};
document.addEventListener('focusout', hideTips);
document.addEventListener('keydown', ({ key }) => {
  if (key === 'Escape') hideTips();
});
