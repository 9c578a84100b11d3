import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { request } from 'undici';
import { afterAll, expect, test } from 'vitest';
import { createHealth } from '../../lib/health/health.ts';
import { dashboardOver } from '../dashboard/support.ts';
import { attack, attackEach } from '../support/attack.ts';
import { memoryAlerts } from '../support/memory-alerts.ts';
import { anInvoice, aShipment, reportsFixture } from '../support/reports-fixture.ts';
import { speak, statusesIn } from './hostile/raw-http.ts';

const MARKUP: readonly string[] = [
  '<script>alert(1)</script>',
  '"><svg onload=alert(1)>',
  "'><img src=x onerror=alert(1)>",
  '</title></style></script><script>alert(1)</script>',
  '<%= process.env %>',
  '{{7*7}}',
  '" autofocus onfocus="alert(1)',
  'javascript:alert(1)',
  '<!--',
  ']]><script>alert(1)</script>',
  '\u202egnp.<blink>',
];
/** None of ours has any of it. */
const LIVE =
  /<script(?! src="\/script-\w+\.js" data-charts="\/charts-\w+\.js" defer><\/script>)|<svg onload|<img|<blink>|<%=|="[^"<>]*"\s*autofocus|(?:href|src|action)="\s*javascript:/i;

const EVERYWHERE = MARKUP.join(' ');
const PASSWORD = 'secret:with:colons';
const { alerts, raised } = memoryAlerts();
const refused = {
  ...{ quarantineId: 'd-0123456789abcdef', kind: 'delivery' as const, at: '2026-03-01T10:00:00Z' },
  ...{ code: EVERYWHERE, reason: EVERYWHERE, invoiceId: EVERYWHERE, eventId: EVERYWHERE, sha256: EVERYWHERE },
  findings: [{ line: 7, row: 6, column: EVERYWHERE, rule: EVERYWHERE, value: EVERYWHERE }],
  ...{ findingCount: 1, sizeBytes: 9 },
};

const hostile = anInvoice(
  MARKUP.map((text) =>
    aShipment({ tenant: text, origin: text, tracking: text, carrier: text, zone: text, service: text }),
  ),
  { number: EVERYWHERE, tenant: EVERYWHERE, differences: [[EVERYWHERE, EVERYWHERE, EVERYWHERE]] },
);
const waiting = anInvoice([], { number: EVERYWHERE, state: 'needs_attention', reason: EVERYWHERE });
const fixture = await reportsFixture([hostile, waiting]);
const decision = { at: '2026-03-01T00:00:00Z', by: EVERYWHERE, note: EVERYWHERE };
const alert = {
  ...{ key: `totals/${hostile.id}`, title: EVERYWHERE, detail: EVERYWHERE, by: EVERYWHERE },
  ...{ sinceMs: 1, noticeMs: 1, raisedMs: 1, repeated: 0, acknowledged: decision },
};
mkdirSync(join(fixture.folder, 'user'), { recursive: true });
writeFileSync(
  join(fixture.folder, 'user', 'alerts.json'),
  JSON.stringify({ open: [alert], quiet: { [alert.key]: { ...decision, until: '2999-01-01T00:00:00Z' } } }),
);
const health = createHealth();
health.set('temporal', { isHealthy: false, detail: EVERYWHERE });
const quarantine = {
  list: async () => [refused],
  show: async () => ({ item: refused, body: Buffer.from(EVERYWHERE) }),
};
const open = await dashboardOver(fixture.path, {
  health,
  quarantine,
  streamAfterMs: 60_000,
});
const admin = { basicAuth: { user: 'ops', password: PASSWORD } };
const locked = await dashboardOver(fixture.path, { admin, alerts });
afterAll(async () => {
  await Promise.all([open.close(), locked.close()]);
  await fixture.remove();
});

const PAGES = (): readonly string[] => [
  ...[
    '/',
    '/invoices',
    `/invoices/${hostile.id}`,
    '/events',
    '/quarantine',
    `/quarantine/${refused.quarantineId}`,
  ],
  ...[
    '/alerts',
    '/health',
    '/reports',
    '/reports/tenants',
    '/reports/cost',
    '/reports/gaps',
    '/reports/proof',
  ],
  ...['/reports/duplicates', '/reports/register', '/reports/carriers/download?format=html'],
];

test('shows stored and typed text as text on every page', async () => {
  const typed = [EVERYWHERE, '">\'><b>', '\u202e<blink>'].flatMap((text) => {
    const value = encodeURIComponent(text);
    return [
      `/invoices?search=${value}&tenant=${value}&state=${value}&sort=${value}&page=${value}`,
      `/reports/tenants?tenant=${value}&carrier=${value}&from=${value}&p_limit=${value}&${value}=x`,
      `/reports/${value}`,
      `/invoices/${value}`,
      `/quarantine/${value}`,
      `/${value}`,
    ];
  });
  await attackEach('dashboard: markup in stored and typed text', [...PAGES(), ...typed], async (address) => {
    const answer = await fetch(open.url + address, { redirect: 'manual' });
    return answer.status < 500 && !LIVE.test(await answer.text());
  });
});

test('forbids frames, caches and scripts on every page and status', async () => {
  const required: readonly (readonly [string, RegExp])[] = [
    [
      'content-security-policy',
      /^default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self';.*frame-ancestors 'none'/,
    ],
    ['x-content-type-options', /^nosniff$/],
    ['referrer-policy', /^no-referrer$/],
    ['cross-origin-resource-policy', /^same-origin$/],
    ['cross-origin-opener-policy', /^same-origin$/],
    ['cache-control', /no-store/],
  ];
  const addresses = [
    ...[...PAGES(), '/nowhere', '/reports/tenant', '/reports/tenants?from=x'].map((path) => open.url + path),
    ...['/', '/metrics', '/reports/cost/download?format=csv'].map((path) => locked.url + path),
  ];
  await attackEach('dashboard: framed, sniffed or kept pages', addresses, async (address) => {
    const { headers } = await fetch(address, { redirect: 'manual' });
    return required.every(([name, value]) => value.test(headers.get(name) ?? ''));
  });
});

test('has no link to another site, and no typed text in a header', async () => {
  const paths = [
    '//elsewhere.example/',
    '/\\elsewhere.example/',
    '/%2f%2felsewhere.example/',
    '/invoices//elsewhere.example',
    '/reports/https:%2f%2felsewhere.example',
    '/reports/mix?next=https://elsewhere.example',
    '/invoices?next=//elsewhere.example',
    '/reports/tenants/download?format=csv&tenant=a%0d%0aSet-Cookie:%20a=b',
    '/reports/tenants/download?format=csv&tenant=%3E%3B%20rel=stylesheet,%3Chttps://elsewhere.example%3E',
    '/reports/tenants/download?format=csv%0d%0aX: y',
    '/reports/tenants%0d%0aSet-Cookie:%20a=b',
    '/invoices/%0d%0aLocation:%20https://elsewhere.example',
  ];
  await attackEach('dashboard: open redirects and split headers', paths, async (path) => {
    const { headers, status } = await fetch(open.url + path, { redirect: 'manual' });
    const location = new URL(headers.get('location') ?? '/', open.url);
    const isHere = location.origin === new URL(open.url).origin;
    return isHere && headers.get('set-cookie') === null && status < 500;
  });
});

test('refuses other host names', async () => {
  const hosts = [
    'elsewhere.example',
    `elsewhere.example:${open.port}`,
    '10.0.0.1',
    '127.0.0.1.elsewhere.example',
    'localhost.elsewhere.example',
    'localhost@elsewhere.example',
    'elsewhere.example#localhost',
    '0.0.0.0',
    '[::]',
    '2130706433.elsewhere.example',
    '',
    'localhost, elsewhere.example',
  ];
  const requests = hosts.map(
    (host) => `GET /invoices HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
  );
  const target = { port: open.port, isTls: false };
  const bytes = [
    ...requests,
    `GET /invoices HTTP/1.1\r\nHost: elsewhere.example\r\nX-Forwarded-Host: localhost\r\nConnection: close\r\n\r\n`,
    'GET http://localhost/invoices HTTP/1.1\r\nHost: elsewhere.example\r\nConnection: close\r\n\r\n',
    'GET /livez/../invoices HTTP/1.1\r\nHost: elsewhere.example\r\nConnection: close\r\n\r\n',
    'GET /livez HTTP/1.1\r\nHost: elsewhere.example\r\n\r\nGET /invoices HTTP/1.1\r\nHost: elsewhere.example\r\nConnection: close\r\n\r\n',
  ];
  await attackEach('dashboard: other names of this machine', bytes, async (each) => {
    const reply = await speak(target, [each]);
    const last = statusesIn(reply).at(-1) ?? 0;
    return (last === 0 || (last >= 400 && last < 500)) && !reply.includes('<main');
  });
});

test('refuses malformed requests without reading or changing a file', async () => {
  const targets = [
    '/../../etc/passwd',
    '/..%2f..%2fetc%2fpasswd',
    '/style-..%2f..%2f.css',
    '/views/layout.eta',
    '/%00',
    '/%',
    '/invoices/..%2f..%2fkeys',
    '/quarantine/..%2f..%2fkeys%2fpayload.key',
    '/reports/..%2fsql%2ftenants.sql',
    '/reports/tenants/download?format=../../x',
    '/__proto__',
    '/constructor',
    '/reports/__proto__',
    '/reports/constructor/download?format=csv',
    `/${'a'.repeat(20_000)}`,
    'http://[::1',
  ];
  const methods = ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND', 'FOO'];
  const line = (method: string, path: string): string =>
    `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`;
  const bytes = [
    ...targets.map((path) => line('GET', path)),
    ...methods.flatMap((method) =>
      ['/', '/invoices', '/quarantine', '/livez'].map((path) => line(method, path)),
    ),
    'GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: close, Upgrade\r\nAuthorization: x\r\n\r\n\r\n',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  ];
  await attackEach('dashboard: odd targets, methods and framing', bytes, async (each) => {
    const reply = await speak({ port: open.port, isTls: false }, [each]);
    const [status = 0] = statusesIn(reply);
    const isRefused = status < 500 && (status >= 400 || status === 0 || each.includes('websocket'));
    return isRefused && !/root:|BEGIN |<%/.test(reply);
  });
});

test('delays repeated wrong passwords, reports them, and does not delay the right one', async () => {
  const as = (path: string, text: string): Promise<Response> =>
    fetch(locked.url + path, { headers: { authorization: `Basic ${Buffer.from(text).toString('base64')}` } });
  for (let nth = 0; nth < 6; nth += 1) expect((await fetch(locked.url)).status).toBe(401);
  expect(raised).toEqual([]);
  const beganMs = Date.now();
  let known = Number.POSITIVE_INFINITY;
  const guesses = ['/', '/readyz', '/metrics', '/invoices', '/readyz', '/', '/livez', '/readyz'].map(
    (path, nth) => as(path, `ops:guess ${nth}`),
  );
  const right = as('/health', `ops:${PASSWORD}`).then((answer) => {
    known = Date.now() - beganMs;
    return answer.status;
  });
  const answers = await Promise.all(guesses);
  const tookMs = Date.now() - beganMs;
  expect(await right).toBe(200);
  const isDisclosed = (await Promise.all(answers.map((answer) => answer.text()))).some((text) =>
    text.includes('components'),
  );
  const held = [
    ...answers.map(({ status, url }) => status === 401 || /readyz|livez/.test(url)),
    !isDisclosed,
    tookMs >= 1_500,
    known < tookMs,
    raised.some(({ key }) => key === 'dashboard/wrong-credentials'),
  ];
  attack('dashboard: guesses at its password', { tries: held.length, held: held.filter(Boolean).length });
});

test('a page of another site cannot make a dashboard compute', async () => {
  // `fetch` sets these headers itself.
  const statusOf = async (path: string, headers: Record<string, string>): Promise<number> => {
    const { statusCode, body } = await request(`${open.url}${path}`, { headers });
    await body.dump();
    return statusCode;
  };
  const loads = PAGES().flatMap((path) =>
    (['cross-site', 'same-site'] as const).flatMap((site) =>
      [
        ['no-cors', 'image'],
        ['cors', 'empty'],
        ['no-cors', 'script'],
        ['navigate', 'iframe'],
      ].map(([mode, dest]) => ({ path, site, mode, dest })),
    ),
  );
  await attackEach('loads of a page of another site', loads, async ({ path, site, mode = '', dest = '' }) => {
    const headers = { 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': dest };
    return (await statusOf(path, headers)) === 403;
  });
  const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
  expect(await statusOf('/invoices', link)).toBe(200);
  const own = { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' };
  expect(await statusOf('/invoices', own)).toBe(200);
});
