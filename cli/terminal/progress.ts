/** How far long work is, on stderr: a bar on a terminal, a plain line every few seconds elsewhere. */

import { createRequire } from 'node:module';

export interface Progress {
  /** `note` is a few words behind the numbers. */
  update(done: number, of: number | null, note?: string): void;
  end(): void;
}

export const NO_PROGRESS: Progress = { update: () => undefined, end: () => undefined };

/** Plain lines come no closer than this. */
const LINE_EVERY_MS = 2_000;
/** Work that says nothing new for so long is said to go on. */
const SILENT_MS = 5_000;

/** Empties the line of a terminal that the cursor is in. */
export const CLEAR = '\r\u001b[2K';

let openBars = 0;

/** Whether something is being drawn in the last line of the terminal. */
export function isDrawing(): boolean {
  return openBars > 0;
}

/**
 * A bar from the first numbers on; until then, and while they stand still, the seconds show that the work goes on.
 *
 * @param what the work, as a participle: `Publishing`
 */
export function barProgress(what: string): Progress {
  // Read for a bar on a terminal only: most commands show none.
  const { SingleBar } = createRequire(import.meta.url)('cli-progress') as typeof import('cli-progress');
  const bar = new SingleBar({
    format: `${what} {bar} {value}/{total} {note}`,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 28,
    hideCursor: true,
    stream: process.stderr,
    clearOnComplete: false,
  });
  const soFar = timeSoFar();
  let last: { readonly done: number; readonly note: string; readonly at: number } | null = null;
  openBars += 1;
  let isOver = false;
  const ticking = setInterval(() => {
    if (last === null) writeErr(`${CLEAR}${what}, ${soFar()}`);
    else if (performance.now() - last.at >= SILENT_MS) {
      bar.update(last.done, { note: joined(last.note, soFar()) });
    }
  }, 1_000).unref();
  return {
    update(done, of, note = '') {
      if (last === null) {
        writeErr(CLEAR);
        bar.start(of ?? 0, done, { note });
      } else if (last.done === done && last.note === note) return;
      last = { done, note, at: performance.now() };
      if (of !== null) bar.setTotal(of);
      bar.update(done, { note });
    },
    end() {
      if (isOver) return;
      isOver = true;
      openBars -= 1;
      clearInterval(ticking);
      if (last === null) writeErr(CLEAR);
      else bar.stop();
    },
  };
}

/** @param what as of `barProgress` */
export function lineProgress(what: string): Progress {
  const soFar = timeSoFar();
  let lastMs = performance.now();
  let wroteMs = Number.NEGATIVE_INFINITY;
  let last = '';
  let pending: string | null = null;
  const write = (line: string): void => {
    wroteMs = lastMs = performance.now();
    pending = null;
    writeErr(`${what}: ${line}\n`);
  };
  const ticking = setInterval(() => {
    if (performance.now() - lastMs >= SILENT_MS) write(joined(last, soFar()));
  }, 1_000).unref();
  return {
    update(done, of, note = '') {
      const said = `${done}${of === null ? '' : `/${of}`}${note === '' ? '' : ` ${note}`}`;
      if (said === last) return;
      last = said;
      // A line of its own only once it takes long.
      if (done === 0) return;
      pending = said;
      if (performance.now() - wroteMs >= LINE_EVERY_MS) write(last);
    },
    end() {
      clearInterval(ticking);
      if (pending !== null) write(pending);
    },
  };
}

function timeSoFar(): () => string {
  const began = performance.now();
  return () => `${Math.round((performance.now() - began) / 1_000)} s so far`;
}

function joined(...parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join(', ');
}

export function writeErr(text: string): void {
  process.stderr.write(text);
}
