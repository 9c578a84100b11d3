import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { InvoiceEvent } from '../../lib/wire/invoice-event.ts';
import { EVENT_TYPES } from '../../lib/wire/names.ts';
import {
  applyEvent,
  completeLoad,
  completeVoid,
  type Knowledge,
  NOTHING_KNOWN,
  nextStep,
  stateOf,
} from '../../workflows/lifecycle.ts';
import { aLocation, anEvent } from './invoice-builders.ts';

const INVOICE_ID = '11111111-1111-1111-1111-111111111111';

function outcome(knowledge: Knowledge) {
  const { rank, isDisputed, loadedSha256 } = knowledge;
  return { rank, isDisputed, loadedSha256, seen: [...knowledge.seen].sort(), state: stateOf(knowledge) };
}

/** Performs the next step after every event, as the workflow does; the service names the file of the last event. */
function processAll(events: readonly InvoiceEvent[], named: string | undefined): Knowledge {
  let knowledge = NOTHING_KNOWN;
  for (const event of events) {
    knowledge = applyEvent(knowledge, event);
    const step = nextStep(knowledge);
    const { announcement, isDisputed } = knowledge;
    const sha256 = isDisputed ? named : announcement?.location.fileHashSha256;
    if (step === 'load' && sha256) knowledge = completeLoad(knowledge, { sha256, announcement });
    if (step === 'void') knowledge = completeVoid(knowledge);
  }
  return knowledge;
}

const anyEvent = fc
  .record({
    eventType: fc.constantFrom(...EVENT_TYPES),
    eventId: fc.uuid(),
    minute: fc.integer({ min: 0, max: 59 }),
    file: fc.integer({ min: 0, max: 3 }),
  })
  .map(({ eventType, eventId, minute, file }) =>
    anEvent(eventType, {
      ...{ invoiceId: INVOICE_ID, eventId, at: `2026-03-09T10:${String(minute).padStart(2, '0')}:00Z` },
      location: aLocation({
        presignedUrl: 'https://storage.example/a.csv',
        presignedUrlExpiresAt: '2026-03-10T10:00:00Z',
        fileHashSha256: String(file).repeat(64),
      }),
    }),
  );

/** The same events twice: in order, and shuffled with repeats. */
const eventsInAnyOrder = fc
  .uniqueArray(anyEvent, { minLength: 1, maxLength: 6, selector: (event) => event.eventId })
  .chain((events) =>
    fc.tuple(
      fc.constant(events),
      fc.array(fc.constantFrom(...events), { maxLength: 6 }).chain((repeats) =>
        fc.shuffledSubarray([...events, ...repeats], {
          minLength: events.length + repeats.length,
          maxLength: events.length + repeats.length,
        }),
      ),
    ),
  );

describe('lifecycle', () => {
  test('ends in the same knowledge for every order and repetition of events', () => {
    fc.assert(
      fc.property(eventsInAnyOrder, ([events, shuffled]) => {
        const straight = events.reduce(applyEvent, NOTHING_KNOWN);
        expect(outcome(shuffled.reduce(applyEvent, NOTHING_KNOWN))).toEqual(outcome(straight));
      }),
      { numRuns: 500 },
    );
  });

  test('ends in the same state and file when each event is acted on at once', () => {
    fc.assert(
      fc.property(eventsInAnyOrder, ([events, shuffled]) => {
        const named = events.findLast((event) => event.export !== null)?.export?.fileHashSha256;
        const [one, other] = [processAll(events, named), processAll(shuffled, named)];
        const types = events.map(({ eventType }) => eventType);
        const loadedOrDraft = types.includes('invoice_finalized') ? 'loaded' : 'draft';
        const expected = types.includes('invoice_voided') ? 'voided' : loadedOrDraft;
        expect([stateOf(one), stateOf(other)]).toEqual([expected, expected]);
        expect(nextStep(other)).toBe(nextStep(one));
        if (expected === 'draft') expect(nextStep(one)).toBe('wait');
        if (stateOf(one) === 'loaded') expect(other.loadedSha256).toBe(one.loadedSha256);
      }),
      { numRuns: 500 },
    );
  });

  test('never leaves voided', () => {
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 8 }), (events) => {
        const voided = applyEvent(NOTHING_KNOWN, anEvent('invoice_voided', { invoiceId: INVOICE_ID }));
        expect(stateOf(events.reduce(applyEvent, voided))).toBe('voided');
      }),
    );
  });

  test('asks the service about an announcement that differs, whatever its time is, and about no repeat', () => {
    const [at, location] = ['2999-01-01T00:00:00Z', aLocation()];
    const event = (overrides: Parameters<typeof anEvent>[1]) =>
      anEvent('invoice_finalized', { invoiceId: INVOICE_ID, location, ...overrides });
    const first = applyEvent(NOTHING_KNOWN, event({}));
    const { announcement } = first;
    const loaded = completeLoad(first, { sha256: location.fileHashSha256, announcement });
    const repeated = applyEvent(loaded, event({ at }));
    expect([nextStep(loaded), nextStep(repeated)]).toEqual(['done', 'done']);
    for (const differing of [aLocation(), { ...location, fileSizeBytes: 1 }]) {
      const disputed = applyEvent(repeated, event({ location: differing, at: '2026-03-09T10:00:00Z' }));
      expect([nextStep(disputed), disputed.isDisputed]).toEqual(['load', true]);
      const settled = completeLoad(disputed, { sha256: 'f'.repeat(64), announcement: disputed.announcement });
      expect(nextStep(settled)).toBe('done');
      // One that came while the file was fetched is settled by the next request.
      expect(nextStep(completeLoad(disputed, { sha256: 'f'.repeat(64), announcement }))).toBe('load');
    }
    const other = event({});
    const total = { ...other, invoice: { ...other.invoice, invoiceTotalAmount: '99.00' } };
    expect(nextStep(applyEvent(repeated, total))).toBe('load');
  });

  test('ignores a test event', () => {
    const event = { ...anEvent('invoice_voided', { invoiceId: INVOICE_ID }), isTestEvent: true };
    expect(applyEvent(NOTHING_KNOWN, event)).toEqual(NOTHING_KNOWN);
  });
});
