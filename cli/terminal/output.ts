/** The one place that writes: data to stdout, words and progress to stderr, nothing that was not asked for. */

import type { Scrub } from '../../lib/log/scrub.ts';
import {
  barProgress,
  CLEAR,
  isDrawing,
  lineProgress,
  NO_PROGRESS,
  type Progress,
  writeErr,
} from './progress.ts';
import { type Column, renderTable } from './render-table.ts';

export type OutputForm = 'table' | 'json' | 'ndjson';

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
  /** A bar on a terminal, plain lines elsewhere, nothing with `--quiet`. It begins now; `end` takes it away. */
  progress(what: string): Progress;
}

/** @param options.scrub takes secrets out of what goes to stdout, figures untouched */
export function createOutput(options: {
  readonly form: OutputForm;
  readonly quiet: boolean;
  readonly scrub?: Scrub;
}): Output {
  const { form, quiet, scrub = (text: string) => text } = options;
  const writeOut = (text: string): void => {
    process.stdout.write(text);
  };
  // Texts inside a document, not the document: it stays JSON whatever they hold.
  const json = (value: unknown, indent?: number): string =>
    JSON.stringify(value, (_key, part) => (typeof part === 'string' ? scrub(part) : part), indent);
  const out = (text: string): void => {
    // A bar that is being drawn would stand in the middle of the line.
    if (isDrawing() && process.stdout.isTTY === true) writeErr(CLEAR);
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
    progress: (what) => (quiet ? NO_PROGRESS : canDraw() ? barProgress(what) : lineProgress(what)),
  };
}

/** A dumb terminal cannot move its cursor. */
function canDraw(): boolean {
  return process.stderr.isTTY === true && process.env.TERM !== 'dumb';
}

/** `1 invoice`, `2 invoices`. */
export function counted(count: number, one: string, several = `${one}s`): string {
  return `${count} ${count === 1 ? one : several}`;
}
