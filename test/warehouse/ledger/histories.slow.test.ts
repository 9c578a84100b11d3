/** The histories of drawn-history.ts in a real warehouse: the views, the published copy and a rebuild have the same answers. */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { aCsv, anEvent, aWarehouse, INVOICE, loadCsv, sha256, type TestWarehouse } from '../support.ts';
import { drawnHistory, RIGHT, type Step, WRONG } from './drawn-history.ts';

const FILES = new Map(
  ['a', 'b', 'c'].map((letter, index) => [letter, aCsv([{ 'Billing Cost': `${2 ** index}` }])]),
);
const DAY = 86_400_000;

function fileOf(hash: string): Buffer {
  return FILES.get(hash.charAt(0)) ?? aCsv();
}

async function act(t: TestWarehouse, { act }: Step, at: string, index: number): Promise<void> {
  const { warehouse } = t;
  const by = { invoiceId: INVOICE, by: 'ada', reason: 'why', isDryRun: false };
  switch (act.kind) {
    case 'finalized':
      return t.record([
        anEvent('invoice_finalized', {
          ...{ eventId: `f-${index}`, receivedAt: at, fileHashSha256: sha256(fileOf(act.hash)) },
          eventTimestamp: new Date(Math.min(Date.parse(at) + act.sentAhead, 253e12)).toISOString(),
        }),
      ]);
    case 'void':
      return t.record([anEvent('invoice_voided', { eventId: act.id, receivedAt: at })]);
    case 'void-details':
      return warehouse.recordDetails({ invoiceId: INVOICE, status: 'voided', header: {} });
    case 'load': {
      const isNamed = act.source === 'event' || act.source === 'regenerate';
      const more = isNamed ? {} : { announcedSha256: null, acceptsSpreadsheet: true };
      await loadCsv(t, fileOf(act.hash), { source: act.source, ...more });
      return;
    }
    case 'answer':
      return warehouse.recordHash({ invoiceId: INVOICE, sha256: sha256(fileOf(act.hash)), sizeBytes: 1 });
    case 'deny':
      return warehouse.markNeedsAttention({
        invoiceId: INVOICE,
        code: 'void-contradicted',
        reason: 'denied',
      });
    case 'fail':
      return warehouse.recordFailure(INVOICE, { code: 'server-fault', reason: 'failed' });
    case 'restore':
      await warehouse.decide({ kind: 'restore', ...by });
      return;
    case 'choose':
      await warehouse.decide({ kind: 'use-version', version: act.version, ...by });
  }
}

/** @param check after all steps; `answers` has the total after the last step of each instant */
async function play(
  steps: readonly Step[],
  check: (t: TestWarehouse, answers: ReadonlyMap<string, unknown>) => Promise<void>,
): Promise<void> {
  let right = Date.now() - DAY;
  let skew = 0;
  const t = await aWarehouse({ now: () => new Date(right + skew) });
  const answers = new Map<string, unknown>();
  try {
    for (const [index, step] of steps.entries()) {
      right += step.minutes * 60_000;
      skew = step.skew;
      await act(t, step, new Date(right + skew).toISOString(), index);
      skew = 0;
      answers.set(new Date(right).toISOString(), await total(t));
    }
    right = Date.now();
    await check(t, answers);
    const before = await row(t);
    await t.rebuild();
    expect(await row(t)).toEqual(before);
    expect(await t.drift()).toEqual([]);
  } finally {
    await t.close();
  }
}

async function total(t: TestWarehouse, instant?: string): Promise<unknown> {
  const from = instant === undefined ? 'shipments' : `shipments_as_known_on(timestamptz '${instant}')`;
  const [found] = await t.query(`select sum(billing_cost)::varchar as cost from ${from}`);
  return found?.cost;
}

const row = (t: TestWarehouse) => t.query('from internal.invoice_state order by invoice_id');

test('has the totals that it had at each earlier instant, also after a rebuild', async () => {
  await fc.assert(
    fc.asyncProperty(drawnHistory(RIGHT), (steps) =>
      play(steps, async (t, answers) => {
        for (const [instant, answer] of answers) expect(await total(t, instant)).toEqual(answer);
      }),
    ),
    { numRuns: 12 },
  );
}, 240_000);

test('has as of now the totals of the present, whatever the clocks were', async () => {
  await fc.assert(
    fc.asyncProperty(drawnHistory(WRONG), (steps) =>
      play(steps, async (t) => {
        const present = await total(t);
        expect(await total(t, new Date().toISOString())).toEqual(present);
        expect(await total(t, '9999-12-31T00:00:00Z')).toEqual(present);
      }),
    ),
    { numRuns: 12 },
  );
}, 240_000);
