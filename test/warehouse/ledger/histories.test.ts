/** Totals at present, at every earlier instant, and in any order of ingestion follow from one rule (ADR 17). */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { deriveInvoice } from '../../../warehouse/ledger/derive-invoice.ts';
import type { InvoiceLines } from '../../../warehouse/ledger/invoice-lines.ts';
import { countingNow, countingOn, drawnHistory, play, RIGHT, WRONG } from './drawn-history.ts';

const RUNS = { numRuns: 2_000 };
const END = '9999-12-31T00:00:00.000Z';

describe('a drawn history of an invoice', () => {
  test('answers for every earlier instant what was answered then', () => {
    fc.assert(
      fc.property(drawnHistory(RIGHT), (steps) => {
        const moments = play(steps);
        const last = moments.at(-1)?.lines;
        for (const [index, { at, lines }] of moments.entries()) {
          // Steps at one instant have one answer, the last.
          if (moments[index + 1]?.at === at || last === undefined) continue;
          expect(countingOn(last, at)).toEqual(countingNow(lines));
        }
      }),
      RUNS,
    );
  });

  test('answers as known at the end what it answers at present, whatever the clocks were', () => {
    fc.assert(
      fc.property(drawnHistory(WRONG), (steps) => {
        for (const { lines } of play(steps)) expect(countingOn(lines, END)).toEqual(countingNow(lines));
      }),
      RUNS,
    );
  });

  test('counts the same whatever the clocks were', () => {
    fc.assert(
      fc.property(drawnHistory(WRONG), (steps) => {
        const isOrderedBySender = steps.filter(({ act }) => act.kind === 'finalized').length > 1;
        const right = steps.map((step) => ({ ...step, skew: 0 }));
        const [one, other] = [play(steps).at(-1)?.lines, play(right).at(-1)?.lines];
        if (one === undefined || other === undefined || isOrderedBySender) return;
        expect(countingNow(one)).toEqual(countingNow(other));
      }),
      RUNS,
    );
  });

  test('has the same row for every order of its events and loads', () => {
    const shuffled = <T>(of: readonly T[]): fc.Arbitrary<T[]> =>
      fc.shuffledSubarray([...of], { minLength: of.length, maxLength: of.length });
    fc.assert(
      fc.property(
        drawnHistory(WRONG).chain((steps) => {
          const lines: InvoiceLines = play(steps).at(-1)?.lines ?? { evidence: [], loads: [], attention: [] };
          return fc.record({
            lines: fc.constant(lines),
            other: fc.record({
              evidence: shuffled(lines.evidence),
              loads: shuffled(lines.loads),
              attention: fc.constant(lines.attention),
            }),
          });
        }),
        ({ lines, other }) => {
          expect(deriveInvoice(other)?.row).toEqual(deriveInvoice(lines)?.row);
        },
      ),
      RUNS,
    );
  });
});
