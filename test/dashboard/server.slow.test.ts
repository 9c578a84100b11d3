import { rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { AdminPasswordMissingError } from '../../dashboard/admin-guard.ts';
import { AdminPortTakenError } from '../../dashboard/probes.ts';
import { acknowledgeAlerts } from '../../lib/alerts/alert-store.ts';
import { createAlerts } from '../../lib/alerts/alerts.ts';
import { createHealth } from '../../lib/health/health.ts';
import { listReports } from '../../reports/catalogue.ts';
import { INJECTIONS } from '../support/attack.ts';
import { testFolder } from '../support/folders.ts';
import { anInvoice, aShipment, reportsFixture } from '../support/reports-fixture.ts';
import { seededInvoices } from '../support/seeded-invoices.ts';
import { runOnFile } from '../warehouse/support.ts';
import { alertSettings } from '../webhook/a-delivery.ts';
import { dashboardOver, SILENT } from './support.ts';

const parked = anInvoice([], {
  number: 'INV-STUCK',
  state: 'needs_attention',
  reason: 'Line 7: "<b>1,5</b>" is no amount.',
});
const awaited = anInvoice([], { number: 'INV-AWAITED', state: 'draft', proof: null });

const fixture = await reportsFixture([...seededInvoices(8, 60), parked, awaited]);
const dashboard = await dashboardOver(fixture.path, {
  admin: { temporalUi: 'http://temporal.example/namespaces/default/' },
});
afterAll(async () => {
  await dashboard.close();
  await fixture.remove();
});

const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(dashboard.url + path, { headers, redirect: 'manual' });

describe('an unhealthy component', () => {
  test('is shown above every page with component, time and reason', async () => {
    const health = createHealth(() => new Date('2026-03-01T08:00:00Z'));
    const over = await dashboardOver(fixture.path, { health });
    try {
      const read = async (path: string) => (await fetch(over.url + path)).text();
      expect(await read('/invoices')).not.toContain('class="unhealthy');
      health.set('temporal', { isHealthy: false, detail: '10.0.0.1:7233 does not answer' });
      for (const path of ['/', '/invoices', '/reports', '/alerts', '/quarantine', '/nowhere']) {
        expect(await read(path)).toMatch(
          /class="unhealthy [^"]*".*<strong>temporal<\/strong> since 2026-03-01 08:00.*10\.0\.0\.1:7233 does not answer/,
        );
      }
    } finally {
      await over.close();
    }
  });

  test('is listed with the remedy and the invoice', async () => {
    expect(await (await get('/alerts')).text()).toContain('No open alerts.');
    const alerts = createAlerts({
      settings: { alerts: alertSettings(), environment: 'test' },
      ...{ log: SILENT, scrub: (text: string) => text, store: { dataDir: fixture.folder, role: 'worker' } },
      now: () => new Date('2026-03-01T08:00:00Z'),
    });
    alerts.raise({
      key: `totals/${parked.id}`,
      title: `Totals of ${parked.id} differ`,
      detail: 'Ask the service.',
    });
    alerts.raise({ key: 'disk/full', title: 'The disk is nearly full', detail: 'Make room.' });
    const others = `${parked.id} (loadInvoice: no room); event 00000000-0000-4000-8000-00000000000f.`;
    alerts.raise({ key: 'retries', title: 'Work keeps failing', detail: others });
    await alerts.close();
    const page = await (await get('/alerts')).text();
    // One that is about many links to each invoice that it names, and to nothing that is none.
    expect(page.split(`<a href="/invoices/${parked.id}">INV-STUCK</a>`)).toHaveLength(3);
    expect(page).not.toContain('/invoices/00000000-0000-4000-8000-00000000000f');
    expect(page).toMatch(/Totals of INV-STUCK differ.*2026-03-01 08:00[\s\S]*Ask the service\./);
    expect(page).toContain(`<a href="/invoices/${parked.id}">INV-STUCK</a>, ${parked.tenant}`);
    expect(page).toMatch(/<a class="[^"]+" href="\/runbook#disk-full">What to do<\/a>/);
    const runbook = await (await get('/runbook')).text();
    expect(runbook).toMatch(/<h2 id="disk-full">disk\/full<\/h2>[\s\S]*<code>df -h<\/code>/);
    expect(runbook).not.toContain('undefined');
    const seen = { at: '2026-03-01T09:00:00Z', by: 'anna', note: 'asked them' };
    await acknowledgeAlerts(fixture.folder, ['disk/full', `totals/${parked.id}`], seen);
    const acknowledged = await (await get('/alerts')).text();
    expect(acknowledged).toContain('by anna, 2026-03-01 09:00:00 UTC: asked them');
    // Nothing but a person ends a notice, and one has.
    expect(acknowledged).not.toContain('Totals of');
    alerts.resolve('disk/full');
    await alerts.close();
    expect(await (await get('/alerts')).text()).not.toContain('nearly full');
    await rm(join(fixture.folder, 'user', 'alerts.json'));
  });
});

describe('every page', () => {
  test('leaves unknown values empty', async () => {
    const [, id] =
      /href="\/invoices\/([0-9a-f-]{36})"/.exec(
        await (await get('/invoices?state=needs_attention')).text(),
      ) ?? [];
    for (const path of [
      '/',
      '/invoices?state=draft',
      '/invoices?state=needs_attention',
      `/invoices/${id}`,
      '/events',
      '/quarantine',
      '/health',
      '/reports',
    ]) {
      const page = await (await get(path)).text();
      expect(page, path).not.toMatch(/>[^<]*\b(null|undefined|NaN|\[object Object\])\b[^<]*</);
    }
  });
});

describe('the overview', () => {
  test('counts in each tile the rows of the list behind it', async () => {
    const page = await (await get('/')).text();
    const tiles = [
      ...page.matchAll(
        /<a class="card[^"]*" href="([^"]+)"><div class="card-body"><strong[^>]*>([\d,]+)<\/strong>/g,
      ),
    ];
    const counted: Record<string, number> = {};
    const listed: Record<string, number> = {};
    for (const [, href = '', number = ''] of tiles) {
      counted[href] = Number(number.replace(',', ''));
      const list = await (await get(href.replaceAll('&amp;', '&'))).text();
      const text = /<p[^>]*>([\d,]+) invoices?\.<\/p>/.exec(list)?.[1];
      const rows = list.split('<tbody>')[1]?.split('</tbody>')[0]?.match(/<tr/g)?.length ?? 0;
      listed[href] = text === undefined ? rows : Number(text.replace(',', ''));
    }
    expect(listed).toEqual(counted);
    expect(Object.keys(counted)).toEqual(expect.arrayContaining(['/invoices?state=loaded', '/reports/gaps']));
  });
});

describe('invoices', () => {
  test('are filtered, searched, sorted and paged by the address', async () => {
    const all = await (await get('/invoices')).text();
    expect(all).toContain('62 invoices.');
    expect(all.match(/<tr><td/g)).toHaveLength(50);
    const second = /href="(\/invoices\?page=2)" rel="next"/.exec(all)?.[1] ?? '';
    expect((await (await get(second)).text()).match(/<tr><td/g)).toHaveLength(12);
    expect(await (await get('/invoices?state=voided')).text()).toContain('5 invoices.');
    const found = await (await get('/invoices?search=inv-stuck&sort=cost')).text();
    expect(found).toContain('1 invoice.');
    expect(found).toContain('value="inv-stuck"');
  });

  test('show an invoice with its facts, history and workflow', async () => {
    const [, id = ''] =
      /href="\/invoices\/([0-9a-f-]{36})"/.exec(await (await get('/invoices?state=loaded')).text()) ?? [];
    const page = await (await get(`/invoices/${id}`)).text();
    expect(page).toContain(
      `http://temporal.example/namespaces/default/workflows/${encodeURIComponent(`invoice/test/partner-1/${id}`)}`,
    );
    expect(page).toMatch(/loaded: \d+ shipments, -?[\d.]+ (USD|EUR)</);
    expect((await get('/invoices/unknown')).status).toBe(404);
  });
});

describe('reports', () => {
  test('have a form, downloads and rows each', async () => {
    for (const report of listReports()) {
      const answer = await fetch(`${dashboard.url}/reports/${report.name}`);
      expect(answer.status, report.name).toBe(200);
      const page = await answer.text();
      const isPreset = answer.redirected;
      if (isPreset) expect(answer.url).toMatch(/\/reports\/cost\?p_by=(tenant|carrier|zone)$/);
      for (const parameter of report.parameters) {
        expect(page).toContain(`name="p_${parameter.name}"`);
        for (const choice of parameter.choices ?? [])
          expect(page).toMatch(
            parameter.takesSeveral
              ? `value="${choice}"`
              : new RegExp(`<option value="${choice}"( selected)?>`),
          );
      }
      expect(page).toContain(`/reports/${isPreset ? 'cost' : report.name}/download?`);
    }
  });

  test('keep the filters in form and downloads', async () => {
    const page = await (await get('/reports/cost?carrier=ups&from=2026-02-01&to=')).text();
    expect(page).toContain('name="carrier" value="ups" checked');
    expect(page).toContain('value="2026-02-01"');
    expect(page).toContain('carrier &quot;ups&quot;');
    expect(page).toContain('/reports/cost/download?carrier=ups&amp;from=2026-02-01&amp;format=csv');
    const rows = (await (await get('/reports/cost/download?carrier=ups&format=json')).json()) as {
      carrier: string;
    }[];
    expect(new Set(rows.map((row) => row.carrier))).toEqual(new Set(['ups']));
  });

  test('link each download to its description', async () => {
    const answer = await get('/reports/zones/download?format=csv&currency=USD&tenant=%3E%2C%22x');
    const [, address = ''] =
      /^<([^>]+)>; rel="describedby"; type="application\/json"$/.exec(answer.headers.get('link') ?? '') ?? [];
    const about = await get(address);
    expect(about.headers.get('content-disposition')).toBe('attachment; filename="zones.about.json"');
    expect(await about.json()).toMatchObject({
      ...{ report: 'zones', level: 'tenant', time_zone: 'UTC', rows: 0 },
      filters: { currencies: ['USD'], tenants: ['>,"x'] },
    });
  });

  test('refuse an invalid filter and keep the form', async () => {
    const answer = await get('/reports/cost?from=yesterday');
    expect(answer.status).toBe(400);
    const page = await answer.text();
    expect(page).toMatch(/role="alert">(<div>)?&quot;yesterday&quot; is not a date for from/);
    expect(page).toContain('<form');
    expect((await get('/reports/tenant')).status).toBe(404);
    expect((await get('/reports/tenants/download?format=exe')).status).toBe(400);
  });

  test('treat every input as literal text', async () => {
    const filters = ['tenant', 'carrier', 'zone', 'currency'];
    const all = filters.flatMap((filter) => INJECTIONS.map((text): [string, string] => [filter, text]));
    const answer = await get(`/reports/cost?${new URLSearchParams(all)}`);
    expect(answer.status).toBe(200);
    expect(await answer.text()).toContain('No rows: nothing matches.');
    for (const text of INJECTIONS) {
      const value = encodeURIComponent(text);
      const found = await (await get(`/invoices?tenant=${value}&sort=${value}&state=${value}`)).text();
      expect(found, text).toContain('0 invoices.');
    }
  });

  test('report a query that exceeds BILLSYNC_PAGE_LIMIT', async () => {
    const hasty = await dashboardOver(fixture.path, { admin: { pageTimeout: '1ms' }, streamAfterMs: 60_000 });
    const answer = await fetch(`${hasty.url}/reports/outliers`);
    expect(answer.status).toBe(503);
    expect(await answer.text()).toContain('was stopped after 0.001 s');
    await hasty.close();
  });

  test('show invoice states while sums exceed the limit', async () => {
    const slow = await reportsFixture([
      anInvoice([aShipment()], { number: 'INV-WRONG', differences: [['total-amount', '1', '2']] }),
    ]);
    await withEndlessOrigins(slow.path);
    const hasty = await dashboardOver(slow.path, { admin: { pageTimeout: '4s' }, streamAfterMs: 60_000 });
    const [page, data] = await Promise.all(
      ['/', '/?format=json'].map(async (path) => {
        const answer = await fetch(hasty.url + path);
        return { status: answer.status, text: await answer.text() };
      }),
    );
    expect(page?.status).toBe(200);
    expect(page?.text).toMatch(/role="alert"><div>Spend: Report .* was stopped after 4 s\./);
    expect(page?.text).toMatch(/INV-WRONG.*Its file differs from what was stated: /);
    expect(page?.text).not.toContain('No shipments are loaded yet.');
    expect([data?.status, data?.text]).toEqual([503, expect.stringContaining('stopped after 4 s')]);
    await hasty.close();
    await slow.remove();
  });
});

async function withEndlessOrigins(path: string): Promise<void> {
  await runOnFile(
    path,
    'alter table internal.shipment_rows rename to kept_rows',
    `create view internal.shipment_rows as select * replace (
      if((select count(*) from range(1000000000000) where range % 7 = 8) = 0, origin, null) as origin
    ) from internal.kept_rows`,
  );
}

describe('the published file', () => {
  test('lists contradictions as action needed, not for late lines', async () => {
    const late: [string, string, string] = ['period', '2026-03-01 to 2026-03-08', '2026-02-01 to 2026-03-08'];
    const copy = await reportsFixture([
      anInvoice([aShipment()], { number: 'INV-LATE', differences: [late] }),
      anInvoice([aShipment()], { number: 'INV-WRONG', differences: [late, ['total-amount', '1', '2']] }),
    ]);
    const running = await dashboardOver(copy.path, { streamAfterMs: 60_000 });
    const page = await (await fetch(running.url)).text();
    expect(page).toMatch(/INV-WRONG.*Its file differs from what was stated: /);
    expect(page).not.toContain('INV-LATE');
    const list = await (await fetch(`${running.url}/invoices`)).text();
    expect(list).toMatch(/INV-WRONG.*<td>contradicted<\/td>/);
    expect(list).not.toMatch(/INV-LATE.*<td>contradicted<\/td>/);
    await running.close();
    await copy.remove();
  });

  test('may be missing: pages report it, probes work', async () => {
    const folder = testFolder();
    const running = await dashboardOver(join(folder, 'reports.duckdb'));
    const answer = await fetch(running.url);
    expect(answer.status).toBe(503);
    expect(await answer.text()).toContain('Nothing is published yet');
    expect((await fetch(`${running.url}/livez`)).status).toBe(200);
    expect((await fetch(`${running.url}/health`)).status).toBe(200);
    await expect(stat(join(folder, 'reports.duckdb'))).rejects.toThrow('ENOENT');
    await running.close();
  });

  test('may be damaged: pages name the file and the remedy, probes work', async () => {
    const folder = testFolder();
    const path = join(folder, 'reports.duckdb');
    await writeFile(path, 'this is no database '.repeat(50));
    const running = await dashboardOver(path, { streamAfterMs: 60_000 });
    for (const address of ['/', '/invoices', '/events', '/reports/tenants']) {
      const answer = await fetch(running.url + address);
      expect(answer.status, address).toBe(503);
      const page = await answer.text();
      expect(page, address).toContain(`The published file ${path} is damaged`);
      expect(page, address).toContain('billsync snapshot');
      expect(page, address).not.toContain('Nothing is published yet');
    }
    expect((await fetch(`${running.url}/livez`)).status).toBe(200);
    await running.close();
  });
});

describe('probes', () => {
  test('report the state, with details after authentication only', async () => {
    const health = createHealth();
    const running = await dashboardOver(fixture.path, {
      health,
      admin: { basicAuth: { user: 'ops', password: 'pässword' } },
    });
    health.set('temporal', { isHealthy: false, detail: 'does not answer' });
    const stranger = await fetch(`${running.url}/readyz`);
    expect([stranger.status, await stranger.json()]).toEqual([503, { isReady: false }]);
    const authorization = `Basic ${Buffer.from('ops:pässword').toString('base64')}`;
    const known = await fetch(`${running.url}/readyz`, { headers: { authorization } });
    expect(await known.json()).toMatchObject({ components: { temporal: { detail: 'does not answer' } } });
    health.set('temporal', { isHealthy: true });
    expect((await fetch(`${running.url}/readyz`)).status).toBe(200);
    expect((await fetch(`${running.url}/metrics`)).status).toBe(401);
    expect(await (await fetch(`${running.url}/metrics`, { headers: { authorization } })).text()).toContain(
      'billsync_',
    );
    await running.close();
  });
});

describe('access', () => {
  const withPassword = { basicAuth: { user: 'ops', password: 'secret:with:colons' } };

  test('requires the password when one is set', async () => {
    const running = await dashboardOver(fixture.path, { admin: withPassword });
    const as = (text: string): Promise<Response> =>
      fetch(running.url, { headers: { authorization: `Basic ${Buffer.from(text).toString('base64')}` } });
    const refused = await fetch(running.url);
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([
      401,
      'Basic realm="billsync", charset="UTF-8"',
    ]);
    for (const wrong of ['ops:secret', 'OPS:secret:with:colons', '', ':'])
      expect((await as(wrong)).status).toBe(401);
    expect((await as('ops:secret:with:colons')).status).toBe(200);
    await running.close();
  });

  test.each(['0.0.0.0', '::', '192.0.2.1', 'dashboard.example'])(
    'does not start at %s without a password',
    async (host) => {
      await expect(dashboardOver(fixture.path, { admin: { host } })).rejects.toThrow(
        AdminPasswordMissingError,
      );
    },
  );
});

describe('the port', () => {
  test('is not replaced when it is taken', async () => {
    const admin = { port: dashboard.port };
    await expect(dashboardOver(fixture.path, { admin })).rejects.toThrow(AdminPortTakenError);
  });
});

describe('quarantine', () => {
  const thing = {
    quarantineId: 'q-1',
    kind: 'delivery' as const,
    at: '2026-03-01T10:00:00Z',
    code: 'not-json',
    reason: 'The body is no JSON.',
    invoiceId: null,
    eventId: null,
    sha256: null,
    findings: [{ line: 7, row: 6, column: 'Billing Cost', rule: 'amount', value: '<1,5>' }],
    findingCount: 1,
    sizeBytes: 9,
  };

  test('has a list and a page per item, and an id is not used as a path', async () => {
    const read: string[] = [];
    const show = async (id: string): Promise<{ item: typeof thing; body: Uint8Array }> => {
      read.push(id);
      return { item: thing, body: Buffer.from('{<oops>') };
    };
    const running = await dashboardOver(fixture.path, { quarantine: { list: async () => [thing], show } });
    expect(await (await fetch(`${running.url}/quarantine`)).text()).toContain('The body is no JSON.');
    const page = await (await fetch(`${running.url}/quarantine/q-1`)).text();
    expect(page).toContain('&lt;1,5&gt;');
    expect(page).toContain('{&lt;oops&gt;');
    expect((await fetch(`${running.url}/quarantine/..%2F..%2Fkeys`)).status).toBe(404);
    expect(read).toEqual(['q-1']);
    await running.close();
  });
});
