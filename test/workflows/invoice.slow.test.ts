import type { WorkflowHandle } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { describe, expect, test } from 'vitest';
import type { ExportCsvResult, LoadInvoiceResult, RegenerateUrlResult } from '../../workflows/activities.ts';
import { eventually } from '../support/eventually.ts';
import { anInvoiceRoute, QUICK_PACE } from '../support/quick-route.ts';
import { aLocation, anEvent } from './invoice-builders.ts';
import { aFinalizedWorld } from './invoice-scenes.ts';
import { aWorld, inTurn, unreachable, untilCancelled, type World } from './scripted-world.ts';
import { openWorkflowFixture } from './workflow-fixture.ts';

type History = Awaited<ReturnType<WorkflowHandle['fetchHistory']>>;

const { play, settle, playUntilAttention } = openWorkflowFixture(anInvoiceRoute()).scenes;

const created = () => anEvent('invoice_created');
const finalized = (location = aLocation()) => anEvent('invoice_finalized', { location });
const voided = () => anEvent('invoice_voided');
const expired = () => aLocation({ presignedUrlExpiresAt: '2026-01-01T00:00:00Z' });

const SLOW_DRAFT = { overdueAfter: ['1 h'] } as const;
const QUICK_REPAIR = { repairAfter: ['50 ms', '80 ms'] } as const;
const rejectedThenLoaded = () =>
  inTurn<LoadInvoiceResult>(
    { outcome: 'rejected', reason: 'line 17, column Billing Cost' },
    { outcome: 'loaded', shipments: 2 },
  );
const withoutTokens = ({ calls }: World) => calls.filter((name) => name !== 'fetchToken');
const countOf = ({ calls }: World, activity: string) => calls.filter((name) => name === activity).length;

describe.concurrent('the events of an invoice', () => {
  test('are waited for after created, and the file is loaded once finalized', async () => {
    const world = aWorld();
    const event = finalized();
    await play(
      world,
      async (underTest) => {
        await underTest.send(created());
        await underTest.until('draft');
        await underTest.send(event);
        expect(await underTest.result()).toEqual({ state: 'loaded', sha256: event.export?.fileHashSha256 });
      },
      SLOW_DRAFT,
    );
    expect(world.calls).toEqual(['recordEvent', 'downloadCsv', 'loadInvoice']);
  });

  test('cost two tasks, one activity, one marker and one update when the download also loads', async () => {
    const world = aWorld({
      downloadCsv: async ({ location: { fileHashSha256: sha256, fileSizeBytes: sizeBytes } }) => ({
        ...{ outcome: 'fetched', sha256, sizeBytes, announcedSha256: sha256 },
        loaded: { outcome: 'loaded', shipments: 2 },
      }),
    });
    let history: History = {};
    await play(
      world,
      async (underTest) => {
        await underTest.send(created());
        await underTest.until('draft');
        await underTest.send(finalized());
        expect(await underTest.result()).toMatchObject({ state: 'loaded' });
        history = await underTest.handle().fetchHistory();
      },
      SLOW_DRAFT,
    );
    const events = history.events ?? [];
    expect({
      tasks: events.filter((event) => event.workflowTaskCompletedEventAttributes).length,
      timers: events.filter((event) => event.timerStartedEventAttributes).length,
      activities: events.filter((event) => event.activityTaskScheduledEventAttributes).length,
      markers: events.filter((event) => event.markerRecordedEventAttributes).length,
      upserts: events.filter((event) => event.upsertWorkflowSearchAttributesEventAttributes).length,
    }).toEqual({ tasks: 2, timers: 0, activities: 1, markers: 1, upserts: 1 });
    expect(world.calls).toEqual(['recordEvent', 'downloadCsv']);
  });

  test('are waited for when only the ledger has them, because they bring the URL', async () => {
    const world = aWorld({
      recordEvent: async () => ({
        ...{ state: 'finalized', loadedSha256: null, voidBasis: null },
        ...{ isRestored: false, failureCode: null },
      }),
    });
    expect(await settle(world, [created(), finalized()], SLOW_DRAFT)).toMatchObject({ state: 'loaded' });
    expect(world.calls).toEqual(['recordEvent', 'downloadCsv', 'loadInvoice']);
  });

  test('load one file once in every order and repetition', async () => {
    const world = aWorld();
    const [one, two] = [created(), finalized()];
    await play(world, async (underTest) => {
      await underTest.send(two, one, two, one, two);
      expect(await underTest.result()).toMatchObject({ state: 'loaded' });
      await underTest.send(one, two);
      expect(await underTest.result()).toMatchObject({ state: 'loaded' });
    });
    expect(world.loads.length).toBe(1);
  });

  test('void a loaded invoice in a short new run', async () => {
    const world = aWorld();
    await play(world, async (underTest) => {
      await underTest.send(finalized());
      await underTest.result();
      await underTest.send(voided());
      expect(await underTest.result()).toMatchObject({ state: 'voided' });
      expect(underTest.world.ledger.get(underTest.invoiceId)?.state).toBe('voided');
    });
    expect(countOf(world, 'voidInvoice')).toBe(1);
  });

  test('load nothing when finalized comes after voided', async () => {
    const world = aWorld();
    expect(await settle(world, [voided(), finalized(), created()])).toMatchObject({ state: 'voided' });
    expect(world.loads).toEqual([]);
  });

  test('stop a running download by a void, which is applied after it has stopped', async () => {
    const world = aWorld({ downloadCsv: untilCancelled });
    await play(world, async (underTest) => {
      await underTest.send(finalized());
      await eventually(() => world.calls.includes('downloadCsv'));
      await underTest.send(voided());
      expect(await underTest.result()).toMatchObject({ state: 'voided' });
    });
    expect(world.loads).toEqual([]);
    expect(world.calls.filter((name) => ['downloadCsv', 'voidInvoice'].includes(name))).toEqual([
      'downloadCsv',
      'voidInvoice',
    ]);
  });

  test('let a load in progress end before the void', async () => {
    const order: string[] = [];
    const world = aWorld({
      loadInvoice: async () => {
        order.push('load begins');
        await new Promise((wake) => setTimeout(wake, 600));
        order.push('load ends');
        return { outcome: 'loaded', shipments: 2 };
      },
      voidInvoice: async () => {
        order.push('void');
        return { hadRows: true };
      },
    });
    await play(world, async (underTest) => {
      await underTest.send(finalized());
      await eventually(() => order.length > 0);
      await underTest.send(voided());
      expect(await underTest.result()).toMatchObject({ state: 'voided' });
    });
    expect(order).toEqual(['load begins', 'load ends', 'void']);
  });

  test.each([
    ['another', 2],
    ['the loaded', 1],
  ])(
    'load %s file when that is the one that the service names, whatever is announced meanwhile',
    async (_, files) => {
      const first = finalized();
      const newer = anEvent('invoice_finalized', { at: '2020-03-10T00:00:00Z' });
      const named = (files === 1 ? first : newer).export ?? aLocation();
      const world = aWorld({ regenerateUrl: async () => ({ outcome: 'location', location: named }) });
      const { loadInvoice } = world.activities;
      const released = Promise.withResolvers<void>();
      world.activities.loadInvoice = async (request) => {
        if (world.loads.length === 0) await released.promise;
        return loadInvoice(request);
      };
      await play(world, async (underTest) => {
        await underTest.send(first);
        await eventually(() => world.calls.includes('downloadCsv'));
        await underTest.send(newer);
        await eventually(async () => (await underTest.status()).seen === 2);
        released.resolve();
        expect(await underTest.result()).toEqual({ state: 'loaded', sha256: named.fileHashSha256 });
      });
      expect(world.loads.map(({ source }) => source)).toEqual(['event', 'regenerate']);
      expect(world.calls.filter((call) => call === 'downloadCsv')).toHaveLength(files);
    },
  );

  test('load the file that the service names at a recheck of a loaded invoice', async () => {
    const named = aLocation();
    const world = aFinalizedWorld();
    world.activities.regenerateUrl = async () => ({ outcome: 'location', location: named });
    await play(world, async (underTest) => {
      await underTest.send(finalized());
      await underTest.result();
      await underTest.lookUp();
      expect(await underTest.result()).toEqual({ state: 'loaded', sha256: named.fileHashSha256 });
    });
  });

  test('make the run query the service when their type is unknown', async () => {
    const world = aWorld({ lookUpInvoice: async () => ({ outcome: 'found', status: 'voided', header: {} }) });
    await play(
      world,
      async (underTest) => {
        await underTest.begin(created());
        const { invoiceId } = underTest;
        const unknown = { ...created(), eventType: 'invoice_reversed', invoice: { invoiceId } };
        await underTest.handle().signal('invoiceEvent', unknown);
        expect(await underTest.result()).toMatchObject({ state: 'voided' });
      },
      SLOW_DRAFT,
    );
  });

  test('are dropped when they are none of the invoice', async () => {
    const world = aWorld();
    const unknownType = { eventId: 'x', eventType: 'invoice_exploded' };
    await play(world, async (underTest) => {
      await underTest.begin(created());
      for (const signal of [null, 7, 'text', {}, { eventId: 1 }, unknownType])
        await underTest.handle().signal('invoiceEvent', signal);
      await underTest.send(finalized());
      expect(await underTest.result()).toMatchObject({ state: 'loaded' });
    });
  });
});

describe.concurrent('the file of an invoice', () => {
  test('is fetched by a regenerated URL once the URL of the event has expired', async () => {
    const world = aWorld();
    expect(await settle(world, [finalized(expired())])).toMatchObject({ state: 'loaded' });
    expect(world.calls).toEqual(['recordEvent', 'fetchToken', 'regenerateUrl', 'downloadCsv', 'loadInvoice']);
    expect(world.loads[0]?.source).toBe('regenerate');
  });

  test('is exported after three refused URLs', async () => {
    const world = aWorld({
      downloadCsv: async () => ({ outcome: 'url-refused', message: 'Storage answered 403.' }),
    });
    expect(await settle(world, [finalized()])).toMatchObject({ state: 'loaded' });
    expect(withoutTokens(world)).toEqual([
      ...['recordEvent', 'downloadCsv', 'regenerateUrl', 'downloadCsv', 'regenerateUrl', 'downloadCsv'],
      ...['exportCsv', 'loadInvoice'],
    ]);
  });

  const fails = (type: string) => async () => {
    throw ApplicationFailure.create({ type, message: 'It failed.', nonRetryable: true });
  };
  test.each<[string, Parameters<typeof aWorld>[0], typeof expired]>([
    ['regenerate has an unexpected answer', { regenerateUrl: fails('unexpected-answer') }, expired],
    ['regenerate redirects', { regenerateUrl: fails('redirect') }, expired],
    [
      'regenerate is forbidden',
      { regenerateUrl: async () => ({ outcome: 'forbidden', message: 'no' }) },
      expired,
    ],
    ['storage redirects', { downloadCsv: fails('redirect') }, aLocation],
    ['storage sends a page', { downloadCsv: fails('not-csv') }, aLocation],
    ['storage has a private address', { downloadCsv: fails('address-refused') }, aLocation],
  ])('is exported when %s', async (_, answers, location) => {
    const world = aWorld(answers);
    expect(await settle(world, [finalized(location())])).toMatchObject({ state: 'loaded' });
    expect(world.loads).toMatchObject([{ source: 'export', announcedSha256: null }]);
  });

  test('is exported when storage stays unreachable, after retries', async () => {
    const world = aWorld({ downloadCsv: unreachable });
    expect(await settle(world, [finalized()])).toMatchObject({ state: 'loaded' });
    const downloads = world.calls.slice(0, world.calls.indexOf('exportCsv'));
    expect(downloads.filter((name) => name === 'downloadCsv').length).toBeGreaterThan(
      QUICK_PACE.retryAttempts ?? 0,
    );
  });

  test('is downloaded again, regenerated, downloaded again and exported when its bytes differ (spec 6, rule 8)', async () => {
    const world = aWorld({ downloadCsv: async () => ({ outcome: 'mismatch', message: 'aa, announced bb' }) });
    expect(await settle(world, [finalized()])).toEqual({ state: 'loaded', sha256: 'e'.repeat(64) });
    expect(world.calls).toEqual([
      ...['recordEvent', 'downloadCsv', 'downloadCsv', 'fetchToken', 'regenerateUrl', 'downloadCsv'],
      ...['exportCsv', 'loadInvoice'],
    ]);
    expect(world.loads[0]).toMatchObject({ source: 'export', announcedSha256: null });
  });

  test('needs attention, with both hashes, when the announced bytes cannot be fetched', async () => {
    const world = aWorld({
      downloadCsv: async () => ({ outcome: 'mismatch', message: 'The SHA-256 is aa, announced was bb.' }),
      exportCsv: async () => ({ outcome: 'not-found' }),
    });
    await playUntilAttention(world, [finalized()]);
    expect(world.attentions).toMatchObject([
      { code: 'hash-mismatch', reason: expect.stringContaining('The SHA-256 is aa, announced was bb.') },
    ]);
  });

  test('needs attention when its announcement is impossible, after one other URL and an export', async () => {
    const world = aWorld({
      downloadCsv: async () => ({ outcome: 'impossible-announcement', message: 'A size of 10000000000000.' }),
      exportCsv: async () => ({ outcome: 'not-found' }),
    });
    await playUntilAttention(world, [finalized()]);
    expect(withoutTokens(world)).toEqual([
      ...['recordEvent', 'downloadCsv', 'regenerateUrl', 'downloadCsv', 'exportCsv', 'markNeedsAttention'],
    ]);
    expect(world.attentions).toMatchObject([
      { code: 'impossible-announcement', reason: expect.stringContaining('10000000000000') },
    ]);
  });

  test('needs attention at once when regenerate is forbidden and there is nothing to export', async () => {
    const world = aWorld({
      regenerateUrl: async () => ({ outcome: 'forbidden', message: 'The scope is missing.' }),
      exportCsv: async () => ({ outcome: 'not-found' }),
    });
    await playUntilAttention(world, [finalized(expired())]);
    expect(world.attentions.map(({ code }) => code)).toEqual(['forbidden']);
  });

  test('is waited for while the service is unreachable, with the failure on the invoice', async () => {
    let isAway = true;
    const world = aWorld({
      downloadCsv: async ({ location }) =>
        isAway ? unreachable() : { outcome: 'fetched', sha256: location.fileHashSha256, sizeBytes: 1 },
      // An export would load it in the second series.
      exportCsv: unreachable,
    });
    await play(
      world,
      async (underTest) => {
        await underTest.send(finalized());
        await eventually(() => world.failures.includes('unreachable'));
        isAway = false;
        expect(await underTest.result()).toMatchObject({ state: 'loaded' });
      },
      { attentionAfter: '1 h' },
    );
  });
});

describe.concurrent('a rejected file', () => {
  test('is requested again, and loaded once it is repaired', async () => {
    const [refused, repaired] = [aLocation(), aLocation({ fileHashSha256: 'd'.repeat(64) })];
    const world = aWorld({
      regenerateUrl: inTurn<RegenerateUrlResult>(
        { outcome: 'location', location: refused },
        { outcome: 'location', location: refused },
        { outcome: 'location', location: repaired },
      ),
      loadInvoice: rejectedThenLoaded(),
    });
    const result = await settle(world, [finalized(refused)], QUICK_REPAIR);
    expect(result).toMatchObject({ state: 'loaded', sha256: 'd'.repeat(64) });
    expect(world.attentions.map(({ code }) => code)).toEqual(['csv-rejected']);
    // While the hash is the same, each check is one call.
    expect(withoutTokens(world)).toEqual([
      ...['recordEvent', 'downloadCsv', 'loadInvoice', 'markNeedsAttention'],
      ...['regenerateUrl', 'regenerateUrl', 'regenerateUrl'],
      ...['clearNeedsAttention', 'downloadCsv', 'loadInvoice'],
    ]);
  });

  test('is compared by its tag where only exports exist', async () => {
    const tag = { etag: '"v1"', lastModified: null };
    const tags: unknown[] = [];
    const answer = inTurn<ExportCsvResult>(
      { outcome: 'fetched', sha256: 'c'.repeat(64), sizeBytes: 9, tag },
      { outcome: 'not-modified' },
      { outcome: 'fetched', sha256: 'd'.repeat(64), sizeBytes: 9 },
    );
    const world = aWorld({
      downloadCsv: async () => ({ outcome: 'url-refused', message: '403' }),
      regenerateUrl: async () => ({ outcome: 'not-exported' }),
      async exportCsv(request) {
        tags.push(request.unless);
        return answer();
      },
      loadInvoice: rejectedThenLoaded(),
    });
    const result = await settle(world, [finalized()], QUICK_REPAIR);
    expect(result).toMatchObject({ state: 'loaded', sha256: 'd'.repeat(64) });
    expect(tags.slice(0, 3)).toEqual([undefined, tag, tag]);
  });

  test('stays until a person retries', async () => {
    const world = aWorld({ loadInvoice: rejectedThenLoaded() });
    await play(world, async (underTest) => {
      await underTest.send(finalized());
      await underTest.until('needs_attention');
      const reason = 'line 17, column Billing Cost';
      expect((await underTest.status()).attention).toEqual({ code: 'csv-rejected', reason });
      await underTest.retry();
      expect(await underTest.result()).toMatchObject({ state: 'loaded' });
    });
    expect(world.calls).toContain('clearNeedsAttention');
  });

  test('is retried for a new announcement, and voided by a void', async () => {
    const world = aWorld({ loadInvoice: async () => ({ outcome: 'rejected', reason: 'line 2' }) });
    await play(world, async (underTest) => {
      await underTest.send(finalized());
      await underTest.until('needs_attention');
      await underTest.send(finalized());
      await eventually(() => world.attentions.length === 2);
      await underTest.send(voided());
      expect(await underTest.result()).toMatchObject({ state: 'voided' });
    });
  });
});

describe.concurrent('a query to the service', () => {
  const unknown = (): World =>
    aWorld({
      lookUpInvoice: async () => ({ outcome: 'not-found' }),
      regenerateUrl: async () => ({ outcome: 'not-exported' }),
    });

  test('finds a finalized event that was not delivered', async () => {
    const world = aWorld({
      lookUpInvoice: async () => ({ outcome: 'found', status: 'finalized', header: {} }),
    });
    expect(await settle(world, [created()])).toMatchObject({ state: 'loaded' });
    expect(world.calls).toContain('recordDetails');
  });

  test('finds a void that was lost after the load', async () => {
    const world = aWorld({ lookUpInvoice: async () => ({ outcome: 'found', status: 'voided', header: {} }) });
    await play(world, async (underTest) => {
      await underTest.send(finalized());
      expect(await underTest.result()).toMatchObject({ state: 'loaded' });
      await underTest.lookUp();
      expect(await underTest.result()).toMatchObject({ state: 'voided' });
    });
  });

  test('is repeated after 404 while only created is known', async () => {
    const world = unknown();
    await play(
      world,
      async (underTest) => {
        await underTest.send(created());
        await eventually(() => countOf(world, 'lookUpInvoice') >= 3);
        expect((await underTest.status()).state).toBe('draft');
      },
      { overdueAfter: ['30 ms'] },
    );
  });

  test('ends a run as unknown when the service does not know the id', async () => {
    await play(unknown(), async (underTest) => {
      await underTest.lookUp();
      expect(await underTest.result()).toEqual({ state: 'unknown', sha256: null });
    });
  });
});
