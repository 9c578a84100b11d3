/** Says in health how the billing service is to us: when it last answered, until when our token is good, what went wrong since. */

import { alertingRefusal } from '../activities/credentials-alert.ts';
import type { BillingService } from '../billing/billing-service.ts';
import { isBillingError } from '../billing/errors.ts';
import type { Alerts } from '../lib/alerts/alerts.ts';
import type { Check, Health } from '../lib/health/health.ts';

/** Calls of the service itself; a download asks its storage. */
const CALLS = ['fetchToken', 'ping', 'regenerateUrl', 'lookUpInvoice', 'exportCsv'] as const;
type Call = (typeof CALLS)[number];

/** What says that the service, or our right to call it, is in trouble: not what it says of one invoice. */
const TROUBLE: ReadonlySet<string> = new Set([
  ...['unreachable', 'deadline-exceeded', 'credentials-refused', 'server-fault', 'overloaded', 'redirect'],
  ...['unexpected-answer', 'forbidden', 'address-refused', 'not-configured'],
]);

const COMPONENT = 'billing service';
/** More than what rounding to seconds moves the end of one token. */
const TOKEN_IS_NEW_MS = 5_000;
const KEPT_EVERY_MS = 60_000;

/**
 * Has a good token at hand also while there is nothing to ask: that our credentials are refused, or the service cannot be reached, shows
 * within the life of a token and not only at the next invoice. Ping is not asked (spec 4.2: optional).
 */
export function tokenCheck(
  service: Pick<BillingService, 'fetchToken'>,
  { alerts }: { readonly alerts: Alerts },
): Check {
  // The first one, or the first after a refusal, is had with what was set since.
  let isProof = true;
  const keep = async (signal: AbortSignal): Promise<void> => {
    const ask = () => service.fetchToken({ signal });
    const { secondsLeft } = await alertingRefusal(alerts, ask, { provesThem: false });
    // A key proves nothing until it is shown.
    if (isProof && secondsLeft !== null) alerts.resolve('credentials');
    isProof = false;
  };
  return {
    component: 'token',
    everyMs: KEPT_EVERY_MS,
    // The service's watch records the answer, and a refusal of our credentials is an alert already.
    run: (signal) =>
      keep(signal).catch((error: unknown) => {
        isProof ||= isBillingError(error, 'credentials-refused');
      }),
  };
}

/** @returns the same service, each call of which is noted in health before its answer or error goes on */
export function watchedService(
  service: BillingService,
  { health, now = () => new Date() }: { readonly health: Health; readonly now?: () => Date },
): BillingService {
  const seen = { answered: null as string | null, tokenUntil: null as Date | null };
  let troubled: Call | null = null;
  const tell = (trouble: string | null): void => {
    const facts = [
      trouble,
      seen.answered === null ? 'it has not answered yet' : `last good answer ${seen.answered}`,
      seen.tokenUntil === null ? null : `token good until ${minute(seen.tokenUntil)}`,
    ];
    const detail = facts.filter((fact) => fact !== null).join('; ');
    health.set(COMPONENT, { isHealthy: trouble === null, detail, isOutside: true });
  };

  function answered(call: Call, answer: unknown): void {
    const at = now();
    if (call === 'fetchToken') {
      const { secondsLeft } = answer as Awaited<ReturnType<BillingService['fetchToken']>>;
      const until = secondsLeft === null ? null : new Date(at.getTime() + secondsLeft * 1_000);
      // One that is still at hand was not asked for just now; and a new one says nothing of other calls that fail.
      const isNew = until !== null && until.getTime() - (seen.tokenUntil?.getTime() ?? 0) > TOKEN_IS_NEW_MS;
      seen.tokenUntil = until;
      if (!isNew || (isUnwell() && troubled !== 'fetchToken')) return;
    }
    seen.answered = `${minute(at)} (${NAMES[call]})`;
    tell(null);
  }

  function failed(call: Call, error: unknown): void {
    const { code, message } = error as { code?: unknown; message?: unknown };
    if (typeof code !== 'string' || !TROUBLE.has(code)) {
      answeredAnyway(code);
      return;
    }
    if (isBillingError(error, 'credentials-refused')) seen.tokenUntil = null;
    troubled = call;
    tell(`last error ${minute(now())}: ${String(message)}`);
  }

  /** A refusal of one invoice is an answer. */
  function answeredAnyway(code: unknown): void {
    if (['not-exported', 'unknown-invoice', 'not-ready', 'not-modified', 'refused'].includes(String(code))) {
      seen.answered = minute(now());
      tell(null);
    }
  }

  const isUnwell = (): boolean => health.report().components[COMPONENT]?.isHealthy === false;

  tell(null);
  return new Proxy(service, {
    get(target, name) {
      const value = Reflect.get(target, name) as unknown;
      if (typeof value !== 'function') return value;
      const call = CALLS.find((each) => each === name);
      const method = value.bind(target) as (...input: unknown[]) => unknown;
      if (call === undefined) return method;
      return async (...input: unknown[]) => {
        try {
          const answer = await method(...input);
          answered(call, answer);
          return answer;
        } catch (error) {
          failed(call, error);
          throw error;
        }
      };
    },
  });
}

const NAMES: Readonly<Record<Call, string>> = {
  fetchToken: 'token',
  ping: 'ping',
  regenerateUrl: 'regenerate',
  lookUpInvoice: 'details',
  exportCsv: 'export',
};

/** 2026-03-01 08:00 UTC */
function minute(at: Date): string {
  return `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
