import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { diffVersions, type Explanation, explainTracking } from '../../warehouse/explain-published.ts';
import { drawRows, type InvoiceRow, type LoadRow, store } from './ledger/drawn-rows.ts';
import { aCsv, anEvent, archiveCsv, aWarehouse, type Cells, loadCsv, type TestWarehouse } from './support.ts';

let t: TestWarehouse;
beforeAll(async () => {
  t = await aWarehouse();
});
afterAll(() => t.close());

describe('diffVersions', () => {
  const row = fc.record({
    'Tracking Number': fc.constantFrom('a', 'b'),
    'Billing Cost': fc.constantFrom('1', '2', '10'),
    Origin: fc.constantFrom('', '', '00501'),
    'Service Level': fc.constantFrom('', 'Ground'),
    'Ship Date': fc.constantFrom('2026-02-03', '2026-02-03', '2026-02-04'),
  });
  const rows = fc.array(row, { minLength: 1, maxLength: 6 });

  /** Rows that both have are paired one to one; the others by all but their cost, the cheapest with the cheapest. */
  function changesOf(before: readonly Cells[], after: readonly Cells[]) {
    const left = [...after];
    const text = (cells: Cells): string => JSON.stringify(cells);
    const removed = before.filter((cells) => {
      const at = left.findIndex((other) => text(other) === text(cells));
      if (at >= 0) left.splice(at, 1);
      return at < 0;
    });
    const costsOf = (of: readonly Cells[]) =>
      Map.groupBy(of, ({ 'Billing Cost': _, ...cells }) => JSON.stringify(cells));
    const [old, added] = [costsOf(removed), costsOf(left)];
    const sorted = (of: readonly Cells[] | undefined): readonly number[] =>
      (of ?? []).map((cells) => Number(cells['Billing Cost'])).sort((a, b) => a - b);
    const decimal = (of: number | undefined): string | null => (of === undefined ? null : of.toFixed(4));
    return [...new Set([...old.keys(), ...added.keys()])].flatMap((key) => {
      const [from, to] = [sorted(old.get(key)), sorted(added.get(key))];
      const { 'Tracking Number': number, ...cells } = JSON.parse(key) as Cells;
      const more = [cells['Ship Date'], cells['Service Level'] || null];
      return Array.from({ length: Math.max(from.length, to.length) }, (_, n) => {
        const change = n >= from.length ? 'added' : n >= to.length ? 'removed' : 'changed';
        return [change, number, ...more, decimal(from[n]), decimal(to[n])];
      });
    });
  }

  test('lists the rows that were added, removed and changed in cost, of any two files', async () => {
    await fc.assert(
      fc.asyncProperty(rows, rows, async (before, after) => {
        fc.pre(JSON.stringify(before) !== JSON.stringify(after));
        const invoiceId = crypto.randomUUID();
        await loadCsv(t, aCsv(before, invoiceId), { invoiceId });
        await loadCsv(t, aCsv(after, invoiceId), { invoiceId });
        const { path } = await t.warehouse.publish();
        const diff = await diffVersions({ databasePath: path, invoiceId });
        expect(diff).toMatchObject({ from: { version: 1 }, to: { version: 2, isCurrent: true } });
        const found = diff.changes.map((c) => [
          c.change,
          c.trackingNumber,
          c.shipDate,
          c.serviceLevel,
          c.oldBillingCost,
          c.newBillingCost,
        ]);
        expect(found.map(String).sort()).toEqual(changesOf(before, after).map(String).sort());
      }),
      { numRuns: 25 },
    );
  });
});

describe('explainTracking', () => {
  test('traces a row to its line, file, URL, event and run', async () => {
    const bytes = aCsv([{}, {}, { 'Tracking Number': 'wanted' }, {}, { 'Tracking Number': 'wanted' }]);
    const file = await archiveCsv(t, bytes);
    const event = anEvent('invoice_finalized', { fileHashSha256: file.sha256 });
    await t.record([event]);
    await loadCsv(t, bytes, { eventId: event.eventId, workflowRunId: 'run-7' });
    const { path } = await t.warehouse.publish();
    const found = await explainTracking({
      databasePath: path,
      archive: t.archive,
      trackingNumber: 'wanted',
    });
    // A header line, then records of two lines each.
    const rest = { eventId: event.eventId, workflowRunId: 'run-7' };
    expect(found).toMatchObject([
      { rowNumber: 3, line: 6, ...rest },
      { rowNumber: 5, line: 10, ...rest },
    ]);
    expect(
      await explainTracking({ databasePath: path, archive: null, trackingNumber: "x' or 1=1 --" }),
    ).toEqual([]);
  });

  /** The proof of a file: the service's answer, else an announcement, else the header (ADR 17). */
  function explained(row: InvoiceRow, load: LoadRow): Partial<Explanation> {
    const { of } = load;
    const announcements = row.events
      .filter(({ of: { verdict, announced_sha256 } }) => verdict === 'accepted' && announced_sha256 !== null)
      .sort((a, b) => a.of.received_at.localeCompare(b.of.received_at));
    const firstOf = (hash: string | null) =>
      announcements.find(({ of: { announced_sha256 } }) => announced_sha256 === hash);
    const announced =
      firstOf(of.file_sha256) ?? (of.encoded_sha256 === null ? undefined : firstOf(of.encoded_sha256));
    const isAnswered =
      row.named.some(
        ({ kind, file_sha256: hash }) =>
          kind === 'hash' && [of.file_sha256, of.encoded_sha256].includes(hash),
      ) ||
      (of.announced_sha256 === of.file_sha256 && of.file_source !== 'event');
    const isAnnounced = announced !== undefined || of.announced_sha256 === of.file_sha256;
    const hashFrom = isAnswered ? 'regenerate' : isAnnounced ? 'event' : null;
    const isCurrent = row.current === load;
    const byHeader = row.proof === 'header' && isCurrent ? 'header' : 'unproved';
    const event = announced ?? row.events.find(({ event_id }) => event_id === load.event_id);
    return {
      ...{ version: load.version, isCurrent, sha256: of.file_sha256, hashFrom },
      proof: { regenerate: 'hash', event: 'announced', none: of.is_damaged === true ? 'accepted' : byHeader }[
        hashFrom ?? 'none'
      ] as Explanation['proof'],
      ...{ eventId: event?.event_id ?? null, eventSha256: event?.of.announced_sha256 ?? null },
      ...{ eventReceivedAt: event?.of.received_at ?? null, encodedSha256: of.encoded_sha256 },
      ...{ workflowRunId: `run-${load.load_id}`, loadedAt: of.loaded_at },
      ...{ state: row.state as Explanation['state'], voidedAt: row.voided_at, source: of.file_source },
    };
  }

  describe('of drawn rows', () => {
    let drawn: TestWarehouse;
    beforeEach(async () => {
      drawn = await aWarehouse();
    });

    test('names the event, the source and the proof of each file, the current versions first', async () => {
      // Equal instants of two announcements of one file would leave the choice open.
      const rows = drawRows(300).filter(({ events }) => {
        const keys = events.map(({ of }) => of.announced_sha256 + of.received_at);
        return new Set(keys).size === keys.length;
      });
      await store(drawn, rows);
      const { path: databasePath } = await drawn.warehouse.publish();
      for (const trackingNumber of ['T1', 'T2']) {
        const found = await explainTracking({ databasePath, archive: null, trackingNumber });
        const all = rows.flatMap((row) =>
          row.loads.flatMap((load) =>
            load.of.rows.flatMap(({ tracking_number, cost }, n) => {
              const line = { rowNumber: n + 1, billingCost: (cost / 100).toFixed(4) };
              const of = { invoiceId: row.invoice_id, ...line, ...explained(row, load) };
              return tracking_number === trackingNumber ? [of] : [];
            }),
          ),
        );
        const order = all.toSorted(
          (a, b) =>
            Number(b.isCurrent) - Number(a.isCurrent) ||
            (a.invoiceId === b.invoiceId
              ? (b.version ?? 0) - (a.version ?? 0)
              : a.invoiceId < b.invoiceId
                ? -1
                : 1),
        );
        expect(found).toHaveLength(order.length);
        for (const [n, one] of order.entries()) expect(found[n]).toMatchObject(one);
        for (const { invoiceId, sha256, cameFrom, fileHadAt } of found) {
          const had = rows.find(({ invoice_id }) => invoice_id === invoiceId)?.had ?? [];
          const first = had
            .filter((line) => line.file_sha256 === sha256)
            .map((line) => line.recorded_at)
            .sort()[0];
          if (first !== undefined) expect(fileHadAt).toBe(first);
          else expect(cameFrom).toBe(null);
        }
      }
      await drawn.close();
    });
  });
});
