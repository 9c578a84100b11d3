import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createSemaphore, forEachBounded } from '../../lib/semaphore.ts';

/** Ends work by its number when it is told to. */
function works() {
  const running = new Map<number, PromiseWithResolvers<void>>();
  const started: number[] = [];
  const work = (number: number): Promise<void> => {
    started.push(number);
    const ending = Promise.withResolvers<void>();
    running.set(number, ending);
    return ending.promise.finally(() => running.delete(number));
  };
  return { running, started, work };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

const acts = fc.array(
  fc.record({ kind: fc.constantFrom('call', 'call', 'end', 'fail', 'abort'), which: fc.nat({ max: 20 }) }),
  { maxLength: 30 },
);

test('a semaphore runs as many as it may, in the order of the calls, without those that were aborted', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 3 }), acts, async (atOnce, drawn) => {
      const semaphore = createSemaphore(atOnce);
      const { running, started, work } = works();
      const outcomes: string[] = [];
      const aborts: AbortController[] = [];
      const [waiting, expected]: [number[], number[]] = [[], []];
      const startNext = () => {
        while (waiting.length > 0 && model.size < atOnce) {
          const next = waiting.shift() ?? 0;
          model.add(next);
          expected.push(next);
        }
      };
      const model = new Set<number>();
      for (const { kind, which } of drawn) {
        if (kind === 'call') {
          const number = aborts.length;
          const controller = new AbortController();
          aborts.push(controller);
          outcomes.push('open');
          waiting.push(number);
          const called = semaphore(() => work(number), controller.signal);
          called.then(
            () => (outcomes[number] = 'done'),
            (error: Error) => (outcomes[number] = error.message),
          );
        } else if (kind === 'abort') {
          const number = which % Math.max(1, aborts.length);
          aborts[number]?.abort(new Error('aborted'));
          const at = waiting.indexOf(number);
          if (at >= 0) waiting.splice(at, 1);
        } else {
          const number = [...running.keys()][which % Math.max(1, running.size)];
          if (number === undefined) continue;
          if (kind === 'end') running.get(number)?.resolve();
          else running.get(number)?.reject(new Error('failed'));
          model.delete(number);
        }
        await settled();
        startNext();
        expect(started).toEqual(expected);
        expect(new Set(running.keys())).toEqual(model);
      }
      for (const [number, outcome] of outcomes.entries()) {
        const isWaiting = waiting.includes(number) || model.has(number);
        expect(outcome === 'open').toBe(isWaiting);
        if (!expected.includes(number) && !isWaiting) expect(outcome).toBe('aborted');
      }
      await expect(semaphore(work.bind(null, 99), AbortSignal.abort(new Error('early')))).rejects.toThrow(
        'early',
      );
    }),
  );
});

test('a bounded loop does each item once, and after a failure ends with what runs', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.nat({ max: 12 }),
      fc.integer({ min: 1, max: 4 }),
      fc.nat({ max: 15 }),
      async (n, atOnce, failing) => {
        const items = Array.from({ length: n }, (_, index) => `item ${index}`);
        const { running, started, work } = works();
        let most = 0;
        const loop = forEachBounded(items, atOnce, async (item, index) => {
          expect(item).toBe(items[index]);
          await work(index);
        }).then(
          () => 'done',
          (error: Error) => error.message,
        );
        await settled();
        while (running.size > 0) {
          most = Math.max(most, running.size);
          const [[number, ending] = []] = running;
          if (number === failing) ending?.reject(new Error('failed'));
          else ending?.resolve();
          await settled();
        }
        expect(await loop).toBe(failing < n ? 'failed' : 'done');
        expect(most).toBe(Math.min(n, atOnce));
        // The loop ends the oldest first, so those beside the failing one have started.
        expect(started).toEqual(
          items
            .keys()
            .take(Math.min(n, failing + atOnce))
            .toArray(),
        );
      },
    ),
  );
});
