/**
 * Work on very many files in two stages: a wave of them is prepared (read, archived) while the wave before is finished
 * (loaded). What is finished at once comes to the warehouse together, and so becomes one batch, not many small ones.
 */

export interface Stages<T, P> {
  /** In bytes. */
  readonly sizeOf: (item: T) => number;
  readonly prepare: (item: T) => Promise<P>;
  readonly finish: (item: T, prepared: P) => Promise<void>;
}

/** As many as a batch takes. */
const MOST_ITEMS = 200;
/** Large files are few in a wave, so that the first does not wait for all the others to be read. */
const MOST_BYTES = 32 << 20;

/** @throws the first error of a wave, once all that is at work is done; no further wave begins then */
export async function inWaves<T, P>(items: Iterable<T>, stages: Stages<T, P>): Promise<void> {
  let finishing: Promise<void> = Promise.resolve();
  for (const wave of wavesOf(items, stages.sizeOf)) {
    const prepared = await Promise.allSettled(wave.map(stages.prepare));
    await finishing;
    finishing = allDone(
      prepared.map((one, index) =>
        one.status === 'rejected' ? Promise.reject(one.reason) : stages.finish(wave[index] as T, one.value),
      ),
    );
    // It is waited for behind the next wave's preparation.
    finishing.catch(() => undefined);
  }
  await finishing;
}

function* wavesOf<T>(items: Iterable<T>, sizeOf: (item: T) => number): Generator<readonly T[]> {
  let wave: T[] = [];
  let bytes = 0;
  for (const item of items) {
    const size = sizeOf(item);
    if (wave.length >= MOST_ITEMS || (wave.length > 0 && bytes + size > MOST_BYTES)) {
      yield wave;
      wave = [];
      bytes = 0;
    }
    wave.push(item);
    bytes += size;
  }
  if (wave.length > 0) yield wave;
}

async function allDone(work: readonly Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(work)).find((one) => one.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
