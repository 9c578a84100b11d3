import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { jsonOrNull } from '../text.ts';
import type { CheckedState, StateCheck } from './health.ts';

const DAY_MS = 86_400_000;
export const SOON_MS = 14 * DAY_MS;
const EVERY_MS = 60_000;

interface NamedFile {
  readonly setting: string;
  readonly path: string;
}

export function certificateCheck(
  component: string,
  { setting, path }: NamedFile,
  { key, now = Date.now }: { readonly key?: NamedFile | undefined; readonly now?: () => number } = {},
): StateCheck {
  return checkOf(component, setting, now, async () => {
    const certificate = new X509Certificate(await readFile(path));
    // The former pair stays in use until it expires, but its dates are in no file.
    if (key !== undefined && !certificate.checkPrivateKey(createPrivateKey(await readFile(key.path))))
      return `It is not the certificate of the key in ${key.setting}, so it cannot be used (${setting}).`;
    const startsAt = new Date(certificate.validFrom);
    if (startsAt.getTime() > now()) return `It is valid only from ${minuteOf(startsAt)} on (${setting}).`;
    return new Date(certificate.validTo);
  });
}

/** Returns null for a token that is no JSON Web Token, since only these have an expiry (RFC 7519). */
export function tokenExpiryCheck(
  component: string,
  setting: string,
  token: string,
  now = Date.now,
): StateCheck | null {
  const endsAt = endOfToken(token);
  return endsAt === null ? null : checkOf(component, setting, now, async () => endsAt);
}

function checkOf(
  component: string,
  setting: string,
  now: () => number,
  endOf: () => Promise<Date | string>,
): StateCheck {
  const readState = async (): Promise<CheckedState> => {
    const endsAt = await endOf();
    if (typeof endsAt === 'string') return { isHealthy: false, detail: endsAt };
    const leftMs = endsAt.getTime() - now();
    const prefix = leftMs < 0 ? 'It expired at' : 'It is valid until';
    return { isHealthy: leftMs >= SOON_MS, detail: `${prefix} ${minuteOf(endsAt)} (${setting}).` };
  };
  const title = `The ${component} cannot be used, or expires soon`;
  return {
    component,
    readState,
    alert: { key: `expiry/${setting}`, title },
    isOutside: true,
    everyMs: EVERY_MS,
  };
}

export function minuteOf(instant: Date): string {
  return `${instant.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

function endOfToken(token: string): Date | null {
  const [, payload, signature] = token.split('.');
  if (payload === undefined || signature === undefined) return null;
  const claims = jsonOrNull(Buffer.from(payload, 'base64url').toString()) as {
    readonly exp?: unknown;
  } | null;
  return typeof claims?.exp === 'number' ? new Date(claims.exp * 1_000) : null;
}
