/** Where access tokens come from (spec 4.1, 5): one at a time, fresh before the old one dies, never shown to anybody. */

import type { AccessToken } from '../lib/wire/api.ts';

export interface TokenSourceOptions {
  /** Asks the service; has a deadline of its own. */
  readonly fetch: () => Promise<AccessToken>;
  /** Monotonic: a clock that is set must not make a dead token live (milliseconds). */
  readonly monotonicMs?: () => number;
  /** Called with every new token, never with its text. */
  readonly onToken?: (token: Pick<AccessToken, 'expiresInSeconds' | 'partnerIds'>) => void;
}

/** A token is renewed when a fifth of its life or a minute is left, whichever is shorter. */
const LIFE_LEFT_SHARE = 0.2;
const MOST_LEFT_MS = 60_000;

interface HeldToken {
  readonly text: string;
  readonly diesAtMs: number;
  readonly renewAtMs: number;
}

export class TokenSource {
  readonly #fetch: () => Promise<AccessToken>;
  readonly #monotonicMs: () => number;
  readonly #onToken: TokenSourceOptions['onToken'];
  #held: HeldToken | null = null;
  #underWay: Promise<HeldToken> | null = null;

  constructor({ fetch, monotonicMs = () => performance.now(), onToken }: TokenSourceOptions) {
    this.#fetch = fetch;
    this.#monotonicMs = monotonicMs;
    this.#onToken = onToken;
  }

  /** A token that is good now. Callers that meet share one request; an abort ends only the caller's own waiting. */
  async token(signal?: AbortSignal): Promise<string> {
    const held = this.#held;
    if (held !== null && this.#monotonicMs() < held.renewAtMs) return held.text;
    try {
      return (await waitFor(this.#renew(), signal)).text;
    } catch (error) {
      signal?.throwIfAborted();
      // The authorization server is away, the token at hand is still good.
      if (held !== null && held === this.#held && this.#monotonicMs() < held.diesAtMs) return held.text;
      throw error;
    }
  }

  /** After a 401 for this token: it is dropped unless somebody has already replaced it. */
  drop(refused: string): void {
    if (this.#held?.text === refused) this.#held = null;
  }

  /** Until the token at hand dies; 0 without one. */
  secondsLeft(): number {
    if (this.#held === null) return 0;
    return Math.max(0, (this.#held.diesAtMs - this.#monotonicMs()) / 1_000);
  }

  #renew(): Promise<HeldToken> {
    this.#underWay ??= this.#request().finally(() => {
      this.#underWay = null;
    });
    return this.#underWay;
  }

  async #request(): Promise<HeldToken> {
    // Its life is counted from before the request, so the way back does not prolong it.
    const askedAtMs = this.#monotonicMs();
    const { accessToken, expiresInSeconds, partnerIds } = await this.#fetch();
    const lifeMs = expiresInSeconds * 1_000;
    const diesAtMs = askedAtMs + lifeMs;
    const renewAtMs = diesAtMs - Math.min(lifeMs * LIFE_LEFT_SHARE, MOST_LEFT_MS);
    this.#held = { text: accessToken, diesAtMs, renewAtMs };
    this.#onToken?.({ expiresInSeconds, partnerIds });
    return this.#held;
  }
}

function waitFor<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const aborted = (): void => reject(signal.reason);
    if (signal.aborted) aborted();
    signal.addEventListener('abort', aborted, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', aborted));
  });
}
