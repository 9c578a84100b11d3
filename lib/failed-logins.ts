/**
 * Valid credentials are never delayed. An address that has many guesses waiting gets 429 before its credentials are compared, so
 * valid ones too: otherwise the time of an answer would tell them apart, and guesses would cost nothing.
 */

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
/** At most this many wrong passwords of one address wait at once; with the longest delay it gets ten answers a second. */
const MAX_WAITING = 20;

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
  const waiting = new Map<string, number>();

  return {
    /** Called before credentials are compared: true means that 429 is answered instead. */
    isOver: (address: string): boolean => (waiting.get(address) ?? 0) >= MAX_WAITING,
    /** The promise resolves when the answer to a wrong password may be sent. */
    async failed(address: string): Promise<void> {
      const count = (failures.get(address) ?? 0) + 1;
      failures.delete(address);
      failures.set(address, count);
      const [oldest = ''] = failures.keys();
      if (failures.size > MAX_ADDRESSES) failures.delete(oldest);
      if (Number.isInteger(Math.log2(count))) deps.log.warn({ address, count }, messages.log);
      if (count >= ALERT_FROM) {
        const title = `${messages.title}, most recently from ${address}`;
        deps.alerts?.raise({ key: messages.alertKey, title, detail: messages.detail }, address);
      }
      const delayed = count - UNDELAYED_FAILURES;
      if (delayed <= 0) return;
      waiting.set(address, (waiting.get(address) ?? 0) + 1);
      await wait(Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (Math.min(delayed, 10) - 1)));
      const left = (waiting.get(address) ?? 1) - 1;
      if (left === 0) waiting.delete(address);
      else waiting.set(address, left);
    },
    succeeded(address: string): void {
      if (failures.delete(address)) deps.alerts?.resolve(messages.alertKey, { subject: address });
    },
  };
}
