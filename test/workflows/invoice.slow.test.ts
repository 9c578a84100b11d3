/** The invoice workflow on a real server: every order of events, every way in which a file refuses to come. */

import type { WorkflowHandle } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { describe, expect, test } from 'vitest';
import type { ExportCsvResult, LoadInvoiceResult, RegenerateUrlResult } from '../../workflows/activities.ts';
import { eventually } from '../support/eventually.ts';
import { anInvoiceRoute, QUICK_PACE } from '../support/temporal/quick-route.ts';
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

  test('takes two tasks, one activity, one marker and one update when who brings the file loads it', async () => {
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

  test('a draft that somebody asked about waits for the rest of its time, and not for all of it again', async () => {
    const world = aWorld({ lookUpInvoice: async () => ({ outcome: 'found', status: 'draft', header: {} }) });
    const questions = (): number => world.calls.filter((name) => name === 'lookUpInvoice').length;
    let history: History = {};
    await play(
      world,
      async (underTest) => {
        await underTest.send(created());
        const { raw } = await underTest.handle().describe();
        expect(raw.workflowExecutionInfo?.historyLength?.toNumber()).toBe(2);
        await underTest.lookUp();
        await eventually(() => questions() >= 1);
        await underTest.until('draft');
        await eventually(() => questions() >= 2);
        history = await underTest.handle().fetchHistory();
      },
      { overdueAfter: ['6 s', '1 h'] },
    );
    const [first] = (history.events ?? []).flatMap((event) => event.timerStartedEventAttributes ?? []);
    expect(Number(first?.startToFireTimeout?.seconds)).toBeLessThan(6);
  });

  test('waits for the event that the ledger has before it, since that brings the URL', async () => {
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

  test('loads one file once, however often and in whatever order it is told', async () => {
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

  test('voids what was loaded in a short new run', async () => {
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

  test('regenerates the URL when its host is not on the list', async () => {
    const world = aWorld({
      downloadCsv: async ({ source, location }) =>
        source === 'event'
          ? { outcome: 'host-not-allowed', message: 'storage.example is not on the list' }
          : { outcome: 'fetched', sha256: location.fileHashSha256, sizeBytes: 1 },
    });
    await play(world, async (underTest) => {
      await underTest.send(finalized());
      expect(await underTest.result()).toMatchObject({ state: 'loaded' });
    });
  });

  test('regenerates a refused URL, at most three URLs to a series, then has the file exported', async () => {
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
  ])('goes the other way when %s', async (_, answers, location) => {
    const world = aWorld(answers);
    await play(world, async (underTest) => {
      await underTest.send(finalized(location()));
      expect(await underTest.result()).toMatchObject({ state: 'loaded' });
    });
    expect(world.loads).toMatchObject([{ source: 'export', announcedSha256: null }]);
  });

  test('goes the other way when storage stays away, though not at once: its file has an announced hash', async () => {
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

  test('regenerates once what cannot be true, tries the other way, then needs attention', async () => {
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

  test('asks again for a file that broke a rule, and loads it once the service has repaired it', async () => {
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

  test('asks for another export than the refused one, where there is only export-csv', async () => {
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

  test('does not take a file for an approval when the status is a word that nobody knows', async () => {
    const world = aWorld({
      lookUpInvoice: async () => ({ outcome: 'found', status: null, unknownStatus: 'REVERSED', header: {} }),
    });
    await play(world, async (underTest) => {
      await underTest.lookUp();
      await eventually(() => world.calls.includes('recordDetails'));
      expect(await underTest.status()).toMatchObject({ state: 'draft' });
    });
    expect(world.calls).not.toContain('regenerateUrl');
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

  test('exports at once when a finalized invoice has no file to regenerate', async () => {
    const world = aWorld({ regenerateUrl: async () => ({ outcome: 'not-exported' }) });
    await play(world, async (underTest) => {
      await underTest.send(finalized(expired()));
      expect(await underTest.result()).toMatchObject({ state: 'loaded', sha256: 'e'.repeat(64) });
    });
  });

  test('needs attention after its patience when the service has no file at all', async () => {
    const world = aWorld({
      regenerateUrl: async () => ({ outcome: 'not-exported' }),
      exportCsv: async () => ({ outcome: 'not-found' }),
    });
    await play(world, async (underTest) => {
      await underTest.send(finalized(expired()));
      await underTest.until('needs_attention');
    });
    expect(world.parked.map(({ code }) => code)).toEqual(['not-exported']);
  });

  test('finds a finalized event that never came', async () => {
    const world = aWorld({
      lookUpInvoice: async () => ({ outcome: 'found', status: 'finalized', header: {} }),
    });
    await play(world, async (underTest) => {
      await underTest.send(created());
      expect(await underTest.result()).toMatchObject({ state: 'loaded' });
    });
    expect(world.calls).toContain('recordDetails');
  });

  test('finds by the file what the details do not say', async () => {
    const notYet = { outcome: 'not-exported' } as const;
    const world = aWorld({
      lookUpInvoice: async () => ({ outcome: 'found', status: null, header: {} }),
      regenerateUrl: inTurn<Awaited<ReturnType<World['activities']['regenerateUrl']>>>(notYet, {
        outcome: 'location',
        location: aLocation(),
      }),
    });
    await play(world, async (underTest) => {
      await underTest.send(created());
      expect(await underTest.result()).toMatchObject({ state: 'loaded' });
    });
  });

  test('finds a lost void', async () => {
    const world = aWorld({ lookUpInvoice: async () => ({ outcome: 'found', status: 'voided', header: {} }) });
    await play(world, async (underTest) => {
      await underTest.send(created());
      expect(await underTest.result()).toMatchObject({ state: 'voided' });
    });
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

  test('says that the service does not know an id nobody announced to us', async () => {
    const world = aWorld({
      lookUpInvoice: async () => ({ outcome: 'not-found' }),
      regenerateUrl: async () => ({ outcome: 'not-exported' }),
    });
    await play(world, async (underTest) => {
      await underTest.lookUp();
      expect(await underTest.result()).toEqual({ state: 'unknown', sha256: null });
    });
  });

  test('loads an invoice it never had an event of', async () => {
    const world = aWorld({
      lookUpInvoice: async () => ({ outcome: 'found', status: 'finalized', header: {} }),
    });
    await play(world, async (underTest) => {
      await underTest.watch();
      expect(await underTest.result()).toMatchObject({ state: 'loaded' });
    });
  });

  test('keeps a refused file until somebody retries', async () => {
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

  test('tries a refused file again when a new one is announced, and voids it when a void comes', async () => {
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

  test('outlasts a service that is away, and says what fails meanwhile', async () => {
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
        const failing = await eventually(async () => (await underTest.status()).lastFailure);
        expect(failing).toMatchObject({
          code: 'unreachable',
          message: expect.stringContaining('The service does not answer.'),
        });
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

  test('asks the service about an event whose type only a newer endpoint knows', async () => {
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

  test('drops a signal that is no event of the invoice, and does not stall', async () => {
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
