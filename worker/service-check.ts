import { alertRefusedCredentials } from '../activities/service-calls.ts';
import type { BillingService } from '../billing/billing-service.ts';
import { isBillingError } from '../billing/errors.ts';
import type { Alerts } from '../lib/alerts/alerts.ts';
import { minuteOf } from '../lib/health/expiry-checks.ts';
import type { Check, Health } from '../lib/health/health.ts';
import { serviceError } from '../lib/wire/service-errors.ts';

const CALLS = {
  fetchToken: 'token',
  ping: 'ping',
  regenerateUrl: 'regenerate',
  lookUpInvoice: 'details',
  exportCsv: 'export',
} as const satisfies Partial<Record<keyof BillingService, string>>;
type Call = keyof typeof CALLS;

const COMPONENT = 'billing service';
const NEW_TOKEN_MS = 5_000;
const TOKEN_INTERVAL_MS = 60_000;

/**
 * Refused credentials or an unreachable service are noticed within a token's lifetime, even while no invoice needs a
 * token.
 */
export function tokenCheck(
  service: Pick<BillingService, 'fetchToken'>,
  { alerts }: { readonly alerts: Alerts },
): Check {
  // Only the first token, or the first after a refusal, was issued for the current credentials.
  let isProof = true;
  async function check(signal: AbortSignal): Promise<void> {
    const fetchToken = () => service.fetchToken({ signal });
    const { secondsLeft } = await alertRefusedCredentials(alerts, fetchToken, { isProof: false });
    // An API key proves nothing until it is used.
    if (isProof && secondsLeft !== null) alerts.resolve('credentials');
    isProof = false;
  }
  return {
    component: 'token',
    everyMs: TOKEN_INTERVAL_MS,
    // Health and alerts have recorded the error already.
    run: (signal) =>
      check(signal).catch((error: unknown) => {
        isProof ||= isBillingError(error, 'credentials-refused');
      }),
  };
}

export function withServiceHealth(
  service: BillingService,
  { health, now = () => new Date() }: { readonly health: Health; readonly now?: () => Date },
): BillingService {
  let lastAnswer: string | null = null;
  let tokenExpiry: Date | null = null;
  let failedCall: Call | null = null;

  function update(error: string | null): void {
    const facts = [
      error,
      lastAnswer === null ? 'it has not answered yet' : `last good answer ${lastAnswer}`,
      tokenExpiry === null ? null : `token good until ${minuteOf(tokenExpiry)}`,
    ];
    const detail = facts.filter((fact) => fact !== null).join('; ');
    health.set(COMPONENT, { isHealthy: error === null, detail, isOutside: true });
  }

  function recordAnswer(call: Call, answer: unknown): void {
    const at = now();
    if (call === 'fetchToken') {
      const { secondsLeft } = answer as Awaited<ReturnType<BillingService['fetchToken']>>;
      const expiry = secondsLeft === null ? null : new Date(at.getTime() + secondsLeft * 1_000);
      const isNew = expiry !== null && expiry.getTime() - (tokenExpiry?.getTime() ?? 0) > NEW_TOKEN_MS;
      tokenExpiry = expiry;
      // A cached token is no answer of the service, and a new one does not clear the failure of another call.
      if (!isNew || (isUnhealthy() && failedCall !== 'fetchToken')) return;
    }
    lastAnswer = `${minuteOf(at)} (${CALLS[call]})`;
    update(null);
  }

  function recordFailure(call: Call, error: unknown): void {
    const { code, message } = error as { code?: unknown; message?: unknown };
    const known = serviceError(code);
    if (known === null) return;
    if (known.scope === 'invoice') {
      // A refusal about one invoice is an answer.
      lastAnswer = minuteOf(now());
      update(null);
      return;
    }
    if (isBillingError(error, 'credentials-refused')) tokenExpiry = null;
    failedCall = call;
    update(`last error ${minuteOf(now())}: ${String(message)}`);
  }

  const isUnhealthy = (): boolean => health.report().components[COMPONENT]?.isHealthy === false;

  update(null);
  return new Proxy(service, {
    get(target, name) {
      const value = Reflect.get(target, name) as unknown;
      if (typeof value !== 'function') return value;
      const method = value.bind(target) as (...args: unknown[]) => unknown;
      if (!Object.hasOwn(CALLS, name)) return method;
      const call = name as Call;
      return async (...args: unknown[]) => {
        try {
          const answer = await method(...args);
          recordAnswer(call, answer);
          return answer;
        } catch (error) {
          recordFailure(call, error);
          throw error;
        }
      };
    },
  });
}
