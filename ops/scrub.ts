/** Takes secrets out of text that leaves the process: log lines, alerts, answers to a person. */

import type { Settings } from '../config/settings.js';
import { withoutUrlQueries } from '../contract/url-query.js';

export type Scrub = (text: string) => string;

/** Shorter values would turn ordinary words into stars. */
const SHORTEST_SECRET = 4;

/** What a person reads where a secret was. */
const MASK = '***';

/**
 * Makes the function that removes every secret of the settings, in all spellings in which it travels (plain, in JSON,
 * in a form body, base64 of Basic), any bearer or Basic credentials, and the query of every URL.
 */
export function createScrub(
  settings: Pick<Settings, 'service' | 'webhook' | 'admin' | 'encryptionKeys'>,
): Scrub {
  const spellings = [...new Set(secretsOf(settings).flatMap(spellingsOf))]
    .filter((secret) => secret.length >= SHORTEST_SECRET)
    // A secret that contains another is replaced first.
    .sort((a, b) => b.length - a.length);
  return (text) => {
    let clean = withoutUrlQueries(text)
      .replace(/\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi, `$1 ${MASK}`)
      .replace(
        /((?:access_token|client_secret|refresh_token)\\?"?\s*[:=]\s*\\?"?)[^"\s&,}\\]+/gi,
        `$1${MASK}`,
      );
    for (const secret of spellings) clean = clean.replaceAll(secret, MASK);
    return clean;
  };
}

function secretsOf(settings: Pick<Settings, 'service' | 'webhook' | 'admin' | 'encryptionKeys'>): string[] {
  const { clientId, clientSecret, apiKey } = settings.service;
  const secrets: (string | null)[] = [clientSecret, apiKey];
  if (clientId !== null && clientSecret !== null) secrets.push(base64(`${clientId}:${clientSecret}`));
  for (const { credentials } of [settings.webhook, ...settings.webhook.paths]) {
    for (const { user, password } of credentials.basicAuth)
      secrets.push(password, base64(`${user}:${password}`));
    for (const { value } of credentials.headers) secrets.push(value);
  }
  if (settings.admin.basicAuth !== null) {
    const { user, password } = settings.admin.basicAuth;
    secrets.push(password, base64(`${user}:${password}`));
  }
  for (const { key } of settings.encryptionKeys) secrets.push(Buffer.from(key).toString('base64'));
  return secrets.filter((secret) => secret !== null);
}

function spellingsOf(secret: string): string[] {
  return [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret), formEncoded(secret)];
}

function formEncoded(secret: string): string {
  return new URLSearchParams({ s: secret }).toString().slice(2);
}

function base64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64');
}
