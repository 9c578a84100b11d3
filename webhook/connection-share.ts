/**
 * Decides which connection is accepted and which is closed; pure, so that its promises can be tested without sockets.
 *
 * A connection is a stranger until correct credentials came on it. An attacker can open any number of these, so they are
 * counted per address, and when the limit is reached, the oldest stranger of the address that has the most is closed.
 * Connections of known senders are never closed. A share of all connections is reserved for addresses from which correct
 * credentials came before.
 */

export interface ConnectionLimits {
  /** In all. */
  readonly total: number;
  /** Strangers from one address. */
  readonly perAddress: number;
}

/** `end`: this connection makes room for the new one. */
export type Verdict<Connection> =
  | { readonly kind: 'take'; readonly end: Connection | null }
  | { readonly kind: 'refuse' };

export interface ConnectionShare<Connection> {
  /** Decides about a new connection and counts it when it is accepted. @param isProxy counts towards the whole only */
  admit(
    connection: Connection,
    from: { readonly address: string; readonly isProxy: boolean },
    atMs: number,
  ): Verdict<Connection>;
  /** Right credentials came on it. */
  prove(connection: Connection): void;
  /** It is closed. */
  leave(connection: Connection): void;
  readonly size: number;
}

/** Of the whole, for addresses that are known. */
const KNOWN_SHARE = 1 / 4;
const MOST_KNOWN = 10_000;
/** An honest sender has presented its credentials by then; so a burst of its own does not push itself out. */
const YOUNG_MS = 2_000;

export function createConnectionShare<Connection extends object>(
  limits: ConnectionLimits,
): ConnectionShare<Connection> {
  const all = new Map<Connection, { readonly address: string; readonly sinceMs: number }>();
  /** Strangers by address, oldest first. */
  const strangers = new Map<string, Set<Connection>>();
  /** Addresses that proved themselves, the one that did so longest ago first. */
  const known = new Set<string>();
  const forUnknown = Math.max(1, Math.floor(limits.total * (1 - KNOWN_SHARE)));
  let unknownStrangers = 0;

  function admit(
    connection: Connection,
    { address, isProxy }: { readonly address: string; readonly isProxy: boolean },
    atMs: number,
  ): Verdict<Connection> {
    const isKnown = known.has(address);
    let end: Connection | null = null;
    if (!isProxy && !isKnown && (strangers.get(address)?.size ?? 0) >= limits.perAddress) {
      end = oldestOf(address, atMs);
      if (end === null) return { kind: 'refuse' };
    } else if (all.size >= limits.total || (!isKnown && unknownStrangers >= forUnknown)) {
      end = oldestOfMost(address, isKnown, atMs);
      if (end === null) return { kind: 'refuse' };
    }
    if (end !== null) leave(end);
    all.set(connection, { address, sinceMs: atMs });
    const others = strangers.get(address);
    if (others === undefined) strangers.set(address, new Set([connection]));
    else others.add(connection);
    if (!isKnown) unknownStrangers += 1;
    return { kind: 'take', end };
  }

  /** Of the address that has the most strangers; an unknown sender never displaces a known one. */
  function oldestOfMost(newcomer: string, isKnown: boolean, atMs: number): Connection | null {
    let most: string | null = null;
    let size = 0;
    for (const [address, those] of strangers) {
      if ((!isKnown && known.has(address)) || those.size <= size) continue;
      most = address;
      size = those.size;
    }
    if (most === null) return null;
    const own = strangers.get(newcomer)?.size ?? 0;
    // Among addresses with equally many, a connection is not closed before it had time to send its credentials.
    return size > own + 1 ? oldestOf(most, Number.POSITIVE_INFINITY) : oldestOf(most, atMs);
  }

  function oldestOf(address: string, atMs: number): Connection | null {
    const [oldest] = strangers.get(address) ?? [];
    const sinceMs = oldest === undefined ? undefined : all.get(oldest)?.sinceMs;
    return oldest === undefined || sinceMs === undefined || atMs - sinceMs < YOUNG_MS ? null : oldest;
  }

  function prove(connection: Connection): void {
    const address = all.get(connection)?.address;
    if (address === undefined) return;
    noLongerStranger(connection, address);
    if (!known.delete(address)) unknownStrangers -= strangers.get(address)?.size ?? 0;
    known.add(address);
    if (known.size > MOST_KNOWN) forget();
  }

  function forget(): void {
    const [longestAgo] = known;
    if (longestAgo === undefined) return;
    known.delete(longestAgo);
    unknownStrangers += strangers.get(longestAgo)?.size ?? 0;
  }

  function leave(connection: Connection): void {
    const address = all.get(connection)?.address;
    if (address === undefined) return;
    all.delete(connection);
    noLongerStranger(connection, address);
  }

  function noLongerStranger(connection: Connection, address: string): void {
    const those = strangers.get(address);
    if (those?.delete(connection) !== true) return;
    if (those.size === 0) strangers.delete(address);
    if (!known.has(address)) unknownStrangers -= 1;
  }

  return {
    admit,
    prove,
    leave,
    get size() {
      return all.size;
    },
  };
}
