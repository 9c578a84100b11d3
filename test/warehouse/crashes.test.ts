/** Whatever a crash leaves of a warehouse, the next start has every view as it was, from the archive. */

import { copyFileSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  aCsv,
  anEvent,
  archiveCsv,
  aWarehouse,
  INVOICE,
  loadArchived,
  queryFile,
  READER_VIEWS,
  type TestWarehouse,
} from './support.ts';

const IDS = [INVOICE, '22222222-2222-4222-8222-222222222222'];
const act = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      ...{ kind: fc.constant('load' as const), file: fc.nat({ max: 9 }) },
      source: fc.constantFrom('event', 'regenerate', 'export'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        'create',
        'finalize',
        'void',
        'test',
        'details',
        'attention',
        'restore',
        'choose',
      ),
    }),
  },
);
const crash = fc.constantFrom(
  ...['none', 'none', 'none', 'copied', 'fact lost', 'published, fact lost', 'facts of a batch lost'],
  ...['older copy', 'no file', 'half replayed', 'dead rebuild', 'rebuild'],
);
const steps = fc.array(fc.record({ act, crash, invoice: fc.constantFrom(...IDS) }), {
  minLength: 2,
  maxLength: 7,
});

async function views(t: TestWarehouse): Promise<Record<string, unknown>> {
  const { path } = await t.warehouse.publish();
  const read = READER_VIEWS.map(async (view) => [
    view,
    await queryFile(path, `select * from ${view} order by all`),
  ]);
  return Object.fromEntries(await Promise.all(read));
}

async function perform(
  t: TestWarehouse,
  step: { act: typeof act extends fc.Arbitrary<infer A> ? A : never; invoice: string },
) {
  const { act: of, invoice: invoiceId } = step;
  const by = { invoiceId, by: 'ada', reason: 'asked', isDryRun: false };
  const header = { invoiceId };
  switch (of.kind) {
    case 'load': {
      const rows = [{ 'Billing Cost': `${of.file}.25` }, { 'Ship Date': '2026-02-04', Origin: '' }];
      const { sha256 } = await archiveCsv(t, aCsv(rows, invoiceId));
      const announcedSha256 = of.source === 'export' ? null : sha256;
      return loadArchived(t, sha256, { invoiceId, source: of.source, announcedSha256 });
    }
    case 'create':
      return t.record([anEvent('invoice_created', { header })]);
    case 'finalize':
      return t.record([anEvent('invoice_finalized', { header: { ...header, invoiceTotalAmount: '1.25' } })]);
    case 'void':
      return t.record([anEvent('invoice_voided', { header })]);
    case 'test':
      return t.record([anEvent('invoice_voided', { header, verdict: 'test' })]);
    case 'details':
      return t.warehouse.recordDetails({ invoiceId, status: 'finalized', header: { invoiceNumber: 'D' } });
    case 'attention':
      return t.warehouse.markNeedsAttention({ invoiceId, code: 'not-exported', reason: 'why' });
    case 'restore':
      return t.warehouse.decide({ kind: 'restore', ...by });
    case 'choose':
      return t.warehouse.decide({ kind: 'use-version', version: 1, ...by });
  }
}

/** Loads new files whose facts do not reach the archive. */
async function loadWithoutFact(t: TestWarehouse, n: number, count: number): Promise<void> {
  const { putFact } = t.archive;
  const fails = async (fact: { readonly kind?: string }) => {
    if (fact.kind === 'load') throw new Error('killed');
    return putFact(fact as Parameters<typeof putFact>[0]);
  };
  Object.assign(t.archive, { putFact: fails });
  const loads = Array.from({ length: count }, async (_, at) => {
    const invoiceId = crypto.randomUUID();
    const { sha256 } = await archiveCsv(t, aCsv([{ 'Billing Cost': `${n}.${at + 10}` }], invoiceId));
    return loadArchived(t, sha256, { invoiceId });
  });
  await Promise.allSettled(loads);
  Object.assign(t.archive, { putFact });
}

async function play(drawn: typeof steps extends fc.Arbitrary<infer S> ? S : never): Promise<void> {
  const t = await aWarehouse();
  const path = join(t.dataDir, 'warehouse.duckdb');
  const older = `${path}.old`;
  const copy = async () => {
    await t.warehouse.close();
    copyFileSync(path, older);
    await t.reopen();
  };
  await copy();
  for (const [n, step] of drawn.entries()) {
    await perform(t, step);
    if (step.crash === 'none') continue;
    if (step.crash === 'copied') {
      await copy();
      continue;
    }
    if (/fact/.test(step.crash)) await loadWithoutFact(t, n, step.crash.startsWith('facts') ? 5 : 1);
    if (step.crash === 'published, fact lost') await t.warehouse.publish();
    const before = await views(t);
    if (step.crash === 'rebuild') {
      const { losses, movedAside } = await t.rebuild();
      expect([losses, movedAside !== null && existsSync(movedAside)]).toEqual([[], true]);
    } else {
      await t.warehouse.close();
      if (/older|no file|half/.test(step.crash)) rmSync(`${path}.wal`, { force: true });
      if (step.crash === 'older copy') copyFileSync(older, path);
      if (step.crash === 'no file' || step.crash === 'half replayed') rmSync(path);
      if (step.crash === 'dead rebuild') writeFileSync(`${path}.rebuilding`, 'half a warehouse');
      if (step.crash === 'half replayed') {
        const { reread } = t.archive;
        let left = 1;
        Object.assign(t.archive, {
          reread: async (sha256: string) => {
            left -= 1;
            if (left < 0) throw Object.assign(new Error('the disk is gone'), { code: 'EIO' });
            return reread(sha256);
          },
        });
        await t.reopen().catch(() => undefined);
        Object.assign(t.archive, { reread });
      }
      await t.reopen();
      expect(existsSync(`${path}.rebuilding`)).toBe(false);
    }
    expect(await views(t)).toEqual(before);
    expect(await t.drift()).toEqual([]);
    const facts = await Array.fromAsync(t.archive.facts());
    const loads = facts.flatMap((fact) => (fact.kind === 'load' ? [`${fact.loadId}`] : []));
    expect(new Set(loads).size).toBe(loads.length);
    const [versions] = await t.query('select count(distinct load_id)::integer as n from shipment_versions');
    expect(loads).toHaveLength(Number(versions?.n));
  }
  await t.close();
}

test('a start after any crash, and a rebuild, have every view as it was', async () => {
  await fc.assert(fc.asyncProperty(steps, play), { numRuns: 5 });
});
