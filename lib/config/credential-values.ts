/** Reads the text of a setting that holds secrets; a value is never part of an error's message. */

import { readList } from './setting-values.ts';
import type { Settings, WebhookCredentials } from './settings.ts';

type BasicAuth = WebhookCredentials['basicAuth'][number];
type RequiredHeader = WebhookCredentials['headers'][number];

/** `user:password`, several separated by commas or line ends. */
export function readBasicAuth(text: string): readonly BasicAuth[] {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
  // With a line for each, a comma belongs to a password.
  if (/\n/.test(text)) return lines.map((line) => readOneBasicAuth(line.trim()));
  const parts = readList(text);
  const users = new Set(parts.map((part) => part.slice(0, Math.max(0, part.indexOf(':')))));
  if (parts.length < 2 || users.has('')) return lines.map((line) => readOneBasicAuth(line.trim()));
  if (users.size === 1) return parts.map(readOneBasicAuth);
  throw new Error(
    'is ambiguous: the comma may stand between two credentials or in a password; write each on a line of its own and end the last line too (in the settings file: as a list)',
  );
}

export function readOneBasicAuth(text: string): BasicAuth {
  const colon = text.indexOf(':');
  if (colon < 1 || colon === text.length - 1) throw new Error('must be user:password, neither of them empty');
  return { user: text.slice(0, colon), password: text.slice(colon + 1) };
}

export function readHeaders(text: string): readonly RequiredHeader[] {
  return text
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '')
    .map((line, index) => {
      const found = /^\s*([!#$%&'*+\-.^_`|~0-9A-Za-z]+):\s*(.*?)\s*$/.exec(line);
      if (found?.[1] === undefined || !found[2]) throw new Error(`line ${index + 1} is not "Name: value"`);
      return { name: found[1].toLowerCase(), value: found[2] };
    });
}

/** `id:base64` of 32 bytes each, the first encrypts and all decrypt. */
export function readEncryptionKeys(text: string): Settings['encryptionKeys'] {
  const keys = readList(text).map((part, index) => {
    const found = /^([\w.-]{1,64}):([A-Za-z0-9+/_-]+={0,2})$/.exec(part);
    if (found?.[1] === undefined || found[2] === undefined)
      throw new Error(`key ${index + 1} is not id:base64`);
    const key = new Uint8Array(Buffer.from(found[2], 'base64'));
    if (key.length !== 32) throw new Error(`key ${index + 1} has ${key.length} bytes, 32 are needed`);
    return { id: found[1], key };
  });
  if (new Set(keys.map(({ id }) => id)).size !== keys.length) throw new Error('two keys have the same id');
  return keys;
}

/** A URL that is a secret as a whole. */
export function readSecretUrl(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text;
  throw new Error('must be an http or https URL, such as https://host.example:3128');
}
