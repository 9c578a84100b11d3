import type { Alerts } from '../../lib/alerts/alerts.ts';
import { BillsyncError, sentenceOf } from '../../lib/errors.ts';
import type { Check } from '../../lib/health/health.ts';
import type { Logger } from '../../lib/log/log.ts';
import { messageOf } from '../../lib/system-errors.ts';
import { NOTHING } from './claim.ts';
import type { ClaimWithStatus } from './claim-status.ts';
import { type DisputesOptions, openDisputes } from './disputes.ts';
import { type ClaimWindows, readClaimWindows } from './windows.ts';

export interface ClaimWatchOptions extends DisputesOptions {
  readonly alerts: Alerts;
  readonly log: Logger;
}

const EVERY_MS = 3_600_000;

/** The check runs without a publication too, because deadlines come nearer by days. */
export function claimsCheck(options: ClaimWatchOptions): Check {
  return { component: 'claims', everyMs: EVERY_MS, run: () => checkClaims(options) };
}

export async function checkClaims(options: ClaimWatchOptions): Promise<void> {
  const { alerts, dataDir, log, now = () => new Date() } = options;
  try {
    const { claims } = await openDisputes(options).list();
    const windows = await readClaimWindows(dataDir);
    report(alerts, {
      ...{
        key: 'claims-to-send',
        title: 'Claims must be sent before the claim window of the carrier closes',
      },
      claims: claims.filter((claim) => isDue(claim, windows)),
      when: ({ closes_on }) => `by ${closes_on}`,
    });
    report(alerts, {
      ...{ key: 'claims-unanswered', title: 'Sent claims are not credited yet' },
      claims: claims.filter((claim) => isUnanswered(claim, windows, now())),
      when: (claim) => `since ${lastChanged(claim).slice(0, 10)}`,
    });
  } catch (error) {
    log.error({ err: error }, 'the claims could not be checked');
    const detail = error instanceof BillsyncError ? sentenceOf(error) : messageOf(error);
    alerts.raise({ key: 'claims-to-send', title: 'Claims cannot be checked', detail });
  }
}

function isDue({ state, outstanding, days_left }: ClaimWithStatus, { warn_days }: ClaimWindows): boolean {
  return state === 'open' && outstanding !== NOTHING && days_left !== null && days_left <= warn_days;
}

function isUnanswered(claim: ClaimWithStatus, { answer_days }: ClaimWindows, now: Date): boolean {
  const { state, outstanding, recovered } = claim;
  if (state !== 'sent' || outstanding === NOTHING || recovered !== NOTHING) return false;
  const waitedMs = now.getTime() - Date.parse(lastChanged(claim));
  return waitedMs >= answer_days * 86_400_000;
}

/** Returns ISO 8601 UTC; a note counts as a change. */
function lastChanged({ history }: ClaimWithStatus): string {
  return history.at(-1)?.at ?? '';
}

const MAX_NAMED = 10;

interface Waiting {
  readonly key: 'claims-to-send' | 'claims-unanswered';
  readonly title: string;
  readonly claims: readonly ClaimWithStatus[];
  readonly when: (claim: ClaimWithStatus) => string;
}

function report(alerts: Alerts, { key, title, claims, when }: Waiting): void {
  if (claims.length === 0) {
    alerts.resolve(key);
    return;
  }
  const named = [...claims]
    .reverse()
    .map((claim) => ({ ...claim, day: when(claim) }))
    .sort((one, other) => (one.day < other.day ? -1 : Number(one.day > other.day)))
    .slice(0, MAX_NAMED)
    .map(
      ({ id, carrier, claimed, currency_code, day }) =>
        `${id} (${carrier}, ${claimed} ${currency_code}) ${day}`,
    );
  const rest = claims.length > MAX_NAMED ? `, and ${claims.length - MAX_NAMED} more` : '';
  alerts.raise({ key, title, detail: `${named.join(', ')}${rest}` });
}
