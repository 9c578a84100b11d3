/** The text of a statement that the program brings with it, read once while the process lives. */

import { readFile } from 'node:fs/promises';

const texts = new Map<string, Promise<string>>();

/**
 * @param file of the statement, `….sql`
 * @returns its text; who fails to read it does not fail those who ask later, since a moment without file handles passes
 */
export function statementText(file: URL): Promise<string> {
  const known = texts.get(file.href);
  if (known !== undefined) return known;
  const reading = readFile(file, 'utf8');
  texts.set(file.href, reading);
  reading.catch(() => texts.delete(file.href));
  return reading;
}
