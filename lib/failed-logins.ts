/** By what senders are told apart that are counted: wrong passwords, connections. */

import { setTimeout as sleep } from 'node:timers/promises';
import ipaddr from 'ipaddr.js';
import type { Alerts } from './alerts/alerts.ts';
import type { AlertKey } from './alerts/runbook/runbook.ts';
import type { Logger } from './log/log.ts';

/** What one sender is counted by: an IPv4 address, or the /64 that one line of IPv6 is given as a whole. */
export function addressKey(address: string | undefined): string {
  const parsed = addressOrNull(address);
  if (parsed === null) return 'unknown';
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return `${parsed.toNormalizedString().split(':').slice(0, 4).join(':')}::/64`;
}

/** null for what is no address; an IPv4 address inside IPv6 is the IPv4 one. */
export function addressOrNull(address: string | undefined): ReturnType<typeof ipaddr.process> | null {
  try {
    return address === undefined ? null : ipaddr.process(address.replace(/%.*$/, ''));
  } catch {
    return null;
  }
}

export interface FailedLogins {
  /** Resolves when the refusal may be sent; false: so many wait already that it is not worth an answer. */
  failed(address: string): Promise<boolean>;
  succeeded(address: string): void;
}

/** What a person is told of wrong credentials at this endpoint or page. */
export interface FailedLoginsWords {
  readonly alertKey: AlertKey;
  /** A sentence up to the address. */
  readonly title: string;
  readonly detail: string;
  /** Of the line in the log. */
  readonly logged: string;
}

interface Failures {
  count: number;
  lastMs: number;
  toldMs: number;
}

/** A person who mistypes, or a service that tries twice, is answered at once. */
const FREE = 3;
const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 2_000;
const FORGOTTEN_AFTER_MS = 10 * 60_000;
const TOLD_EVERY_MS = 60_000;
/** The service tries an event twice; so it is told also when that is all that ever comes. */
const ALERT_FROM = 2;
const MOST_ADDRESSES = 10_000;
const MOST_WAITING = 100;

/** One for each server that asks for credentials. @param deps.wait how a refusal waits; tests do not */
export function createFailedLogins(deps: {
  readonly log: Logger;
  readonly alerts?: Alerts;
  readonly words: FailedLoginsWords;
  readonly wait?: (ms: number) => Promise<unknown>;
  readonly nowMs?: () => number;
}): FailedLogins {
  const {
    words,
    wait = (ms) => sleep(ms, undefined, { ref: false }),
    nowMs = () => performance.now(),
  } = deps;
  /** The address that failed longest ago first. */
  const failures = new Map<string, Failures>();
  let waiting = 0;

  async function failed(address: string): Promise<boolean> {
    const { count } = note(address);
    if (count <= FREE) return true;
    if (waiting >= MOST_WAITING) return false;
    waiting += 1;
    try {
      await wait(Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(count - FREE - 1, 10)));
    } finally {
      waiting -= 1;
    }
    return true;
  }

  function note(address: string): Failures {
    const atMs = nowMs();
    const before = failures.get(address);
    const isForgotten = before === undefined || atMs - before.lastMs > FORGOTTEN_AFTER_MS;
    const noted = isForgotten ? { count: 0, lastMs: atMs, toldMs: Number.NEGATIVE_INFINITY } : before;
    noted.count += 1;
    noted.lastMs = atMs;
    failures.delete(address);
    failures.set(address, noted);
    const [longestAgo] = failures.keys();
    if (failures.size > MOST_ADDRESSES && longestAgo !== undefined) failures.delete(longestAgo);
    tell(address, noted, atMs);
    return noted;
  }

  function tell(address: string, noted: Failures, atMs: number): void {
    if (noted.count >= ALERT_FROM) {
      deps.alerts?.raise({
        key: words.alertKey,
        title: `${words.title}, most recently from ${address}.`,
        detail: words.detail,
      });
    }
    if (atMs - noted.toldMs < TOLD_EVERY_MS) return;
    noted.toldMs = atMs;
    deps.log.warn({ address, count: noted.count }, words.logged);
  }

  return {
    failed,
    succeeded(address) {
      if (failures.delete(address)) deps.alerts?.resolve(words.alertKey);
    },
  };
}
