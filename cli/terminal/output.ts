import { createRequire } from 'node:module';
import type { Scrub } from '../../lib/log/scrub.ts';
import { type Column, renderTable } from './table.ts';

export type OutputForm = 'table' | 'json' | 'ndjson';

export interface Output {
  readonly form: OutputForm;
  readonly quiet: boolean;
  rows<T>(rows: readonly T[], columns: readonly Column<T>[], options?: { readonly empty?: string }): void;
  thing(value: unknown, lines: () => string): void;
  line(value: unknown): void;
  text(text: string): void;
  note(text: string): void;
  /** A warning is written with `--quiet` too. */
  warn(text: string): void;
  /** @param what the work, as a participle: `Publishing` */
  progress(what: string): Progress;
}

export function createOutput(options: {
  readonly form: OutputForm;
  readonly quiet: boolean;
  readonly scrub?: Scrub | undefined;
}): Output {
  const { form, quiet, scrub = (text: string) => text } = options;
  const writeOut = (text: string): void => {
    process.stdout.write(text);
  };
  // Only the texts of a document are scrubbed, so that it stays valid JSON.
  const json = (value: unknown, indent?: number): string =>
    JSON.stringify(value, (_key, part) => (typeof part === 'string' ? scrub(part) : part), indent);
  const out = (text: string): void => {
    if (openBars > 0 && process.stdout.isTTY === true) writeErr(CLEAR);
    writeOut(text);
  };
  return {
    form,
    quiet,
    rows(rows, columns, more) {
      if (form === 'json') writeOut(`${json(rows, 2)}\n`);
      else if (form === 'ndjson') writeOut(rows.map((row) => `${json(row)}\n`).join(''));
      else if (rows.length > 0) writeOut(`${scrub(renderTable(rows, columns))}\n`);
      else if (more?.empty !== undefined && !quiet) writeErr(`${more.empty}\n`);
    },
    thing(value, lines) {
      if (form === 'table') writeOut(`${scrub(lines())}\n`);
      else writeOut(`${json(value, form === 'json' ? 2 : undefined)}\n`);
    },
    line: (value) => out(`${json(value)}\n`),
    text: (text) => out(scrub(text)),
    note(text) {
      if (!quiet) writeErr(`${text}\n`);
    },
    warn: (text) => writeErr(`${text}\n`),
    progress(what) {
      if (quiet) return NO_PROGRESS;
      const canMoveCursor = process.stderr.isTTY === true && process.env.TERM !== 'dumb';
      return canMoveCursor ? barProgress(what) : lineProgress(what);
    },
  };
}

export function counted(count: number, one: string, several = `${one}s`): string {
  return `${count} ${count === 1 ? one : several}`;
}

export interface Progress {
  update(done: number, of: number | null, note?: string): void;
  end(): void;
}

const NO_PROGRESS: Progress = { update: () => undefined, end: () => undefined };

const LINE_EVERY_MS = 2_000;
const SILENT_MS = 5_000;

const CLEAR = '\r\u001b[2K';

let openBars = 0;

/** The library draws the bar again every second, because it shows the elapsed time. */
function barProgress(what: string): Progress {
  const { Format, SingleBar } = createRequire(import.meta.url)(
    'cli-progress',
  ) as typeof import('cli-progress');
  const bar = new SingleBar({
    format(options, params, payload) {
      const counts = params.value === 0 ? '' : ' {value} {note}';
      const shown = params.total === 0 ? counts : ' {bar} {value}/{total} {note}';
      const format = `${what}${shown}, {duration_formatted} so far`;
      return Format.Formatter({ ...options, format }, params, payload);
    },
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 28,
    hideCursor: true,
    stream: process.stderr,
  });
  openBars += 1;
  bar.start(0, 0, { note: '' });
  return {
    update(done, of, note = '') {
      if (of !== null) bar.setTotal(of);
      bar.update(done, { note });
    },
    end() {
      if (bar.isActive) openBars -= 1;
      bar.stop();
    },
  };
}

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
      const line = `${done}${of === null ? '' : `/${of}`}${note === '' ? '' : ` ${note}`}`;
      if (line === last) return;
      last = line;
      if (done === 0) return;
      pending = line;
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

function writeErr(text: string): void {
  process.stderr.write(text);
}

type Pace = (done: number, of: number) => string;

/** Before this time and number of items, a rate would mostly measure the start. */
const RATE_AFTER_MS = 2_000;
const RATE_AFTER = 10;

export function paceOf(what: string, now: () => number = () => performance.now()): Pace {
  const began = now();
  return (done, of) => {
    const ms = now() - began;
    if (ms < RATE_AFTER_MS || done < RATE_AFTER) return what;
    const perSecond = (done * 1_000) / ms;
    const rate = perSecond < 10 ? perSecond.toFixed(1) : perSecond.toFixed(0);
    const left = done < of ? `, ${durationText((of - done) / perSecond)} left` : '';
    return `${what}, ${rate} a second${left}`;
  };
}

function durationText(seconds: number): string {
  if (seconds < 60) return `${Math.ceil(seconds)} s`;
  if (seconds < 3_600) return `${Math.ceil(seconds / 60)} min`;
  return `${(seconds / 3_600).toFixed(1)} h`;
}

let scrub: Scrub | null = null;

/** Called once the settings are known. Of several calls in one process the last counts. */
export function scrubStderr(with_: Scrub): void {
  if (scrub === null) {
    const write = process.stderr.write.bind(process.stderr) as (...parts: unknown[]) => boolean;
    process.stderr.write = (text: unknown, ...rest: unknown[]) =>
      write(typeof text === 'string' ? (scrub ?? ((all) => all))(text) : text, ...rest);
  }
  scrub = with_;
}
