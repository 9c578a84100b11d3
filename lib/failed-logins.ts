/** Valid credentials are never delayed: guesses of others behind the same address must not cost an event. */

import { setTimeout as sleep } from 'node:timers/promises';
import ipaddr from 'ipaddr.js';
import type { AlertKey } from './alerts/alert-names.ts';
import type { Alerts } from './alerts/alerts.ts';
import type { Logger } from './log/log.ts';

export type FailedLogins = ReturnType<typeof createFailedLogins>;

export interface FailedLoginsMessages {
  readonly alertKey: AlertKey;
  readonly title: string;
  readonly detail: string;
  readonly log: string;
}

/** A person who mistypes, and a service that tries twice, get their answer immediately. */
const UNDELAYED_FAILURES = 3;
const FIRST_DELAY_MS = 100;
const MAX_DELAY_MS = 2_000;
/** The service tries an event twice and then gives up. */
const ALERT_FROM = 2;
const MAX_ADDRESSES = 10_000;
const MAX_WAITING = 100;

/** The key that a sender's limits count by: an IPv4 address, or an IPv6 /64, which one line gets as a whole. */
export function addressKey(address: string | undefined): string {
  const text = (address ?? '').replace(/%.*$/, '');
  if (!ipaddr.isValid(text)) return 'unknown';
  const parsed = ipaddr.process(text);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return `${parsed.toNormalizedString().split(':').slice(0, 4).join(':')}::/64`;
}

export function createFailedLogins(deps: {
  readonly log: Logger;
  readonly alerts?: Alerts;
  readonly messages: FailedLoginsMessages;
  readonly wait?: (ms: number) => Promise<unknown>;
}) {
  const { messages, wait = (ms) => sleep(ms, undefined, { ref: false }) } = deps;
  const failures = new Map<string, number>();
  let waiting = 0;

  return {
    /** false: too many others are waiting; answer without the delay. */
    async failed(address: string): Promise<boolean> {
      const count = (failures.get(address) ?? 0) + 1;
      failures.delete(address);
      failures.set(address, count);
      const [oldest = ''] = failures.keys();
      if (failures.size > MAX_ADDRESSES) failures.delete(oldest);
      if (Number.isInteger(Math.log2(count))) deps.log.warn({ address, count }, messages.log);
      if (count >= ALERT_FROM) {
        const title = `${messages.title}, most recently from ${address}`;
        deps.alerts?.raise({ key: messages.alertKey, title, detail: messages.detail });
      }
      const delayed = count - UNDELAYED_FAILURES;
      if (delayed <= 0) return true;
      if (waiting >= MAX_WAITING) return false;
      waiting += 1;
      await wait(Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (Math.min(delayed, 10) - 1)));
      waiting -= 1;
      return true;
    },
    succeeded(address: string): void {
      if (failures.delete(address)) deps.alerts?.resolve(messages.alertKey);
    },
  };
}
