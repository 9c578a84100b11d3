/** A purge before an instant removes no file that a report as known on or after it needs, and keeps no other without a reason (ADR 20). */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { aCsv, anEvent, archiveCsv, aWarehouse, INVOICE, loadArchived, sha256 } from '../support.ts';

const OTHER = '22222222-2222-4222-8222-222222222222';
const LAST = '33333333-3333-4333-8333-333333333333';
/** A row shows by its cost of which file it is. */
const CENTS: Readonly<Record<string, string>> = { [INVOICE]: '.25', [OTHER]: '.50', [LAST]: '.75' };
const DAY_MS = 86_400_000;

const invoice = fc.constantFrom(INVOICE, INVOICE, INVOICE, OTHER);
const act = fc.oneof(
  fc.record({
    kind: fc.constantFrom('announce', 'fetch', 'load', 'load', 'load'),
    invoice,
    file: fc.nat({ max: 2 }),
  }),
  fc.record({ kind: fc.constantFrom('void', 'choose'), invoice, file: fc.nat({ max: 2 }) }),
);
const history = fc.record({
  acts: fc.array(act, { minLength: 1, maxLength: 9 }),
  /** The number of acts before the instant of the purge. */
  before: fc.nat({ max: 9 }),
});

test('removable files are those that no report since the purge’s date needs', async () => {
  await fc.assert(
    fc.asyncProperty(history, async ({ acts, before }) => {
      let nowMs = Date.parse('2026-03-01T00:00:00.000Z');
      const tick = (): Date => {
        nowMs += 1;
        return new Date(nowMs);
      };
      const t = await aWarehouse({ now: tick });
      const bytesOf = (invoiceId: string, file: number) =>
        aCsv([{ 'Billing Cost': `${file + 1}${CENTS[invoiceId]}` }], invoiceId);
      const announce = (invoiceId: string, hash: string) => {
        const at = tick().toISOString();
        const header = { invoiceId };
        return t.record([
          anEvent('invoice_finalized', { receivedAt: at, eventTimestamp: at, header, fileHashSha256: hash }),
        ]);
      };
      const dates: string[] = [];
      const touched = new Map<string, number>();
      const [loaded, fetched] = [new Set<string>(), new Set<string>()];
      const versions = new Map<string, string[]>();
      const voidedAt = new Map<string, number>();
      // The newest load of all stays.
      const all = [...acts, { kind: 'load', invoice: LAST, file: 0 }] as const;
      for (const [index, { kind, invoice: invoiceId, file }] of all.entries()) {
        nowMs += DAY_MS;
        dates.push(new Date(nowMs - DAY_MS / 2).toISOString());
        const bytes = bytesOf(invoiceId, file);
        const hash = sha256(bytes);
        if (kind === 'announce') {
          await announce(invoiceId, hash);
          touched.set(hash, index);
        } else if (kind === 'fetch') {
          const had = { sha256: hash, sizeBytes: bytes.length, source: 'event', from: null } as const;
          await t.archive.putFact({ kind: 'file', at: tick().toISOString(), invoiceId, ...had });
          await t.warehouse.ingestArchive();
          touched.set(hash, index);
          fetched.add(hash);
        } else if (kind === 'load') {
          await archiveCsv(t, bytes);
          const { outcome } = await loadArchived(t, hash, { invoiceId });
          if (outcome === 'loaded') {
            touched.set(hash, index);
            loaded.add(hash);
            versions.set(invoiceId, [...(versions.get(invoiceId) ?? []), hash]);
          }
        } else if (kind === 'void') {
          const at = tick().toISOString();
          await t.record([
            anEvent('invoice_voided', { receivedAt: at, eventTimestamp: at, header: { invoiceId } }),
          ]);
          if (!voidedAt.has(invoiceId)) voidedAt.set(invoiceId, index);
        } else {
          const decision = {
            kind: 'use-version',
            version: file + 1,
            invoiceId,
            by: 'ada',
            reason: 'so',
            isDryRun: false,
          } as const;
          const { outcome } = await t.warehouse.decide(decision);
          if (outcome === 'done') touched.set(versions.get(invoiceId)?.[file] ?? '', index);
        }
      }
      const at = Math.min(before, dates.length - 1);
      const date = dates[at] ?? '';
      const removable = new Map(
        (await t.warehouse.removableFiles(date)).map((each) => [each.sha256, each.invoiceId]),
      );
      for (const { sha256: hash, invoiceId, why } of await t.warehouse.removableFiles(date)) {
        const isVoided = (await t.warehouse.invoice(invoiceId))?.state === 'voided';
        expect(why).toBe(!loaded.has(hash) ? 'never-loaded' : isVoided ? 'voided' : 'replaced');
      }
      const known = [...dates.slice(at), '2027-01-01T00:00:00.000Z'].map(
        (instant) =>
          `select billing_cost::varchar as cost from shipments_as_known_on(timestamptz '${instant}')`,
      );
      const needed = new Set((await t.query(known.join(' union all '))).map(({ cost }) => cost));
      for (const invoiceId of [INVOICE, OTHER]) {
        for (const file of [0, 1, 2]) {
          const hash = sha256(bytesOf(invoiceId, file));
          const isNeeded = needed.has(`${file + 1}${CENTS[invoiceId]}00`);
          const isTouched = (touched.get(hash) ?? -1) >= at;
          if (isNeeded || isTouched) expect(removable.has(hash)).toBe(false);
          // Void since before the date, or replaced: nothing else keeps a loaded file.
          const state = (await t.warehouse.invoice(invoiceId))?.state;
          const isVoided = state === 'voided' && (voidedAt.get(invoiceId) ?? 99) < at;
          const isSettled = state === 'loaded' || isVoided;
          if (fetched.has(hash) && !loaded.has(hash) && !isTouched && isVoided)
            expect(removable.get(hash)).toBe(invoiceId);
          if (loaded.has(hash) && !isNeeded && !isTouched && isSettled)
            expect(removable.get(hash)).toBe(invoiceId);
        }
      }
      expect(removable.has(sha256(bytesOf(LAST, 0)))).toBe(false);
      await t.close();
    }),
    { numRuns: 15 },
  );
});
