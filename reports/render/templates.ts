import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Eta } from 'eta';
import { beginningOf, visible } from '../../lib/text.ts';

/** All templates are read at once, so that a running process does not mix them with those of a newly installed version. */
export function templatesIn(folder: URL): Eta {
  const views = fileURLToPath(folder);
  const names = readdirSync(views).filter((name) => name.endsWith('.eta'));
  const texts = new Map(names.map((name) => [join(views, name), readFileSync(join(views, name), 'utf8')]));
  const eta = new Eta({
    views,
    autoTrim: false,
    cache: true,
    escapeFunction: (value: unknown) =>
      value === null || value === undefined ? '' : escapeHtml(shown(value)),
  });
  eta.readFile = (path) => {
    const text = texts.get(path);
    if (text === undefined) throw new Error(`There is no template ${path}`);
    return text;
  };
  return eta;
}

const MAX_SHOWN = 1_000;
const MAX_ADDRESS = 20_000;

/** A name of any length, of which a page has many, must not make it large. Data and files contain it whole. */
function shown(value: unknown): string {
  const text = String(value);
  const most = text.startsWith('/') ? MAX_ADDRESS : MAX_SHOWN;
  return text.length <= most ? text : `${beginningOf(text, most)}…`;
}

/** Escapes visible text, in which control and bidirectional characters are written out, so that names cannot imitate others. */
export function escapeHtml(value: unknown): string {
  return escapeAttribute(visible(String(value)));
}

/** Escapes a value for a form field, which must be sent back unchanged. */
export function escapeAttribute(value: unknown): string {
  return String(value).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
