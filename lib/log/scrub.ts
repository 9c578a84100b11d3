/** Takes secrets out of text that leaves the process: what commands write, log lines, reasons, alerts, pages. */

import type { Settings } from '../config/settings.ts';
import { withoutUrlQueries } from '../wire/url-query.ts';
import { secretsOf } from './secrets.ts';

export type Scrub = (text: string) => string;

export type ScrubSettings = Pick<Settings, 'service'> &
  Partial<Pick<Settings, 'webhook' | 'admin' | 'encryptionKeys' | 'warehouse' | 'alerts' | 'otlpEndpoint'>>;

/** Shorter values would turn ordinary words into stars. */
const SHORTEST_SECRET = 4;
/** What a person reads where a secret was. */
const MASK = '***';
/** Text of only these may be an amount, a date or a tracking number. */
const FIGURE = /^[\d.,:+-]*$/;

/**
 * Makes the function that removes every secret of the settings and of the environment, in all spellings in which it
 * travels (plain, in JSON, in a URL, in a form body, in base64 alone or as Basic credentials), any bearer or Basic
 * credentials, and the query of every URL.
 *
 * @param options.keepFigures for data on stdout: a password of digits only is not looked for, since it cannot be told
 *   from an amount, and no figure may be wrong
 * @param options.env where libraries find secrets of their own (Temporal, S3, PostgreSQL, tracing, proxies)
 */
export function createScrub(
  settings: ScrubSettings,
  options: { readonly keepFigures?: boolean; readonly env?: NodeJS.ProcessEnv } = {},
): Scrub {
  const { keepFigures = false, env = process.env } = options;
  const spellings = [...new Set(secretsOf(settings, env).flatMap(spellingsOf))]
    .filter((secret) => secret.length >= SHORTEST_SECRET && !(keepFigures && FIGURE.test(secret)))
    // Of two that start alike the longer is looked for first.
    .sort((a, b) => b.length - a.length)
    .map((secret) => secret.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'));
  // Matches nothing where there is no secret.
  const secrets = new RegExp(spellings.length === 0 ? '(?!)' : spellings.join('|'), 'g');
  return (text) => {
    // Before anything is cut off a URL: a secret whose tail went with its query would not be known any more.
    return withoutUrlQueries(text.replace(secrets, MASK))
      .replace(/\b(bearer|basic)(\s+)([A-Za-z0-9._~+/=-]{8,})/gi, maskCredentials)
      .replace(
        /((?:access_token|client_secret|refresh_token)\\?"?\s*[:=]\s*\\?"?)[^"\s&,{}[\]\\]+/gi,
        `$1${MASK}`,
      );
  };
}

/** `Basic authentication` is no secret: encoded credentials have capitals, digits or a filler. */
function maskCredentials(found: string, scheme: string, space: string, value: string): string {
  return /[A-Z0-9=+/]/.test(value) ? `${scheme}${space}${MASK}` : found;
}

const HTML: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": '#39' };

function spellingsOf(secret: string): string[] {
  const bytes = Buffer.from(secret, 'utf8');
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret),
    secret.replace(/[&<>"']/g, (character) => `&${HTML[character]};`),
    new URLSearchParams({ s: secret }).toString().slice(2),
    ...[0, 1, 2].flatMap((shift) => base64Inside(bytes, shift)),
  ];
}

/**
 * How base64 shows the bytes when `shift` bytes stand before them, in both alphabets. The first characters and the last
 * one depend on the neighbours, so they are left out; short secrets would then match anywhere.
 */
function base64Inside(bytes: Buffer, shift: number): string[] {
  const shifted = Buffer.concat([Buffer.alloc(shift), bytes]);
  const whole = shifted.toString('base64').replace(/=+$/, '');
  const inside = whole.slice(shift === 0 ? 0 : shift + 1, shifted.length % 3 === 0 ? undefined : -1);
  const texts = shift === 0 ? [shifted.toString('base64'), inside] : [inside];
  return texts
    .filter((text) => text.length >= 8)
    .flatMap((text) => [text, text.replaceAll('+', '-').replaceAll('/', '_')]);
}
