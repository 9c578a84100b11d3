/** The invoice workflow on a real server: every order of events, every way in which a file refuses to come. */

import type { WorkflowHandle } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { describe, expect, test } from 'vitest';
import type { ExportCsvResult, LoadInvoiceResult, RegenerateUrlResult } from '../../workflows/activities.ts';
import { eventually } from '../support/eventually.ts';
import { anInvoiceRoute, QUICK_PACE } from '../support/quick-route.ts';
import { aLocation, anEvent } from './invoice-builders.ts';
import { aWorld, inTurn, unreachable, untilCancelled, type World } from './scripted-world.ts';
import { openWorkflowFixture } from './workflow-fixture.ts';

type History = Awaited<ReturnType<WorkflowHandle['fetchHistory']>>;

const { play } = openWorkflowFixture(anInvoiceRoute()).scenes;

const created = () => anEvent('invoice_created');
const finalized = (location = aLocation()) => anEvent('invoice_finalized', { location });
const voided = () => anEvent('invoice_voided');
const expired = () => aLocation({ presignedUrlExpiresAt: '2026-01-01T00:00:00Z' });

describe.concurrent('invoice', () => {
  test('waits after created and loads once finalized', async () => {
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
      { overdueAfter: ['1 h'] },
    );
    expect(world.calls).toEqual(['recordEvent', 'downloadCsv', 'loadInvoice']);
  });

  test('uses two tasks, one activity, one marker and one update when the download also loads', async () => {
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
      { overdueAfter: ['1 h'] },
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

  test('waits for an event that the ledger has already, because it brings the URL', async () => {
    const world = aWorld({
      recordEvent: async () => ({
        ...{ state: 'finalized', loadedSha256: null, voidBasis: null },
        ...{ isRestored: false, failureCode: null },
      }),
    });
    await play(
      world,
      async (underTest) => {
        await underTest.send(created());
        await underTest.until('draft');
        await underTest.send(finalized());
        expect(await underTest.result()).toMatchObject({ state: 'loaded' });
      },
      { overdueAfter: ['1 h'] },
    );
    expect(world.calls).toEqual(['recordEvent', 'downloadCsv', 'loadInvoice']);
  });

  test('loads one file once for every order and repetition of events', async () => {
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

  test('voids a loaded invoice in a short new run', async () => {
    const world = aWorld();
    await play(world, async (underTest) => {
      await underTest.send(finalized());
      await underTest.result();
      await underTest.send(voided());
      expect(await underTest.result()).toMatchObject({ state: 'voided' });
      expect(underTest.world.ledger.get(underTest.invoiceId)?.state).toBe('voided');
    });
    expect(world.calls.filter((name) => name === 'voidInvoice')).toHaveLength(1);
  });

  test('loads nothing when finalized comes after voided', async () => {
    const world = aWorld();
    await play(world, async (underTest) => {
      await underTest.send(voided(), finalized(), created());
      expect(await underTest.result()).toMatchObject({ state: 'voided' });
    });
    expect(world.loads).toEqual([]);
  });

  test('stops a running download when the invoice is voided, and voids after it has stopped', async () => {
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

  test('lets a load in progress end before it voids', async () => {
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

  test('regenerates the URL once it has expired', async () => {
    const world = aWorld();
    await play(world, async (underTest) => {
      await underTest.send(finalized(expired()));
      expect(await underTest.result()).toMatchObject({ state: 'loaded' });
    });
    expect(world.calls).toEqual(['recordEvent', 'fetchToken', 'regenerateUrl', 'downloadCsv', 'loadInvoice']);
    expect(world.loads[0]?.source).toBe('regenerate');
  });

  test('regenerates a refused URL at most three times, then exports the file', async () => {
    const world = aWorld({
      downloadCsv: async () => ({ outcome: 'url-refused', message: 'Storage answered 403.' }),
    });
    await play(world, async (underTest) => {
      await underTest.send(finalized());
      expect(await underTest.result()).toMatchObject({ state: 'loaded' });
    });
    expect(world.calls.filter((name) => name !== 'fetchToken')).toEqual([
      ...['recordEvent', 'downloadCsv', 'regenerateUrl', 'downloadCsv', 'regenerateUrl', 'downloadCsv'],
      ...['exportCsv', 'loadInvoice'],
    ]);
  });

  const storageFails = (type: string) => async () => {
    throw ApplicationFailure.create({ type, message: 'What storage said.', nonRetryable: true });
  };
  test.each<[string, Parameters<typeof aWorld>[0], typeof expired]>([
    ['regenerate answers something else', { regenerateUrl: storageFails('unexpected-answer') }, expired],
    ['regenerate redirects', { regenerateUrl: storageFails('redirect') }, expired],
    [
      'regenerate is forbidden',
      { regenerateUrl: async () => ({ outcome: 'forbidden', message: 'no' }) },
      expired,
    ],
    ['storage redirects', { downloadCsv: storageFails('redirect') }, aLocation],
    ['storage sends a page', { downloadCsv: storageFails('not-csv') }, aLocation],
    ['storage leads inside', { downloadCsv: storageFails('address-refused') }, aLocation],
  ])('exports the file when %s', async (_, answers, location) => {
    const world = aWorld(answers);
    await play(world, async (underTest) => {
      await underTest.send(finalized(location()));
      expect(await underTest.result()).toMatchObject({ state: 'loaded' });
    });
    expect(world.loads).toMatchObject([{ source: 'export', announcedSha256: null }]);
  });

  test('exports the file when storage stays unreachable, after retries', async () => {
    const world = aWorld({ downloadCsv: unreachable });
    await play(world, async (underTest) => {
      await underTest.send(finalized());
      expect(await underTest.result()).toMatchObject({ state: 'loaded' });
    });
    const downloads = world.calls.slice(0, world.calls.indexOf('exportCsv'));
    expect(downloads.filter((name) => name === 'downloadCsv').length).toBeGreaterThan(
      QUICK_PACE.retryAttempts ?? 0,
    );
  });

  test('regenerates an impossible announcement once, exports, then needs attention', async () => {
    const world = aWorld({
      downloadCsv: async () => ({ outcome: 'impossible-announcement', message: 'A size of 10000000000000.' }),
      exportCsv: async () => ({ outcome: 'not-found' }),
    });
    await play(world, async (underTest) => {
      await underTest.send(finalized());
      await underTest.until('needs_attention');
    });
    expect(world.calls.filter((name) => name !== 'fetchToken')).toEqual([
      ...['recordEvent', 'downloadCsv', 'regenerateUrl', 'downloadCsv', 'exportCsv', 'markNeedsAttention'],
    ]);
    expect(world.parked).toMatchObject([
      { code: 'impossible-announcement', reason: expect.stringContaining('10000000000000') },
    ]);
  });

  test('requests a rejected file again and loads it once it is repaired', async () => {
    const [refused, repaired] = [aLocation(), aLocation({ fileHashSha256: 'd'.repeat(64) })];
    const world = aWorld({
      regenerateUrl: inTurn<RegenerateUrlResult>(
        { outcome: 'location', location: refused },
        { outcome: 'location', location: refused },
        { outcome: 'location', location: repaired },
      ),
      loadInvoice: inTurn<LoadInvoiceResult>(
        { outcome: 'rejected', reason: 'line 17' },
        { outcome: 'loaded', shipments: 2 },
      ),
    });
    await play(
      world,
      async (underTest) => {
        await underTest.send(finalized(refused));
        expect(await underTest.result()).toMatchObject({ state: 'loaded', sha256: 'd'.repeat(64) });
      },
      { repairAfter: ['50 ms', '80 ms'] },
    );
    expect(world.parked.map(({ code }) => code)).toEqual(['csv-rejected']);
    // Each time that the hash was the same, one call was all.
    expect(world.calls.filter((name) => name !== 'fetchToken')).toEqual([
      ...['recordEvent', 'downloadCsv', 'loadInvoice', 'markNeedsAttention'],
      ...[
        'regenerateUrl',
        'regenerateUrl',
        'regenerateUrl',
        'clearNeedsAttention',
        'downloadCsv',
        'loadInvoice',
      ],
    ]);
  });

  test('requests another export than the refused one, where only export-csv exists', async () => {
    const tag = { etag: '"v1"', lastModified: null };
    const asked: unknown[] = [];
    const answer = inTurn<ExportCsvResult>(
      { outcome: 'fetched', sha256: 'c'.repeat(64), sizeBytes: 9, tag },
      { outcome: 'not-modified' },
      { outcome: 'fetched', sha256: 'd'.repeat(64), sizeBytes: 9 },
    );
    const world = aWorld({
      downloadCsv: async () => ({ outcome: 'url-refused', message: '403' }),
      regenerateUrl: async () => ({ outcome: 'not-exported' }),
      async exportCsv(request) {
        asked.push(request.unless);
        return answer();
      },
      loadInvoice: inTurn<LoadInvoiceResult>(
        { outcome: 'rejected', reason: 'line 17' },
        { outcome: 'loaded', shipments: 2 },
      ),
    });
    await play(
      world,
      async (stage) => {
        await stage.send(finalized());
        expect(await stage.result()).toMatchObject({ state: 'loaded', sha256: 'd'.repeat(64) });
      },
      { repairAfter: ['50 ms', '80 ms'] },
    );
    expect(asked.slice(0, 3)).toEqual([undefined, tag, tag]);
  });

  test('downloads wrong bytes again, regenerates, downloads again, then exports (spec 6, rule 8)', async () => {
    const world = aWorld({ downloadCsv: async () => ({ outcome: 'mismatch', message: 'aa, announced bb' }) });
    await play(world, async (underTest) => {
      await underTest.send(finalized());
      expect(await underTest.result()).toEqual({ state: 'loaded', sha256: 'e'.repeat(64) });
    });
    expect(world.calls).toEqual([
      ...['recordEvent', 'downloadCsv', 'downloadCsv', 'fetchToken', 'regenerateUrl', 'downloadCsv'],
      ...['exportCsv', 'loadInvoice'],
    ]);
    expect(world.loads[0]).toMatchObject({ source: 'export', announcedSha256: null });
  });

  test('needs attention, with both hashes, when nothing brings the announced bytes', async () => {
    const world = aWorld({
      downloadCsv: async () => ({ outcome: 'mismatch', message: 'The SHA-256 is aa, announced was bb.' }),
      exportCsv: async () => ({ outcome: 'not-found' }),
    });
    await play(world, async (underTest) => {
      await underTest.send(finalized());
      await underTest.until('needs_attention');
      expect((await underTest.status()).attention).toMatchObject({ code: 'hash-mismatch' });
    });
    expect(world.parked[0]?.reason).toContain('The SHA-256 is aa, announced was bb.');
  });

  test('finds a finalized event that was not delivered', async () => {
    const world = aWorld({
      lookUpInvoice: async () => ({ outcome: 'found', status: 'finalized', header: {} }),
    });
    await play(world, async (underTest) => {
      await underTest.send(created());
      expect(await underTest.result()).toMatchObject({ state: 'loaded' });
    });
    expect(world.calls).toContain('recordDetails');
  });

  test('finds a void lost after loading when it is looked up', async () => {
    const world = aWorld({ lookUpInvoice: async () => ({ outcome: 'found', status: 'voided', header: {} }) });
    await play(world, async (underTest) => {
      await underTest.send(finalized());
      expect(await underTest.result()).toMatchObject({ state: 'loaded' });
      await underTest.lookUp();
      expect(await underTest.result()).toMatchObject({ state: 'voided' });
    });
  });

  test('takes a 404 for not yet while only created is known, and asks again', async () => {
    const world = aWorld({
      lookUpInvoice: async () => ({ outcome: 'not-found' }),
      regenerateUrl: async () => ({ outcome: 'not-exported' }),
    });
    await play(
      world,
      async (underTest) => {
        await underTest.send(created());
        await eventually(() => world.calls.filter((name) => name === 'lookUpInvoice').length >= 3);
        expect((await underTest.status()).state).toBe('draft');
      },
      { overdueAfter: ['30 ms'] },
    );
  });

  test('ends as unknown when the service does not know the id', async () => {
    const world = aWorld({
      lookUpInvoice: async () => ({ outcome: 'not-found' }),
      regenerateUrl: async () => ({ outcome: 'not-exported' }),
    });
    await play(world, async (underTest) => {
      await underTest.lookUp();
      expect(await underTest.result()).toEqual({ state: 'unknown', sha256: null });
    });
  });

  test('keeps a rejected file until a person retries', async () => {
    const rejected = { outcome: 'rejected', reason: 'line 17, column Billing Cost' } as const;
    const loaded = { outcome: 'loaded', shipments: 2 } as const;
    const world = aWorld({
      loadInvoice: inTurn<Awaited<ReturnType<World['activities']['loadInvoice']>>>(rejected, loaded),
    });
    await play(world, async (underTest) => {
      await underTest.send(finalized());
      await underTest.until('needs_attention');
      expect((await underTest.status()).attention).toEqual({ code: 'csv-rejected', reason: rejected.reason });
      await underTest.retry();
      expect(await underTest.result()).toMatchObject({ state: 'loaded' });
    });
    expect(world.calls).toContain('clearNeedsAttention');
  });

  test('retries a rejected file for a new announcement, and voids it for a void', async () => {
    const world = aWorld({ loadInvoice: async () => ({ outcome: 'rejected', reason: 'line 2' }) });
    await play(world, async (underTest) => {
      await underTest.send(finalized());
      await underTest.until('needs_attention');
      await underTest.send(finalized());
      await eventually(() => world.parked.length === 2);
      await underTest.send(voided());
      expect(await underTest.result()).toMatchObject({ state: 'voided' });
    });
  });

  test('needs attention at once when the client may not regenerate, and there is nothing to export', async () => {
    const world = aWorld({
      regenerateUrl: async () => ({ outcome: 'forbidden', message: 'The scope is missing.' }),
      exportCsv: async () => ({ outcome: 'not-found' }),
    });
    await play(world, async (underTest) => {
      await underTest.send(finalized(expired()));
      await underTest.until('needs_attention');
    });
    expect(world.parked.map(({ code }) => code)).toEqual(['forbidden']);
  });

  test('waits for an unreachable service and reports the failure', async () => {
    let isAway = true;
    const world = aWorld({
      downloadCsv: async ({ location }) =>
        isAway ? unreachable() : { outcome: 'fetched', sha256: location.fileHashSha256, sizeBytes: 1 },
      // Both ways to the file are away, or the second series would load it before its failure is read.
      exportCsv: unreachable,
    });
    await play(
      world,
      async (underTest) => {
        await underTest.send(finalized());
        await eventually(() => world.noted.includes('unreachable'));
        isAway = false;
        expect(await underTest.result()).toMatchObject({ state: 'loaded' });
      },
      { attentionAfter: '1 h' },
    );
  });

  test('loads the newer file when another is announced during the load', async () => {
    const newer = anEvent('invoice_finalized', { at: '2026-03-10T00:00:00Z' });
    const world = aWorld();
    const { loadInvoice } = world.activities;
    let release: () => void = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    world.activities.loadInvoice = async (request) => {
      if (world.loads.length === 0) await released;
      return loadInvoice(request);
    };
    await play(world, async (underTest) => {
      await underTest.send(finalized());
      await eventually(() => world.calls.includes('downloadCsv'));
      await underTest.send(newer);
      await eventually(async () => (await underTest.status()).seen === 2);
      release();
      expect(await underTest.result()).toEqual({ state: 'loaded', sha256: newer.export?.fileHashSha256 });
    });
    expect(world.loads).toHaveLength(2);
  });

  test('queries the service about an event type that the workflow does not know', async () => {
    const world = aWorld({ lookUpInvoice: async () => ({ outcome: 'found', status: 'voided', header: {} }) });
    await play(
      world,
      async (stage) => {
        await stage.begin(created());
        const unknown = {
          ...created(),
          eventType: 'invoice_reversed',
          invoice: { invoiceId: stage.invoiceId },
        };
        await stage.handle().signal('invoiceEvent', unknown);
        expect(await stage.result()).toMatchObject({ state: 'voided' });
      },
      { overdueAfter: ['1 h'] },
    );
  });

  test('drops a signal that is not an event of the invoice', async () => {
    const world = aWorld();
    await play(world, async (underTest) => {
      await underTest.begin(created());
      for (const junk of [
        null,
        7,
        'text',
        {},
        { eventId: 1 },
        { eventId: 'x', eventType: 'invoice_exploded' },
      ]) {
        await underTest.handle().signal('invoiceEvent', junk);
      }
      await underTest.send(finalized());
      expect(await underTest.result()).toMatchObject({ state: 'loaded' });
    });
  });
});
