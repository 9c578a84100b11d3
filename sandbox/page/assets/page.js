/** Optional: every action works without scripts. */
const POLL_MS = 2000;
const base = document.body.dataset.base ?? '';

async function lastSequence(after) {
  const answer = await fetch(`${base}/admin/activity?after=${after}`, {
    headers: { accept: 'application/json' },
  });
  if (!answer.ok) return after;
  return (await answer.json()).at(-1)?.sequence ?? after;
}

async function refresh() {
  const answer = await fetch(location.href, { headers: { accept: 'text/html' } });
  if (!answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
  for (const region of document.querySelectorAll('[data-live]')) {
    const next = fresh.querySelector(`[data-live="${region.dataset.live}"]`);
    if (next !== null && !region.contains(document.activeElement) && next.innerHTML !== region.innerHTML) {
      region.replaceChildren(...next.childNodes);
    }
  }
}

async function watch() {
  let seen = Number(document.body.dataset.sequence);
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    if (document.hidden) continue;
    try {
      const latest = await lastSequence(seen);
      if (latest === seen) continue;
      seen = latest;
      await refresh();
    } catch {
      // The sandbox stops or restarts; the next turn tries again.
    }
  }
}

function searchFaults(field) {
  field.closest('[hidden]')?.removeAttribute('hidden');
  field.addEventListener('input', () => {
    const parts = field.value.toLowerCase().split(/\s+/);
    for (const fault of document.querySelectorAll('[data-text]')) {
      const text = fault.dataset.text.toLowerCase();
      fault.hidden = !parts.every((part) => text.includes(part));
    }
    for (const group of document.querySelectorAll('.group')) {
      group.hidden = group.querySelector('[data-text]:not([hidden])') === null;
    }
  });
}

const field = document.querySelector('[data-filters="faults"]');
if (field !== null) searchFaults(field);
// A refused form is the answer to a POST; fetching its address again would show another page.
if (document.querySelector('[data-live]') !== null && document.querySelector('.problem') === null)
  void watch();
const address = new URL(location.href);
if (address.searchParams.has('done')) {
  address.searchParams.delete('done');
  history.replaceState(null, '', address);
}
