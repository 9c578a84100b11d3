import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createForwardQueue } from '../../webhook/forward-queue.ts';
import type { InboxEntry } from '../../webhook/inbox/inbox.ts';

const CONCURRENCY = 3;
const GATE_MS = 5_000;
const FAILURES_TO_CLOSE = 5;

interface Act {
  readonly kind: 'add' | 'again' | 'take' | 'done' | 'fail' | 'wait';
  readonly lane: number;
  readonly isVoid: boolean;
  readonly which: number;
}

const acts: fc.Arbitrary<readonly Act[]> = fc.array(
  fc.record({
    kind: fc.constantFrom('add', 'add', 'again', 'take', 'take', 'done', 'fail', 'fail', 'wait'),
    ...{ lane: fc.nat({ max: 4 }), isVoid: fc.boolean(), which: fc.nat({ max: 9 }) },
  }),
  { maxLength: 60 },
);

/** One delivery that keeps failing, which a random order of acts rarely is for long. */
const STRUGGLE = (['take', 'fail', 'wait'] as const).map((kind) => ({
  kind,
  lane: 1,
  isVoid: false,
  which: 0,
}));
const history = fc
  .tuple(fc.nat({ max: 9 }), acts)
  .map(([failures, rest]): readonly Act[] =>
    failures === 0
      ? rest
      : [
          { kind: 'add', lane: 1, isVoid: false, which: 0 },
          ...Array.from({ length: failures }, () => STRUGGLE).flat(),
          ...rest,
        ],
  );

let count = 0;
/** Lane 0 is of deliveries without an invoice, which wait for nothing; an id counts in any case. */
function anEntry({ lane, isVoid, which }: Act): InboxEntry {
  count += 1;
  const invoiceId = which % 2 === 0 ? `invoice-${lane}` : `INVOICE-${lane}`;
  const common = { eventId: `e${count}`, receivedAt: new Date(count * 1_000).toISOString(), code: null };
  if (lane === 0) return { ...common, kind: which % 2 === 0 ? 'refused' : 'test', invoiceId };
  return { ...common, kind: 'event', invoiceId, isVoid };
}

/** What the comments of the queue promise, computed from what was done with it. */
class Model {
  readonly known: InboxEntry[] = [];
  readonly inFlight: InboxEntry[] = [];
  readonly #failures = new Map<string, number>();
  readonly #notBefore = new Map<string, number>();
  inRow = 0;
  gateAt = 0;

  laneOf({ kind, invoiceId, eventId }: InboxEntry): string {
    return kind === 'event' ? (invoiceId ?? '').toLowerCase() : eventId;
  }

  get isClosed(): boolean {
    return this.inRow >= FAILURES_TO_CLOSE;
  }

  /** Of each lane that has nothing in flight, the entries that may be next. */
  mayTake(atMs: number): readonly InboxEntry[] {
    if (this.inFlight.length >= (this.isClosed ? 1 : CONCURRENCY)) return [];
    if (this.isClosed && atMs < this.gateAt) return [];
    const busy = new Set(this.inFlight.map((entry) => this.laneOf(entry)));
    const lanes = Map.groupBy(this.known, (entry) => this.laneOf(entry));
    return [...lanes].flatMap(([lane, entries]) => {
      if (busy.has(lane) || (this.#notBefore.get(lane) ?? 0) > atMs) return [];
      const voids = entries.filter(({ isVoid }) => isVoid);
      return voids.length > 0 ? voids : entries.slice(0, 1);
    });
  }

  fail(entry: InboxEntry, atMs: number): number {
    const lane = this.laneOf(entry);
    const failures = this.#failures.get(lane) ?? 0;
    const waitMs = Math.min(60_000, 1_000 * 2 ** failures);
    this.#failures.set(lane, failures + 1);
    this.#notBefore.set(lane, atMs + waitMs);
    this.inRow += 1;
    if (this.isClosed) this.gateAt = atMs + GATE_MS;
    return waitMs;
  }

  done(entry: InboxEntry): void {
    const lane = this.laneOf(entry);
    this.known.splice(this.known.indexOf(entry), 1);
    this.#failures.delete(lane);
    this.#notBefore.delete(lane);
    // A success shows that Temporal is back.
    if (this.isClosed) this.#notBefore.clear();
    this.inRow = 0;
  }
}

test('deliveries are taken in order of each invoice, voids first, with growing pauses after failures, one at a time while all fail', () => {
  fc.assert(
    fc.property(history, (drawn) => {
      const queue = createForwardQueue({ concurrency: CONCURRENCY });
      const model = new Model();
      let atMs = 0;
      const take = () => {
        const candidates = model.mayTake(atMs);
        const entry = queue.take(atMs);
        if (candidates.length === 0) return expect(entry).toBeNull();
        expect(candidates).toContain(entry);
        if (entry !== null) model.inFlight.push(entry);
      };
      for (const act of drawn) {
        const [entry] = model.inFlight.splice(act.which % Math.max(1, model.inFlight.length), 1);
        const isEnd = act.kind === 'done' || act.kind === 'fail';
        if (entry !== undefined && !isEnd) model.inFlight.push(entry);
        if (act.kind === 'add') {
          const added = anEntry(act);
          queue.add(added);
          model.known.push(added);
        }
        if (act.kind === 'again') for (const one of model.known) queue.add({ ...one });
        if (act.kind === 'take') take();
        if (act.kind === 'wait') atMs = Math.max(atMs, queue.nextAtMs() ?? 0);
        if (entry !== undefined && act.kind === 'done') {
          queue.done(entry);
          model.done(entry);
        }
        if (entry !== undefined && act.kind === 'fail')
          expect(queue.failed(entry, atMs)).toBe(model.fail(entry, atMs));
        expect(queue.size()).toBe(model.known.length);
        expect(queue.oldestReceivedAt()).toBe(model.known[0]?.receivedAt ?? null);
        expect([queue.isGateClosed(), queue.isFailing()]).toEqual([model.isClosed, model.inRow > 0]);
      }
      for (const entry of model.inFlight.splice(0)) {
        queue.done(entry);
        model.done(entry);
      }
      while (model.known.length > 0) {
        if (model.mayTake(atMs).length === 0) {
          const next = queue.nextAtMs() ?? 0;
          expect(next).toBeGreaterThan(atMs);
          expect(model.mayTake(next - 1)).toEqual([]);
          atMs = next;
        }
        take();
        const [entry] = model.inFlight.splice(0);
        if (entry === undefined) break;
        queue.done(entry);
        model.done(entry);
      }
      expect([model.known, queue.take(atMs), queue.nextAtMs()]).toEqual([[], null, null]);
    }),
    { numRuns: 600 },
  );
});
