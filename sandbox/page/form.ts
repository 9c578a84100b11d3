import { refuse } from '../refusal.ts';

const SEVERAL = ['eventTypes', 'tenants'];

export type Typed = Readonly<Record<string, string | readonly string[]>>;

export class Form {
  readonly #fields: URLSearchParams;

  constructor(body: unknown) {
    this.#fields = new URLSearchParams(typeof body === 'string' ? body : '');
  }

  /** Empty when missing. */
  text(name: string): string {
    return this.#fields.get(name)?.trim() ?? '';
  }

  all(name: string): readonly string[] {
    return this.#fields.getAll(name).filter((value) => value !== '');
  }

  has(name: string): boolean {
    return this.#fields.has(name);
  }

  /** null when the field is empty. @throws RefusalError naming the field by its label */
  number(name: string, label: string): number | null {
    const text = this.text(name);
    if (text === '') return null;
    const value = Number(text);
    if (Number.isFinite(value)) return value;
    refuse(`${label} is "${text}", which is not a number.`);
  }

  /** null when empty. @throws RefusalError */
  choice<C extends string>(name: string, choices: readonly C[]): C | null {
    const text = this.text(name);
    if (text === '') return null;
    const found = choices.find((choice) => choice === text);
    if (found !== undefined) return found;
    refuse(`"${text}" is none of ${choices.join(', ')}.`);
  }

  /** @throws RefusalError a line is not `Name: value` */
  pairs(name: string): Readonly<Record<string, string>> {
    const lines = (this.#fields.get(name) ?? '').split(/\r?\n/).filter((line) => line.trim() !== '');
    return Object.fromEntries(lines.map(toPair));
  }

  /** The names in `SEVERAL` have a list; empty for a form that was not sent. */
  typed(): Typed {
    if (this.#fields.size === 0) return {};
    const lists = SEVERAL.map((name) => [name, this.all(name)]);
    return { ...Object.fromEntries(this.#fields), ...Object.fromEntries(lists) };
  }
}

function toPair(line: string): [string, string] {
  const colon = line.indexOf(':');
  if (colon > 0) return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
  refuse('A line has the form "Name: value".');
}

export function given<T extends object>(settings: { [K in keyof T]: T[K] | null }): Partial<T> {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== null)) as Partial<T>;
}
