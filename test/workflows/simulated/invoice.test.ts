/** What one invoice's run does, and when: real pauses of hours and days, in simulated time. */

import { ApplicationFailure } from '@temporalio/common';
import { describe, expect, test, vi } from 'vitest';
import type { InvoiceEvent } from '../../../lib/wire/invoice-event.ts';
import type {
  ExportCsvResult,
  LoadInvoiceResult,
  RegenerateUrlResult,
} from '../../../workflows/activities.ts';
import { sendInvoiceEvent } from '../../../workflows/client/invoice-client.ts';
import { aHeader, aLocation, anEvent } from '../invoice-builders.ts';
import { aWorld, inTurn, unreachable, untilCancelled } from '../scripted-world.ts';
import { beginLife, type InvoiceLife, ROUTE } from './invoice-life.ts';

vi.mock('@temporalio/workflow', async (original) => ({
  ...(await original<object>()),
  ...(await import('./simulation.ts')).workflowModule,
}));

type Answers = NonNullable<Parameters<typeof aWorld>[0]>;

const [MINUTE, HOUR, DAY] = [60, 3_600, 86_400];
const created = () => anEvent('invoice_created');
const finalized = (location = aLocation()) => anEvent('invoice_finalized', { location });
const voided = () => anEvent('invoice_voided');
const expired = () => aLocation({ presignedUrlExpiresAt: '2026-01-01T00:00:00Z' });
const refusedUrl = async () => ({ outcome: 'url-refused', message: 'Storage answered 403.' }) as const;
const fails = (type: string) => async (): Promise<never> => {
  throw ApplicationFailure.create({ type, message: `${type}.`, nonRetryable: true });
};
const rejectedThenLoaded = () =>
  inTurn<LoadInvoiceResult>(
    { outcome: 'rejected', reason: 'line 17, column Billing Cost' },
    { outcome: 'loaded', shipments: 2 },
  );

const fetched = { outcome: 'fetched', sha256: 'e'.repeat(64), sizeBytes: 99 } as const;
const message = 'The reason.';
const ANSWERS: Readonly<Record<string, object>> = {
  none: { outcome: 'not-found' },
  'no file': { outcome: 'not-exported' },
  forbidden: { outcome: 'forbidden', message },
  refused: { outcome: 'url-refused', message },
  differs: { outcome: 'mismatch', message },
  impossible: { outcome: 'impossible-announcement', message },
  'other host': { outcome: 'host-not-allowed', message },
};
/** A name of an answer, or the code of a failure; `ok` is the default of the world. */
function answering(activity: string, name: string): Answers {
  if (name === 'ok' || name === 'expired') return {};
  const answer = ANSWERS[name];
  return { [activity]: answer === undefined ? fails(name) : async () => answer };
}

const unknownId = { ...answering('lookUpInvoice', 'none'), ...answering('regenerateUrl', 'no file') };

/** The details' answers one after the other; the last one stays. */
function stating(...names: readonly string[]): Answers {
  const statuses = ['draft', 'finalized', 'voided', 'without-status'];
  if (names.length === 1 && !statuses.includes(names[0] ?? ''))
    return answering('lookUpInvoice', names[0] ?? '');
  const answers = names.map((name) => {
    const status = name === 'without-status' ? null : (name as 'draft');
    return { outcome: 'found', status, header: {} } as const;
  });
  return { lookUpInvoice: inTurn(...answers) };
}

async function played(answers: Answers, ...events: readonly InvoiceEvent[]) {
  const life = beginLife(aWorld(answers));
  await life.send(...events);
  return life;
}

/** The differences between the instants, in the order of the instants. */
function pausesBetween(instants: readonly number[]): readonly number[] {
  return instants.slice(1).map((at, index) => at - (instants[index] ?? 0));
}

describe('the events of an invoice', () => {
  test('load one file once in every order and repetition', async () => {
    const [one, two] = [created(), finalized()];
    const life = await played({}, two, one, two, one, two);
    expect(await life.result()).toEqual({ state: 'loaded', sha256: two.export?.fileHashSha256 });
    await life.send(one, two);
    expect(await life.result()).toMatchObject({ state: 'loaded' });
    expect(life.world.loads.length).toBe(1);
    expect(life.shownState()).toBe('loaded');
  });

  test.each<[string, readonly InvoiceEvent[], readonly string[]]>([
    [
      'are waited for when only the ledger has them',
      [created(), finalized()],
      ['0 downloadCsv', '0 loadInvoice'],
    ],
    ['load nothing after a void', [voided(), finalized(), created()], ['0 voidInvoice', '0 lookUpInvoice']],
  ])('%s', async (_, events, expected) => {
    const life = await played({}, ...events);
    await life.result();
    expect(life.timeline('downloadCsv', 'loadInvoice', 'voidInvoice', 'lookUpInvoice')).toEqual(expected);
  });

  test('stop a running download by a void, which is applied after it has stopped', async () => {
    const life = await played({ downloadCsv: untilCancelled }, finalized());
    await life.simulation.until(() => life.world.calls.includes('downloadCsv'));
    await life.send(voided());
    expect(await life.result()).toMatchObject({ state: 'voided' });
    expect(life.timeline('downloadCsv', 'loadInvoice', 'voidInvoice')).toEqual([
      '0 downloadCsv',
      '0 voidInvoice',
    ]);
  });

  test('let a load in progress end before the void', async () => {
    const life = beginLife(aWorld());
    const { loadInvoice } = life.world.activities;
    life.world.activities.loadInvoice = async (request) => {
      await life.simulation.take('1 min');
      return loadInvoice(request);
    };
    await life.send(finalized());
    await life.simulation.pass('10 s');
    await life.send(voided());
    expect(await life.result()).toMatchObject({ state: 'voided' });
    expect(life.timeline('voidInvoice')).toEqual([`${MINUTE} voidInvoice`]);
    expect(life.world.loads).toHaveLength(1);
  });

  test.each(['another', 'the loaded'])(
    'load %s file when the service names it, whatever was announced',
    async (which) => {
      const [first, newer] = [finalized(), anEvent('invoice_finalized', { at: '2020-03-10T00:00:00Z' })];
      const named = (which === 'another' ? newer : first).export ?? aLocation();
      const life = await played(
        { regenerateUrl: async () => ({ outcome: 'location', location: named }) },
        first,
      );
      await life.result();
      await life.send(newer);
      expect(await life.result()).toEqual({ state: 'loaded', sha256: named.fileHashSha256 });
      expect(life.world.loads.map(({ source }) => source)).toEqual(['event', 'regenerate']);
      expect(life.timesOf('downloadCsv')).toHaveLength(which === 'another' ? 2 : 1);
    },
  );

  test('are no dispute when they repeat the loaded file and total with another id and time', async () => {
    const first = finalized();
    const life = await played({}, first);
    await life.result();
    await life.send({ ...first, eventId: 'e-2', eventTimestamp: '2999-01-01T00:00:00Z' });
    await life.result();
    expect(life.timesOf('regenerateUrl')).toEqual([]);
    const invoice = aHeader({ ...first.invoice, invoiceTotalAmount: '99.00' });
    await life.send({ ...first, eventId: 'e-3' }, { ...first, eventId: 'e-4', invoice });
    await life.result();
    expect(life.timesOf('regenerateUrl')).not.toEqual([]);
  });

  test('query the service when their type is unknown, and are dropped when they are of another invoice', async () => {
    const life = await played(stating('voided'), created());
    await life.simulation.pass('1 min');
    const { invoiceId } = life;
    for (const signal of [null, 7, 'text', {}, { eventId: 1 }, { eventId: 'x', eventType: 'invoice_voided' }])
      await life.signal(signal);
    await life.signal({ ...voided(), invoice: { invoiceId: 'another' } });
    await life.simulation.pass('1 min');
    expect(life.simulation.log.filter((line) => line.endsWith(' invoices.foreignEvent'))).toHaveLength(7);
    expect((await life.status()).state).toBe('draft');
    await life.signal({
      ...created(),
      eventType: 'invoice_reversed',
      invoice: { invoiceId: invoiceId.toUpperCase() },
    });
    expect(await life.result()).toMatchObject({ state: 'voided' });
  });

  test('cost no load when the ledger has the announced file', async () => {
    const event = finalized();
    const life = beginLife(aWorld());
    const loadedSha256 = event.export?.fileHashSha256 ?? '';
    life.world.ledger.set(life.invoiceId, { state: 'loaded', loadedSha256 });
    await life.send(event);
    expect(await life.result()).toEqual({ state: 'loaded', sha256: loadedSha256 });
    expect(life.calls()).toEqual(['recordEvent']);
  });

  test('reach one run in every spelling of the id', async () => {
    const life = await played({}, created());
    const event = finalized();
    const invoice = { ...event.invoice, invoiceId: life.invoiceId.toUpperCase() };
    await sendInvoiceEvent(life.simulation.client, ROUTE, { ...event, invoice });
    expect(await life.result()).toMatchObject({ state: 'loaded' });
  });

  test('that arrive while a draft is waited for are processed at once', async () => {
    const life = await played(stating('draft'), created());
    await life.simulation.pass('2 h');
    await life.send(finalized());
    expect(await life.result()).toMatchObject({ state: 'loaded' });
    expect(life.timesOf('loadInvoice')).toEqual([2 * HOUR]);
  });

  test('that arrive while attention is recorded or a run replies are processed', async () => {
    const slow = beginLife(aWorld({ loadInvoice: rejectedThenLoaded() }));
    const { markNeedsAttention } = slow.world.activities;
    slow.world.activities.markNeedsAttention = async (request) => {
      await slow.simulation.take('1 min');
      return markNeedsAttention(request);
    };
    await slow.send(finalized());
    await slow.simulation.pass('30 s');
    await slow.send(finalized());
    expect(await slow.result()).toMatchObject({ state: 'loaded' });
    expect(slow.timesOf('clearNeedsAttention')).toHaveLength(1);
    // At once, not by the check for a repaired file an hour later.
    expect(slow.timesOf('loadInvoice')).toEqual([0, MINUTE]);

    const ending = beginLife(aWorld(unknownId));
    ending.simulation.onSignal = (name) => (name === 'backfillReply' ? ending.send(finalized()) : undefined);
    await ending.lookUp({ replyTo: 'backfill' });
    expect(await ending.result()).toMatchObject({ state: 'loaded' });
  });

  test('delay the run of a draft until it is overdue or another event arrives', async () => {
    const life = beginLife(aWorld(), { overdueAfter: ['2 h'] });
    await life.send(created());
    await life.simulation.pass('10 min');
    await life.send(finalized());
    expect(await life.result()).toMatchObject({ state: 'loaded' });
    const at = 10 * MINUTE;
    expect(life.simulation.log).toEqual([`${at} recordEvent`, `${at} downloadCsv`, `${at} loadInvoice`]);
  });

  test('of many thousands delay no void, and what a run carries to the next stays small', async () => {
    const file = finalized();
    const repeats = Array.from({ length: 11_000 }, (_, n) => ({ ...file, eventId: `event-${n}` }));
    const burst = await played({}, ...repeats, voided());
    expect(await burst.result()).toMatchObject({ state: 'voided' });
    expect(burst.timeline('voidInvoice', 'loadInvoice')).toEqual(['0 voidInvoice']);

    const life = await played({ loadInvoice: async () => ({ outcome: 'rejected', reason: 'line 2' }) });
    life.simulation.continueAfter = 50;
    for (const event of repeats.slice(0, 500)) {
      await life.send(event);
      await life.simulation.pass('1 s');
    }
    const { length } = life.world.calls;
    await life.send(voided());
    expect(await life.result()).toMatchObject({ state: 'voided' });
    expect(life.world.calls.slice(length)).toEqual([
      ...[
        'recordEvent',
        'clearNeedsAttention',
        'voidInvoice',
        'fetchToken',
        'lookUpInvoice',
        'recordDetails',
      ],
    ]);
    expect(life.simulation.largestInput).toBeGreaterThan(1_000);
    expect(life.simulation.largestInput).toBeLessThan(10_000);
  });
});

describe('the file of an invoice', () => {
  /** Of storage, regenerate and export; the calls (download, regenerate, export, load, attention) until a failure is recorded; the end. */
  test.each([
    ['ok', 'ok', 'ok', 'D L', 'event'],
    ['expired', 'ok', 'ok', 'R D L', 'regenerate'],
    ['expired', 'unexpected-answer', 'ok', 'R X L', 'export'],
    ['expired', 'redirect', 'ok', 'R X L', 'export'],
    ['expired', 'forbidden', 'ok', 'R X L', 'export'],
    ['expired', 'no file', 'ok', 'R X L', 'export'],
    ['expired', 'unreachable', 'ok', 'R', 'unreachable after a day'],
    ['refused', 'ok', 'ok', 'D R D R D X L', 'export'],
    ['differs', 'ok', 'ok', 'D D R D X L', 'export'],
    ['redirect', 'ok', 'ok', 'D X L', 'export'],
    ['not-csv', 'ok', 'ok', 'D X L', 'export'],
    ['address-refused', 'ok', 'ok', 'D X L', 'export'],
    ['host-busy', 'ok', 'ok', 'D', 'host-busy after a day'],
    ['unreachable', 'ok', 'unreachable', 'D', 'unreachable after a day'],
    ['unreachable', 'ok', 'ok', 'D', 'export'],
    ['impossible', 'ok', 'ok', 'D R D X L', 'export'],
    ['other host', 'ok', 'ok', 'D R D X L', 'export'],
    ['differs', 'ok', 'none', 'D D R D X A', 'hash-mismatch at once'],
    ['differs', 'ok', 'forbidden-scope', 'D D R D X', 'hash-mismatch after a day'],
    ['impossible', 'ok', 'none', 'D R D X A', 'impossible-announcement at once'],
    ['other host', 'ok', 'none', 'D R D X A', 'host-not-allowed at once'],
    ['expired', 'forbidden', 'none', 'R X A', 'forbidden at once'],
    ['refused', 'ok', 'none', 'D R D R D X', 'url-refused after a day'],
    ['expired', 'no file', 'none', 'R X', 'not-exported after a week'],
  ])('storage %s, regenerate %s, export %s: %s, %s', async (storage, regenerate, exported, calls, end) => {
    const answers = {
      ...answering('downloadCsv', storage),
      ...answering('regenerateUrl', regenerate),
      ...answering('exportCsv', exported),
    };
    const life = await played(answers, finalized(storage === 'expired' ? expired() : aLocation()));
    const [code, after] = end.split(/ (?:at|after a) /);
    const isLoaded = after === undefined;
    await (isLoaded ? life.result() : life.until('needs_attention'));
    const [first = []] = [life.calls().slice(1, life.calls().indexOf('recordFailure') + 1 || undefined)];
    const letters: Readonly<Record<string, string>> = {
      ...{ downloadCsv: 'D', regenerateUrl: 'R', exportCsv: 'X', loadInvoice: 'L', markNeedsAttention: 'A' },
    };
    expect(first.flatMap((name) => letters[name] ?? []).join(' ')).toBe(calls);
    if (isLoaded) {
      const isExport = end === 'export';
      const sha256 = isExport ? fetched.sha256 : expect.any(String);
      const announcedSha256 = isExport ? null : expect.any(String);
      expect(life.world.loads).toMatchObject([{ source: end, sha256, announcedSha256 }]);
      return;
    }
    expect(life.world.attentions).toMatchObject([
      { code, reason: expect.stringContaining('invoices retry') },
    ]);
    const series = Number(/ (\d+) series of attempts/.exec(life.world.attentions[0]?.reason ?? '')?.[1] ?? 1);
    if (calls.includes('X')) expect(life.timesOf('exportCsv')).toHaveLength(series);
    const [at = 0] = life.timesOf('markNeedsAttention');
    const due = after === 'once' ? 0 : after === 'day' ? DAY : 7 * DAY;
    // Only the pauses count; the attempts between them take some time, too.
    expect([at >= due, at <= due * 1.1]).toEqual([true, true]);
    expect((await life.status()).attention?.code).toBe(code);
    expect(life.shownState()).toBe('needs_attention');
  });

  test('needs attention when a load fails in every attempt', async () => {
    const life = await played({ loadInvoice: fails('io') }, finalized());
    await life.until('needs_attention');
    const reason = expect.stringContaining('Loading failed in every attempt: io.');
    expect(life.world.attentions).toMatchObject([{ code: 'load-failed', reason }]);
  });

  test('is tried again after pauses that double to an hour, and the failure is recorded once', async () => {
    let isAway = true;
    const life = await played(
      {
        downloadCsv: refusedUrl,
        exportCsv: async () =>
          isAway ? { outcome: 'not-found' } : { outcome: 'fetched', sha256: 'e'.repeat(64), sizeBytes: 1 },
      },
      finalized(),
    );
    await life.simulation.pass('6 h');
    const pauses = pausesBetween(life.timesOf('exportCsv')).map((seconds) => seconds / MINUTE);
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60, 60]);
    expect(life.world.failures).toEqual(['url-refused']);
    isAway = false;
    expect(await life.result()).toMatchObject({ state: 'loaded' });
  });

  test('is exported when storage stays unreachable, after two series of retries', async () => {
    const life = await played({ downloadCsv: unreachable }, finalized());
    expect(await life.result()).toMatchObject({ state: 'loaded' });
    expect(pausesBetween(life.timesOf('downloadCsv'))).toEqual([1, 2, 4, 8, 16, MINUTE, 1, 2, 4, 8, 16]);
  });
});

describe('a rejected file', () => {
  test('is requested again after growing pauses, and loaded once it is repaired', async () => {
    const [refused, repaired] = [aLocation(), aLocation({ fileHashSha256: 'd'.repeat(64) })];
    const named = (location: typeof refused): RegenerateUrlResult => ({ outcome: 'location', location });
    const answers = [...Array.from({ length: 8 }, () => named(refused)), named(repaired)];
    const life = await played(
      { regenerateUrl: inTurn(...answers), loadInvoice: rejectedThenLoaded() },
      finalized(refused),
    );
    life.simulation.continueAfter = 20;
    expect(await life.result()).toEqual({ state: 'loaded', sha256: 'd'.repeat(64) });
    const hours = life.timesOf('regenerateUrl').map((at) => at / HOUR);
    expect(pausesBetween([0, ...hours])).toEqual([1, 6, 24, 48, 96, 192, 384, 384, 384]);
    // While the hash is the same, each check is one call.
    expect(life.timesOf('downloadCsv')).toHaveLength(2);
    expect(life.world.attentions.map(({ code }) => code)).toEqual(['csv-rejected']);
  });

  test('is compared by its tag or its bytes where only exports exist', async () => {
    const tag = { etag: '"v1"', lastModified: null };
    const unless: unknown[] = [];
    const fetched = { outcome: 'fetched', sizeBytes: 9 } as const;
    const answer = inTurn<ExportCsvResult>(
      { ...fetched, sha256: 'c'.repeat(64), tag },
      { outcome: 'not-modified' },
      { ...fetched, sha256: 'c'.repeat(64) },
      { ...fetched, sha256: 'd'.repeat(64) },
    );
    const life = await played(
      {
        regenerateUrl: async () => ({ outcome: 'not-exported' }),
        exportCsv: async (request) => {
          unless.push(request.unless);
          return answer();
        },
        loadInvoice: rejectedThenLoaded(),
      },
      finalized(expired()),
    );
    expect(await life.result()).toEqual({ state: 'loaded', sha256: 'd'.repeat(64) });
    expect(unless).toEqual([undefined, tag, tag, tag, undefined]);
  });

  test.each<[string, (life: InvoiceLife) => Promise<void>, string]>([
    ['a person retries', (life) => life.retry(), 'loaded'],
    ['a new announcement arrives', (life) => life.send(finalized()), 'loaded'],
    ['it is voided', (life) => life.send(voided()), 'voided'],
  ])('waits until %s', async (_, act, state) => {
    const life = await played({ loadInvoice: rejectedThenLoaded() }, finalized());
    await life.until('needs_attention');
    expect((await life.status()).attention).toEqual({
      code: 'csv-rejected',
      reason: 'line 17, column Billing Cost',
    });
    await act(life);
    // At once, not with the next request for a repaired file.
    await life.simulation.until(async () => !(await life.isOpen()), '1 min');
    expect(await life.result()).toMatchObject({ state });
    expect(life.timesOf('clearNeedsAttention')).toHaveLength(1);
  });
});

describe('a query to the service', () => {
  test('follows a draft after 1, 6 and 24 hours, and finds a finalized event that was lost', async () => {
    const life = await played(stating('draft', 'draft', 'draft', 'draft', 'finalized'), created());
    expect(await life.result()).toMatchObject({ state: 'loaded' });
    expect(pausesBetween([0, ...life.timesOf('lookUpInvoice')]).map((seconds) => seconds / HOUR)).toEqual([
      1, 6, 24, 24, 24,
    ]);
    expect(life.timesOf('recordDetails')).toHaveLength(5);
  });

  test.each([
    ['server-fault', 'ok', 'loaded'],
    ['unexpected-answer', 'ok', 'loaded'],
    ['server-fault', 'no file', 'asked again'],
    ['without-status', 'ok', 'loaded'],
    ['voided', 'ok', 'voided'],
    ['none', 'no file', 'unknown'],
  ])('is answered by details %s and regenerate %s: %s', async (details, regenerate, state) => {
    const life = beginLife(aWorld({ ...stating(details), ...answering('regenerateUrl', regenerate) }));
    await life.lookUp();
    await life.simulation.pass('3 h');
    expect(await life.isOpen()).toBe(state === 'asked again');
    if (state !== 'asked again') expect(await life.result()).toMatchObject({ state });
    else expect(life.timesOf('lookUpInvoice').length).toBeGreaterThan(5);
  });

  test('is repeated while the service does not answer, and changes nothing of a loaded invoice after three series', async () => {
    const life = await played({ lookUpInvoice: unreachable }, finalized());
    await life.result();
    await life.lookUp();
    expect(await life.result()).toMatchObject({ state: 'loaded' });
    expect(life.timesOf('lookUpInvoice')).toHaveLength(18);
    expect(life.world.failures).toEqual(['recheck-unanswered']);
  });

  test('finds a void and another file of a loaded invoice', async () => {
    const life = await played(stating('finalized', 'voided'), finalized());
    await life.result();
    const named = aLocation();
    life.world.activities.regenerateUrl = async () => ({ outcome: 'location', location: named });
    await life.lookUp();
    expect(await life.result()).toEqual({ state: 'loaded', sha256: named.fileHashSha256 });
    await life.lookUp();
    expect(await life.result()).toMatchObject({ state: 'voided' });
  });

  test('of a watched draft is not repeated for an open run', async () => {
    const life = await played({}, created());
    await life.simulation.pass('2 h');
    await life.watch();
    await life.simulation.pass('1 min');
    expect(life.timesOf('lookUpInvoice')).toEqual([HOUR]);
  });
});

/** It leaves every total at once; then the service confirms it (ADR 19). */
describe('a void that only an event reported', () => {
  /** What the details state each time, the minutes of the requests, the end and the recorded failure. */
  test.each([
    ['voided', [0], 'voided', null],
    ['finalized finalized voided', [0, 1, 11], 'voided', null],
    ['finalized', [0, 1, 11, 71], 'needs_attention', null],
    ['none', [0], 'voided', 'void-unconfirmed'],
    ['without-status', [0], 'voided', 'void-unconfirmed'],
    ['redirect', [0], 'voided', 'void-unconfirmed'],
    ['unreachable', null, 'voided', 'void-unconfirmed'],
  ] as const)('which the details answer with %s', async (stated, minutes, state, failure) => {
    const life = await played(stating(...stated.split(' ')), voided());
    await (state === 'voided' ? life.result() : life.until('needs_attention'));
    expect((await life.status()).state).toBe(state);
    const requests = life.timesOf('lookUpInvoice');
    if (minutes !== null) expect(requests.map((at) => at / MINUTE)).toEqual(minutes);
    else expect(Math.round((requests.at(-1) ?? 0) / HOUR)).toBe(24);
    expect(life.world.failures).toEqual(failure === null ? [] : [failure]);
    const codes = state === 'voided' ? [] : ['void-contradicted'];
    expect(life.world.attentions.map(({ code }) => code)).toEqual(codes);
    expect(life.timeline('voidInvoice')).toEqual(['0 voidInvoice']);
  });

  test('is confirmed after its workflow was lost', async () => {
    const life = beginLife(aWorld(stating('voided')));
    life.world.ledger.set(life.invoiceId, { state: 'voided', loadedSha256: null });
    await life.watch();
    expect(await life.result()).toMatchObject({ state: 'voided' });
    expect(life.timesOf('lookUpInvoice')).toEqual([0]);
  });

  test('is not confirmed where confirmation is off', async () => {
    const life = beginLife(aWorld(), { confirmVoids: false });
    await life.send(voided());
    expect(await life.result()).toMatchObject({ state: 'voided' });
    expect(life.timesOf('lookUpInvoice')).toEqual([]);
  });

  test('is denied once more after a new event, and ended by a retry once the service agrees', async () => {
    const life = await played(stating('finalized'), voided());
    await life.until('needs_attention');
    await life.send(created());
    await life.simulation.pass('2 h');
    expect(life.world.attentions).toHaveLength(2);
    Object.assign(life.world.activities, stating('voided'));
    await life.retry();
    expect(await life.result()).toMatchObject({ state: 'voided' });
  });
});
