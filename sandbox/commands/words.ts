/** Parses arguments: `field=value` pairs, headers, numbers, JSON files. */
import { readFileSync } from 'node:fs';
import { InvalidArgumentError } from 'commander';
import { CommandFailure, EXIT, refusedBySystem } from './verb.ts';

export function collect(value: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, value];
}

/** As `collect`; one word may hold several, with commas between. */
export function collectWords(value: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, ...value.split(',').map((word) => word.trim())];
}

export function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It has to be a whole number.');
  return Number(text);
}

export function decimalNumber(text: string): number {
  const value = Number(text);
  if (text === '' || !Number.isFinite(value)) throw new InvalidArgumentError('It has to be a number.');
  return value;
}

/** `a=1`, `b=null` to `{a: '1', b: null}`. @throws CommandFailure for a word without `=` */
export function pairs(words: readonly string[] = []): Record<string, string | null> {
  return Object.fromEntries(
    words.map((word) => {
      const at = word.indexOf('=');
      if (at < 1) throw new CommandFailure(EXIT.usage, [`"${word}" is not field=value.`]);
      const value = word.slice(at + 1);
      return [word.slice(0, at), value === 'null' ? null : value];
    }),
  );
}

/** `Name: value` lines to a map. @throws CommandFailure for a line without a colon */
export function headerLines(lines: readonly string[] = []): Record<string, string> {
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(':');
      if (at < 1) throw new CommandFailure(EXIT.usage, [`"${line}" is not "Name: value".`]);
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    }),
  );
}

/** @throws CommandFailure when the file cannot be read or holds no JSON object */
export function jsonFile(path: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(textOf(path === '-' ? 0 : path));
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return value as Record<string, unknown>;
    }
    throw new Error('it is no JSON object');
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
    throw new CommandFailure(EXIT.usage, [`The file ${path} cannot be used: ${(error as Error).message}`]);
  }
}

/** @throws CommandFailure when the file cannot be read */
export function textOf(path: string | 0): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw refusedBySystem(error, path === 0 ? 'stdin' : path) ?? error;
  }
}

/** Leaves out what was not given. */
export function given(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}
