import { readFileSync } from 'node:fs';
import { InvalidArgumentError } from 'commander';
import { CommandFailure, EXIT } from './verb.ts';

export function collect(value: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, value];
}

/** One argument may hold several values with commas between. */
export function collectList(value: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, ...value.split(',').map((item) => item.trim())];
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

/** The values of a repeated option. */
function listOf(option: unknown): readonly string[] {
  return option === undefined ? [] : (option as readonly string[]);
}

/** `a=1`, `b=null` to `{a: '1', b: null}`. @throws CommandFailure for a text without `=` */
export function pairs(option: unknown): Record<string, string | null> {
  return Object.fromEntries(
    listOf(option).map((text) => {
      const at = text.indexOf('=');
      if (at < 1) throw new CommandFailure(EXIT.usage, [`"${text}" is not field=value.`]);
      const value = text.slice(at + 1);
      return [text.slice(0, at), value === 'null' ? null : value];
    }),
  );
}

/** @throws CommandFailure for a line without a colon */
export function headerLines(option: unknown): Record<string, string> {
  return Object.fromEntries(
    listOf(option).map((line) => {
      const at = line.indexOf(':');
      if (at < 1) throw new CommandFailure(EXIT.usage, [`"${line}" is not "Name: value".`]);
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    }),
  );
}

export function jsonFile(path: string): Record<string, unknown> {
  const text = textOf(path === '-' ? 0 : path);
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return value as Record<string, unknown>;
    }
    throw new Error('it is not a JSON object');
  } catch (error) {
    throw new CommandFailure(EXIT.usage, [`The file ${path} cannot be used: ${(error as Error).message}`]);
  }
}

/** @param path 0 is stdin. @throws the system's error when the file cannot be read */
export function textOf(path: string | 0): string {
  return readFileSync(path, 'utf8');
}

export function withoutUndefined(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

export function withQuery(path: string, values: Record<string, unknown>): string {
  const query = new URLSearchParams(withoutUndefined(values) as Record<string, string>).toString();
  return query === '' ? path : `${path}?${query}`;
}
