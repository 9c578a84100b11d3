/** The one place that writes: data to stdout, words and progress to stderr, nothing that was not asked for. */

import { styleText } from 'node:util';
import { SingleBar } from 'cli-progress';
import Table from 'cli-table3';

export type OutputForm = 'table' | 'json' | 'ndjson';

export interface Column<T> {
  readonly title: string;
  readonly value: (row: T) => string | number | null | undefined;
  readonly align?: 'left' | 'right';
}

export interface Progress {
  /** `note` is a few words behind the numbers. */
  update(done: number, of: number | null, note?: string): void;
  end(): void;
}

export interface Output {
  readonly form: OutputForm;
  readonly quiet: boolean;
  /** Rows in the form that was asked for: a table, one JSON array, or a line of JSON each. */
  rows<T>(rows: readonly T[], columns: readonly Column<T>[], options?: { readonly empty?: string }): void;
  /** One thing: `--json` prints it whole, otherwise `lines` are printed. */
  thing(value: unknown, lines: () => string): void;
  /** A line of JSON at once, for results that arrive one by one with `--ndjson`. */
  line(value: unknown): void;
  /** Text as it is, on stdout. */
  text(text: string): void;
  /** Words for a person, on stderr; nothing with `--quiet`. */
  note(text: string): void;
  /** Words that even `--quiet` shows: something is wrong or needs a person. */
  warn(text: string): void;
  /** A bar on a terminal, a plain line every few seconds elsewhere, nothing with `--quiet`. */
  progress(what: string): Progress;
}

export function createOutput(options: { readonly form: OutputForm; readonly quiet: boolean }): Output {
  const { form, quiet } = options;
  return {
    form,
    quiet,
    rows(rows, columns, more) {
      if (form === 'json') writeOut(`${JSON.stringify(rows, null, 2)}\n`);
      else if (form === 'ndjson') writeOut(rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
      else if (rows.length > 0) writeOut(`${renderTable(rows, columns)}\n`);
      else if (more?.empty !== undefined && !quiet) writeErr(`${more.empty}\n`);
    },
    thing(value, lines) {
      if (form === 'table') writeOut(`${lines()}\n`);
      else writeOut(`${JSON.stringify(value, null, form === 'json' ? 2 : undefined)}\n`);
    },
    line: (value) => writeOut(`${JSON.stringify(value)}\n`),
    text: writeOut,
    note(text) {
      if (!quiet) writeErr(`${text}\n`);
    },
    warn: (text) => writeErr(`${text}\n`),
    progress: (what) => (quiet ? SILENT : process.stderr.isTTY ? barProgress(what) : lineProgress(what)),
  };
}

/** A table without frames, cells as wide as they must be. */
export function renderTable<T>(rows: readonly T[], columns: readonly Column<T>[]): string {
  const table = new Table({
    head: columns.map(({ title }) => (process.stdout.isTTY ? paint('bold', title) : title)),
    colAligns: columns.map(({ align }) => align ?? 'left'),
    chars: NO_FRAME,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 2, compact: true },
  });
  for (const row of rows) table.push(columns.map(({ value }) => printable(value(row))));
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

/** Colour for words on stderr and stdout; plain when neither is a terminal or NO_COLOR is set. */
export function paint(style: Parameters<typeof styleText>[0], text: string): string {
  const isTerminal = process.stdout.isTTY === true || process.stderr.isTTY === true;
  return isTerminal && !process.env.NO_COLOR ? styleText(style, text) : text;
}

/** `1 invoice`, `2 invoices`. */
export function counted(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? '' : 's'}`;
}

/** Text of others may hold control characters that would move the cursor or forge a line. */
export function printable(value: string | number | null | undefined): string {
  if (value === null || value === undefined) return '–';
  return String(value).replace(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u${code.toString(16).padStart(4, '0')}`;
  });
}

const NO_FRAME = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '',
};

const SILENT: Progress = { update: () => undefined, end: () => undefined };

function barProgress(what: string): Progress {
  const bar = new SingleBar({
    format: `${what} {bar} {value}/{total} {note}`,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 28,
    hideCursor: true,
    stream: process.stderr,
    clearOnComplete: false,
  });
  let started = false;
  return {
    update(done, of, note = '') {
      if (!started) bar.start(of ?? 0, done, { note });
      started = true;
      if (of !== null) bar.setTotal(of);
      bar.update(done, { note });
    },
    end() {
      if (started) bar.stop();
    },
  };
}

function lineProgress(what: string): Progress {
  const everyMs = 2000;
  let last = 0;
  let pending: string | null = null;
  return {
    update(done, of, note = '') {
      const line = `${what}: ${done}${of === null ? '' : `/${of}`}${note === '' ? '' : ` ${note}`}\n`;
      pending = line;
      if (Date.now() - last < everyMs) return;
      last = Date.now();
      pending = null;
      writeErr(line);
    },
    end() {
      if (pending !== null) writeErr(pending);
      pending = null;
    },
  };
}

function writeOut(text: string): void {
  process.stdout.write(text);
}

function writeErr(text: string): void {
  process.stderr.write(text);
}
