/** Optional: every action works without scripts. */
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

// A refused form is the answer to a POST; fetching its address again would show another page.
if (document.querySelector('[data-live]') !== null && document.querySelector('.problem') === null) {
  setInterval(() => {
    // The sandbox may stop or restart; the next turn tries again.
    if (!document.hidden) refresh().catch(() => undefined);
  }, 2000);
}
const address = new URL(location.href);
if (address.searchParams.has('done')) {
  address.searchParams.delete('done');
  history.replaceState(null, '', address);
}
