/**
 * Asks the service about a slice of a backfill's invoices and says of each what is to be done. Of a hundred thousand
 * most are loaded and unchanged: a workflow for each would cost a hundred times the question.
 *
 * Each heartbeat carries what was found, so the next attempt asks only what is left.
 */

import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { activityInfo, cancellationSignal, heartbeat } from '@temporalio/activity';
import type { BillingService, InvoiceDetails } from '../billing/billing-service.ts';
import { isBillingError } from '../billing/errors.ts';
import { createSemaphore } from '../lib/semaphore.ts';
import type { LedgerStatus } from '../warehouse/warehouse.ts';
import { beatEvery } from './beat.ts';
import { checkDetails, checkLedger, type Finding } from './check-standing.ts';
import { alertingRefusal } from './credentials-alert.ts';
import type { BillingDependencies } from './dependencies.ts';
import { translated } from './failures.ts';

export interface SurveyRequest {
  readonly invoiceIds: readonly string[];
  /** Of those that the ledger knows. */
  readonly standings: readonly LedgerStatus[];
  /** How many questions at once; the host's own limits hold besides. */
  readonly atOnce: number;
}

const BEAT_EVERY_MS = 1_000;
/** A pause longer than this is a mistake or an attack. */
const LONGEST_PAUSE_SECONDS = 300;

/**
 * @returns a finding for each id, in their order
 * @throws what the service cannot be asked for; an overload is waited out, as long as it asks
 */
export function surveyInvoices({ service, alerts }: Pick<BillingDependencies, 'service' | 'alerts'>) {
  return ({ invoiceIds, standings, atOnce }: SurveyRequest): Promise<readonly Finding[]> =>
    translated(async () => {
      const standingOf = new Map(standings.map((standing) => [standing.invoiceId, standing]));
      const findings = found() ?? invoiceIds.map(() => null);
      const open = invoiceIds.map((_, index) => index).filter((index) => findings[index] === null);
      const beat = beatEvery(BEAT_EVERY_MS, () => heartbeat(findings));
      try {
        await eachAtOnce(open, atOnce, async (index, signal) => {
          const invoiceId = invoiceIds[index] ?? '';
          const standing = standingOf.get(invoiceId.toLowerCase()) ?? null;
          findings[index] =
            checkLedger(standing) ?? (await ask({ service, alerts }, { invoiceId, standing }, signal));
        });
      } finally {
        beat.stop();
        heartbeat(findings);
      }
      return findings.map((finding) => finding ?? 'work');
    });
}

/** Details of the last heartbeat of an earlier attempt. */
function found(): (Finding | null)[] | null {
  const details: unknown = activityInfo().heartbeatDetails;
  return Array.isArray(details) ? [...details] : null;
}

async function ask(
  { service, alerts }: Pick<BillingDependencies, 'service' | 'alerts'>,
  { invoiceId, standing }: { readonly invoiceId: string; readonly standing: LedgerStatus | null },
  signal: AbortSignal,
): Promise<Finding> {
  for (;;) {
    try {
      const details = await alertingRefusal(alerts, () => detailsOf(service, invoiceId, signal), {
        provesThem: true,
      });
      // An invoice that we never heard of may have a file where it has no details (spec 7, 4.4 shows no errors).
      if (details === null && standing === null && (await hasFile(service, invoiceId, signal))) return 'work';
      return checkDetails(standing, details);
    } catch (error) {
      if (!isBillingError(error, 'overloaded')) return unclear(error);
      const seconds = Math.min(error.retryAfterSeconds ?? 1, LONGEST_PAUSE_SECONDS);
      await sleep(seconds * 1_000, undefined, { signal });
    }
  }
}

/** null: 404 */
async function detailsOf(
  service: BillingService,
  invoiceId: string,
  signal: AbortSignal,
): Promise<InvoiceDetails | null> {
  try {
    return await service.lookUpInvoice(invoiceId, { signal });
  } catch (error) {
    if (isBillingError(error, 'unknown-invoice')) return null;
    throw error;
  }
}

async function hasFile(service: BillingService, invoiceId: string, signal: AbortSignal): Promise<boolean> {
  try {
    await service.regenerateUrl(invoiceId, { signal });
    return true;
  } catch (error) {
    if (isBillingError(error, 'not-exported')) return false;
    throw error;
  }
}

/** No usable answer about this one: its workflow has other questions, and more patience. */
function unclear(error: unknown): 'work' {
  const isAboutInvoice = isBillingError(
    error,
    ...([
      'deadline-exceeded',
      'refused',
      'forbidden',
      'server-fault',
      'unexpected-answer',
      'redirect',
    ] as const),
  );
  if (isAboutInvoice) return 'work';
  throw error;
}

/** Works through `all`, so many at once; the first that fails ends the others. */
async function eachAtOnce(
  all: readonly number[],
  atOnce: number,
  work: (one: number, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const stop = new AbortController();
  const signal = AbortSignal.any([cancellationSignal(), stop.signal]);
  // All listen at once; Node takes more than ten for a leak.
  setMaxListeners(0, signal);
  const semaphore = createSemaphore(Math.max(1, atOnce));
  const running = all.map((one) => semaphore(() => work(one, signal), signal));
  try {
    await Promise.all(running);
  } catch (error) {
    stop.abort();
    await Promise.allSettled(running);
    throw error;
  }
}
