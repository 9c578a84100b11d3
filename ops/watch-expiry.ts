/** Certificates and credentials that run out: said in health and by an alert a fortnight before. */

import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { LookedAt, StateWatch } from './watch-state.js';

const DAY_MS = 86_400_000;
/** What runs out within it is told: two weeks are enough to get another. */
export const SOON_MS = 14 * DAY_MS;
const EVERY_MS = 60_000;

/** The file is read each time: it may be renewed without a restart. @param setting that names it */
export function certificateWatch(
  component: string,
  setting: string,
  path: string,
  now = Date.now,
): StateWatch {
  return watchOf(
    component,
    setting,
    now,
    async () => new Date(new X509Certificate(await readFile(path)).validTo),
  );
}

/** @returns null for a credential that does not say how long it lives: only a JSON Web Token does (RFC 7519) */
export function tokenWatch(
  component: string,
  setting: string,
  token: string,
  now = Date.now,
): StateWatch | null {
  const endsAt = endOfToken(token);
  return endsAt === null ? null : watchOf(component, setting, now, async () => endsAt);
}

function watchOf(
  component: string,
  setting: string,
  now: () => number,
  endOf: () => Promise<Date>,
): StateWatch {
  const look = async (): Promise<LookedAt> => {
    const endsAt = await endOf();
    const leftMs = endsAt.getTime() - now();
    const when = `${endsAt.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
    const detail =
      leftMs < 0 ? `It ran out at ${when} (${setting}).` : `It is good until ${when} (${setting}).`;
    return { isHealthy: leftMs >= SOON_MS, detail };
  };
  const alert = { key: `expiry/${setting}`, title: `The ${component} has expired or expires soon` } as const;
  return { component, look, alert, isOutside: true, everyMs: EVERY_MS };
}

function endOfToken(token: string): Date | null {
  const [, payload, signature] = token.split('.');
  if (payload === undefined || signature === undefined) return null;
  try {
    const { exp } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { readonly exp?: unknown };
    return typeof exp === 'number' ? new Date(exp * 1_000) : null;
  } catch {
    // Three words with dots between them that are no token.
    return null;
  }
}
