import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { defaultPayloadConverter } from '@temporalio/common';
import { afterAll, describe, expect, test } from 'vitest';
import { openFolderArchive } from '../../archive/folder-archive.ts';
import { createOperatorWork } from '../../cli/operator/operator-work.ts';
import { createAgreements } from '../../dashboard/operator/agreements.ts';
import { receiveUpload, UploadError } from '../../dashboard/operator/upload.ts';
import { openAlerts } from '../../lib/alerts/alert-store.ts';
import { createAlerts } from '../../lib/alerts/alerts.ts';
import { openAuditLog } from '../../lib/audit-log.ts';
import { createCodec, decodeRemotePayloads } from '../../lib/temporal/codec.ts';
import { openQuarantine } from '../../webhook/inbox/quarantine.ts';
import { dashboardOver } from '../dashboard/support.ts';
import { attack, attackEach } from '../support/attack.ts';
import { testFolder } from '../support/folders.ts';
import { memoryAlerts } from '../support/memory-alerts.ts';
import { silent } from '../warehouse/support.ts';
import { testSettings } from '../webhook/a-delivery.ts';

const dataDir = testFolder();
const uploadFolder = join(dataDir, 'uploads');
const settings = testSettings(dataDir);
const audit = openAuditLog(dataDir);
const operators = [
  { user: 'ann', password: 'ann-may-act' },
  { user: 'bob', password: 'bob-may-act' },
];
const KEY = { id: 'k1', key: new Uint8Array(32).fill(7) };
const basicAuth = { user: 'reader', password: 'may-look' };

const quarantine = await openQuarantine(join(dataDir, 'inbox', 'quarantine'));
const operator = {
  ...{ work: createOperatorWork(settings, quarantine), audit, uploadFolder },
  decode: (message: unknown) => decodeRemotePayloads([KEY], message),
};
const over = (admin: object) =>
  dashboardOver(join(dataDir, 'reports.duckdb'), { admin, operator, quarantine });
const [locked, open, without] = await Promise.all([
  over({ operators, basicAuth, temporalUi: 'http://temporal.example:8080/namespaces/default' }),
  over({ operators }),
  over({ basicAuth }),
]);
afterAll(() => Promise.all([locked, open, without].map((each) => each.close())));

let refusals = 0;
async function aRefusal(): Promise<string> {
  refusals += 1;
  return quarantine.put(
    {
      ...{ kind: 'delivery', at: '2026-03-01T00:00:00Z', code: 'not-json', reason: '<b>No</b> JSON.' },
      ...{ invoiceId: null, eventId: null, sha256: null, findings: [], findingCount: 0 },
    },
    Buffer.from(`{ ${refusals}`),
  );
}

const as = (user: string, password: string): Record<string, string> => ({
  authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
});
const ANN = as('ann', 'ann-may-act');
const BOB = as('bob', 'bob-may-act');

async function tokenFor(id: string, headers = ANN): Promise<string> {
  const page = await (
    await fetch(`${locked.url}/operator/agree?action=discard&target=${id}`, { headers })
  ).text();
  return /name="token" value="([0-9a-f]{48})"/.exec(page)?.[1] ?? '';
}

function send(fields: Record<string, string>, headers: Record<string, string> = ANN): Promise<Response> {
  return fetch(`${locked.url}/operator/act`, {
    method: 'POST',
    headers,
    body: new URLSearchParams(fields),
    redirect: 'manual',
  });
}

const isThere = async (id: string): Promise<boolean> => (await quarantine.show(id)) !== null;

test('is discarded by an operator after a preview, and recorded', async () => {
  const id = await aRefusal();
  const page = await (await fetch(`${locked.url}/quarantine/${id}`, { headers: ANN })).text();
  expect(page).toContain(`href="/operator/agree?action=discard&amp;target=${id}"`);
  const preview = await fetch(`${locked.url}/operator/agree?action=discard&target=${id}`, { headers: ANN });
  expect(preview.headers.get('referrer-policy')).toBe('same-origin');
  const text = await preview.text();
  expect(text).toContain('&lt;b&gt;No&lt;/b&gt; JSON.');
  expect(text).toContain('This cannot be undone.');
  expect(await isThere(id)).toBe(true);
  const answer = await send({ token: await tokenFor(id), reason: 'a test of ours' });
  expect(await answer.text()).toContain(`${id} is discarded.`);
  expect(await isThere(id)).toBe(false);
  const [after, before] = await audit.newest(2);
  const what = {
    by: 'ann',
    via: 'dashboard',
    action: 'quarantine discard',
    target: [id],
    reason: 'a test of ours',
  };
  expect(before).toMatchObject({ ...what, outcome: 'begun' });
  expect(after).toMatchObject({ ...what, outcome: 'done', began: before?.number });
  const log = await (await fetch(`${locked.url}/operator/audit`, { headers: BOB })).text();
  expect(log).toContain('a test of ours');
  expect(log).toContain((await audit.verify()).head);
  const archive = await openFolderArchive(join(dataDir, 'archive'));
  const notes: string[] = [];
  for await (const fact of archive.facts()) if (fact.kind === 'discard') notes.push(fact.note);
  await archive.close();
  expect(notes).toContain('a test of ours');
});

test('is acknowledged and silenced by name, and recorded', async () => {
  const alerts = createAlerts({
    settings,
    log: silent,
    scrub: (text) => text,
    store: { dataDir, role: 'up' },
  });
  alerts.raise({ key: 'disk/full', title: 'The disk is full', detail: 'Make room.' });
  await alerts.close();
  const listed = async ({ url } = locked, headers = ANN) =>
    (await fetch(`${url}/alerts`, { headers })).text();
  const link = (action: string): string => `/operator/agree?target=disk%2Ffull&amp;action=${action}`;
  expect(await listed()).toContain(link('acknowledge'));
  expect(await listed(without, as('reader', 'may-look'))).not.toContain('/operator/agree');
  const decide = async (query: string): Promise<string> => {
    const agree = `${locked.url}/operator/agree?target=disk%2Ffull&action=${query}`;
    const page = await (await fetch(agree, { headers: ANN })).text();
    const token = /name="token" value="([0-9a-f]{48})"/.exec(page)?.[1] ?? '';
    return (await send({ token, reason: 'on it' })).text();
  };
  expect(await decide('acknowledge')).toContain('disk/full is acknowledged.');
  expect(await decide('quiet&hours=8')).toContain('disk/full is silenced until');
  expect(await openAlerts(dataDir)).toMatchObject([
    { acknowledged: { by: 'ann', note: 'on it' }, quieted: { by: 'ann', note: 'on it' } },
  ]);
  expect(await listed()).not.toContain(link('acknowledge'));
  expect(await listed()).toContain(link('unquiet'));
  expect(await decide('unquiet')).toContain('Notices of disk/full are sent again.');
  expect(await openAlerts(dataDir)).toMatchObject([{ quieted: null }]);
  const actions = (await audit.newest(6)).filter(({ outcome }) => outcome === 'done');
  expect(actions).toMatchObject([
    { action: 'alerts quiet', by: 'ann', target: ['disk/full'] },
    { action: 'alerts quiet', by: 'ann', target: ['disk/full'] },
    { action: 'alerts acknowledge', by: 'ann', target: ['disk/full'], reason: 'on it' },
  ]);
  for (const query of ['quiet&hours=0', 'quiet&hours=1e9', 'quiet']) {
    const refused = await fetch(`${locked.url}/operator/agree?target=disk%2Ffull&action=${query}`, {
      headers: ANN,
    });
    expect(refused.status).toBe(404);
  }
  const unknown = await fetch(`${locked.url}/operator/agree?target=disk%2Fgone&action=acknowledge`, {
    headers: ANN,
  });
  expect(unknown.status).toBe(409);
});

test('ends the delays of wrong ones', async () => {
  const { alerts, open: raised } = memoryAlerts();
  const watched = await dashboardOver(join(dataDir, 'reports.duckdb'), { admin: { operators }, alerts });
  const as = (password: string) => {
    const authorization = `Basic ${Buffer.from(`ann:${password}`).toString('base64')}`;
    return fetch(`${watched.url}/health`, { headers: { authorization } });
  };
  try {
    for (let times = 0; times < 2; times += 1) await as('a guess');
    expect([...raised.keys()]).toEqual(['dashboard/wrong-credentials']);
    await as('ann-may-act');
    expect([...raised.keys()]).toEqual([]);
  } finally {
    await watched.close();
  }
});

describe('nothing is done', () => {
  test('without an operator password', async () => {
    const id = await aRefusal();
    const token = await tokenFor(id);
    const paths = ['/operator', '/operator/audit', `/operator/agree?action=discard&target=${id}`];
    const strangers = [{}, as('reader', 'may-look'), as('ann', 'may-look'), as('bob', 'ann-may-act')];
    const statuses: number[] = [];
    for (const headers of strangers) {
      for (const path of paths) statuses.push((await fetch(locked.url + path, { headers })).status);
      statuses.push((await send({ token, reason: 'x' }, headers)).status);
    }
    // Where looking needs no password, acting still does.
    for (const path of paths) statuses.push((await fetch(open.url + path)).status);
    expect((await fetch(open.url)).status).not.toBe(401);
    for (const path of paths) {
      const answer = await fetch(without.url + path, { headers: as('reader', 'may-look') });
      statuses.push(answer.status === 404 ? 401 : answer.status);
    }
    expect(
      await (await fetch(`${without.url}/quarantine/${id}`, { headers: as('reader', 'may-look') })).text(),
    ).not.toContain('/operator');
    const held = statuses.filter((status) => status === 401 || status === 429).length;
    attack('operator: without a password of its own', { tries: statuses.length, held });
    expect(await isThere(id)).toBe(true);
  });

  test('for a form of another site, of another user, or used before', async () => {
    const id = await aRefusal();
    const { host } = new URL(locked.url);
    const elsewhere: readonly Record<string, string>[] = [
      { origin: 'https://elsewhere.example' },
      { origin: 'null' },
      { origin: `http://${host}.elsewhere.example` },
      { origin: `http://localhost:1` },
      { origin: `http://${host}`, 'sec-fetch-site': 'cross-site' },
      { origin: `http://${host}`, 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
    ];
    const statuses: number[] = [];
    for (const headers of elsewhere) {
      statuses.push((await send({ token: await tokenFor(id), reason: 'x' }, { ...ANN, ...headers })).status);
    }
    const used = await tokenFor(await aRefusal());
    await send({ token: used, reason: 'x' });
    const tokens = [
      '',
      'x',
      '0'.repeat(48),
      used,
      await tokenFor(id, BOB),
      '__proto__',
      `${await tokenFor(id)} `,
    ];
    for (const token of tokens)
      statuses.push((await send({ token, reason: 'x', target: id, action: 'discard' })).status);
    const [, token = ''] = [await tokenFor(id), await tokenFor(id)];
    // By the methods and types that a form of another site may use, or a link.
    for (const [method, type, body] of [
      ['POST', 'text/plain', `token=${token}`],
      ['POST', 'application/json', JSON.stringify({ token })],
      ['PUT', 'application/x-www-form-urlencoded', `token=${token}`],
      ['GET', null, null],
      ['DELETE', null, null],
    ] as const) {
      const address = `${locked.url}/operator/act?token=${token}`;
      const headers = { ...ANN, ...(type === null ? {} : { 'content-type': type }) };
      statuses.push((await fetch(address, { method, headers, body })).status);
    }
    const held = statuses.filter((status) => status >= 400 && status < 500).length;
    attack('operator: forged, used and borrowed forms', { tries: statuses.length, held });
    expect(await isThere(id)).toBe(true);
  });

  test('twice for repeated clicks', async () => {
    const token = await tokenFor(await aRefusal());
    const answers = await Promise.all(Array.from({ length: 10 }, () => send({ token, reason: 'x' })));
    const done = answers.filter(({ status }) => status === 200).length;
    attack('operator: one form sent ten times', { tries: 10, held: done === 1 ? 10 : 10 - done });
  });

  test('for a target that is a path, a query or gone', async () => {
    const targets = [
      ...['../../keys/payload', 'd-0123456789abcdef', '%00', "' or 1=1 --", 'd-0123456789abcde/'],
      '<script>',
    ];
    await attackEach('operator: targets that are none', targets, async (target) => {
      const address = `${locked.url}/operator/agree?action=discard&target=${encodeURIComponent(target)}`;
      const answer = await fetch(address, { headers: ANN });
      const page = await answer.text();
      return answer.status === 409 && !page.includes('<script>') && !page.includes('name="token"');
    });
  });
});

test('forgets a preview after 15 minutes and keeps at most 200', async () => {
  let nowMs = 0;
  const agreements = createAgreements(() => nowMs);
  const described = {
    ...{ title: '', consequences: [], label: '', reasonLabel: null, command: '', target: [], back: '/' },
  };
  const offer = () =>
    agreements.offer({ by: 'ann', described, perform: async () => ({ detail: '', next: null }) });
  const first = offer();
  nowMs = 15 * 60_000;
  expect(agreements.take(first, 'ann')).toBeNull();
  const tokens = Array.from({ length: 250 }, offer);
  const open = tokens.filter((token) => agreements.take(token, 'ann') !== null);
  expect(open).toEqual(tokens.slice(-200));
});

describe('an upload', () => {
  const form = (parts: string): [string, Buffer] => ['multipart/form-data; boundary=b', Buffer.from(parts)];
  const file = (name: string, text: string): string =>
    `--b\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\nContent-Type: text/csv\r\n\r\n${text}\r\n`;

  async function upload([type, body]: [string, Buffer]) {
    const { Readable } = await import('node:stream');
    return receiveUpload(Readable.from([body]), type, { folder: uploadFolder, maxBytes: 1_000 });
  }

  test('is stored under a generated name', async () => {
    const names = [
      '../../keys/x.csv',
      '/etc/cron.d/x',
      'a%00b',
      '..\\x',
      'CON',
      '\u202egnp.csv',
      'x'.repeat(900),
    ];
    await attackEach('operator: uploads', names, async (name) => {
      const { path } = await upload(form(`${file(name, 'a,b')}--b--\r\n`));
      rmSync(path);
      return /^[0-9a-f-]{36}\.csv$/.test(path.slice(uploadFolder.length + 1));
    });
    const refused: [string, Buffer][] = [
      form('--b--\r\n'),
      form(''),
      form(file('a.csv', 'x'.repeat(5_000))),
      form(`${file('a.csv', 'x'.repeat(5_000))}--b--\r\n`),
      form('--b\r\nContent-Disposition: form-data; name="token"\r\n\r\nx\r\n--b--\r\n'),
      form('no form at all'),
      ['multipart/form-data', Buffer.from('x')],
      ['multipart/form-data; boundary=', Buffer.from('x')],
      form(`--b\r\n${'X: y\r\n'.repeat(5_000)}\r\n--b--\r\n`),
    ];
    await attackEach('operator: uploads', refused, async (each) => {
      return (await upload(each).catch((reason: unknown) => reason)) instanceof UploadError;
    });
    expect(readdirSync(uploadFolder)).toEqual([]);
  });

  test('is read to its end, and removed when the worker is unreachable', async () => {
    const body = new FormData();
    body.append('file', new Blob([Buffer.alloc(3 << 20, 'a,b\r\n')]), 'large.csv');
    const answer = await fetch(`${locked.url}/operator/import`, { method: 'POST', headers: ANN, body });
    expect([answer.status, await answer.text()]).toEqual([409, expect.stringContaining('Temporal')]);
    expect(readdirSync(uploadFolder)).toEqual([]);
  });
});

describe("payloads of workflows are read in Temporal's own pages", () => {
  const PAGES = 'http://temporal.example:8080';
  const URL_OF_A_FILE = 'https://storage.example/a.csv?signature=secret';
  async function aMessage(): Promise<string> {
    const [sealed] = await createCodec([KEY]).encode([defaultPayloadConverter.toPayload(URL_OF_A_FILE)]);
    const text = (bytes: Uint8Array | null | undefined) => Buffer.from(bytes ?? []).toString('base64');
    const metadata = Object.fromEntries(
      Object.entries(sealed?.metadata ?? {}).map(([name, value]) => [name, text(value)]),
    );
    return JSON.stringify({ payloads: [{ metadata, data: text(sealed?.data) }] });
  }
  const decode = async (headers: Record<string, string>, body?: string, at = locked): Promise<Response> =>
    fetch(`${at.url}/operator/codec/decode`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: body ?? (await aMessage()),
    });

  test('by an operator, from the configured pages', async () => {
    const before = await fetch(`${locked.url}/operator/codec/decode?preserveStorageRefs=true`, {
      method: 'OPTIONS',
      headers: { origin: PAGES, 'access-control-request-method': 'POST' },
    });
    expect(before.status).toBe(204);
    expect(before.headers.get('access-control-allow-headers')).toContain('x-namespace');
    const answer = await decode({ ...ANN, origin: PAGES });
    expect(answer.headers.get('access-control-allow-origin')).toBe(PAGES);
    expect(answer.headers.get('access-control-allow-credentials')).toBe('true');
    const { payloads } = (await answer.json()) as { payloads: { data: string }[] };
    expect(Buffer.from(payloads[0]?.data ?? '', 'base64').toString()).toBe(JSON.stringify(URL_OF_A_FILE));
    // Temporal's command is no browser and names no page.
    expect((await decode(ANN)).status).toBe(200);
  });

  test('and by no one else', async () => {
    const others = [
      await decode({}),
      await decode(as('reader', 'may-look')),
      await decode({ ...ANN, origin: 'http://temporal.example' }),
      await decode({ ...ANN, origin: 'null' }),
      await decode({ ...ANN, 'sec-fetch-site': 'cross-site' }),
      await decode({ ...ANN, origin: PAGES }, undefined, open),
      await decode(as('reader', 'may-look'), undefined, without),
    ];
    expect(others.map(({ status }) => status)).toEqual([401, 401, 403, 403, 403, 403, 404]);
    for (const answer of others) expect(answer.headers.get('access-control-allow-origin')).toBeNull();
    attack("operator: payloads of Temporal's", { tries: others.length, held: others.length });
    const strange = await fetch(`${locked.url}/operator/codec/decode`, {
      method: 'OPTIONS',
      headers: { origin: 'http://elsewhere.example', 'access-control-request-method': 'POST' },
    });
    expect(strange.headers.get('access-control-allow-origin')).toBeNull();
  });

  test('refuses invalid messages and returns undecryptable ones', async () => {
    for (const body of ['{}', '[]', '{"payloads":[{"data":1}]}', '{'])
      expect((await decode(ANN, body)).status, body).toBe(400);
    const clear = { payloads: [{ metadata: { encoding: 'anNvbi9wbGFpbg==' }, data: 'MQ==' }] };
    expect(await (await decode(ANN, JSON.stringify(clear))).json()).toEqual(clear);
    const foreign = (await aMessage()).replace(Buffer.from('k1').toString('base64'), 'azI=');
    expect(await (await decode(ANN, foreign)).json()).toEqual(JSON.parse(foreign));
  });
});
