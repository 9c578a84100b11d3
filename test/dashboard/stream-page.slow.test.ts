import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, describe, expect, test } from 'vitest';
import { escapeHtml } from '../../reports/render/templates.ts';
import { reportsFixture } from '../support/reports-fixture.ts';
import { seededInvoices } from '../support/seeded-invoices.ts';
import { dashboardOver } from './support.ts';

const fixture = await reportsFixture(seededInvoices(3, 12));
afterAll(() => fixture.remove());

const READING = 'Reading the shipments; the result follows here.';
const NOTICE = /<div class="reading [^\n]*\n<div class="ready" hidden><\/div>\n/;

async function pageOf(path: string, streamAfterMs: number, timeLimitMs = 20_000) {
  const running = await dashboardOver(fixture.path, { streamAfterMs, timeLimitMs });
  try {
    const answer = await fetch(running.url + path);
    const parts: string[] = [];
    const text = new TextDecoder();
    for await (const part of answer.body ?? []) parts.push(text.decode(part, { stream: true }));
    return { answer, parts, html: parts.join('') };
  } finally {
    await running.close();
  }
}

describe('a page that is not there within a moment', () => {
  test.each(['/', '/reports/levels', '/reports/tenants?carrier=ups&p_limit='])(
    '%s is sent as it becomes known, and is the same in the end',
    async (path) => {
      const whole = await pageOf(path, 60_000);
      const streamed = await pageOf(path, 0);
      expect(streamed.answer.status).toBe(200);
      expect(streamed.parts.length).toBeGreaterThan(1);
      expect(streamed.parts[0]).toContain('aria-label="Pages"');
      expect(streamed.parts[0]).not.toContain('<figure');
      expect(streamed.html).toContain(READING);
      // Each drawing numbers what it draws; where the page was cut is of no matter.
      const plain = (html: string): string =>
        html.replace('<!-- body -->\n', '').replaceAll(/zr\d+-/g, 'zr-');
      expect(plain(streamed.html.replace(NOTICE, ''))).toBe(plain(whole.html));
      expect(whole.html).not.toContain(READING);
    },
  );

  test('sends its form before its rows', async () => {
    const { html } = await pageOf('/reports/tenants', 0);
    const places = ['<form class="filters"', READING, 'class="ready"', '<figure'].map((piece) =>
      html.indexOf(piece),
    );
    expect(places).toEqual(places.toSorted((one, other) => one - other));
    expect(places[0]).toBeGreaterThan(0);
  });

  test('is refused with its status before a query', async () => {
    for (const wrong of ['from=yesterday', 'by=moon', 'as_known_on=never']) {
      const { answer, html } = await pageOf(`/reports/tenants?${wrong}`, 0);
      expect(answer.status, wrong).toBe(400);
      expect(html, wrong).toContain(READING);
      expect(html).toContain('role="alert"');
      expect(html).toContain('<form class="filters"');
    }
  });

  test('is refused for an invalid order or pivot, as page and as JSON', async () => {
    const wrong: readonly (readonly [string, string])[] = [
      ['/reports/zones?sort=colour', 'There is no column &quot;colour&quot; to sort by'],
      ['/reports/cost?pivot=colour', 'cannot be put side by side by &quot;colour&quot;'],
      ['/reports/cost?p_by=colour', '&quot;colour&quot; is no value for by'],
    ];
    for (const [path, why] of wrong) {
      const { answer, html } = await pageOf(path, 0);
      expect([answer.status, html.includes(why)], path).toEqual([400, true]);
      expect(html).toContain('<form class="filters"');
      const json = await pageOf(`${path}&format=json`, 0);
      expect(json.answer.status, path).toBe(400);
      expect(escapeHtml(JSON.parse(json.html).error)).toContain(why);
    }
    expect((await pageOf('/reports/zones?sort=shipments', 0)).answer.status).toBe(200);
  });

  test('shows an error in place after the page began', async () => {
    const { html } = await pageOf('/reports/outliers', 0, 1);
    expect(html).toContain('was stopped after 0.001 s');
    expect(html.trimEnd().endsWith('</html>')).toBe(true);
  });

  test('may be aborted, and the dashboard closes', async () => {
    const running = await dashboardOver(fixture.path, { streamAfterMs: 0 });
    const left = new AbortController();
    const answer = await fetch(`${running.url}/reports/levels`, { signal: left.signal });
    await answer.body?.getReader().read();
    left.abort();
    expect((await fetch(`${running.url}/reports/levels`)).status).toBe(200);
    // Browsers open connections in advance that send nothing.
    const silent = connect(running.port, '127.0.0.1');
    silent.on('error', () => undefined);
    await once(silent, 'connect');
    const began = performance.now();
    await running.close();
    expect(performance.now() - began).toBeLessThan(20_000);
    silent.destroy();
  });
});
