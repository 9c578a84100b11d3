/** Credentials contain the characters that clients often encode wrongly: `+`, `/`, `=` and `:` (spec 5). */

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { AccountOptions } from '../core.ts';
import type { Environment } from '../model.ts';
import { bytesFrom, uuidFrom } from '../randomness.ts';

export interface Credentials {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly apiKey: string;
  readonly userId: string;
}

export function seededCredentials(seed: number | string, environment: Environment): Credentials {
  const secret = bytesFrom(24, seed, environment, 'client secret').toString('base64');
  return {
    clientId: `${environment}-${bytesFrom(10, seed, environment, 'client id').toString('hex')}`,
    clientSecret: `s:+/${secret}=`,
    apiKey: `${environment}_key_${bytesFrom(20, seed, environment, 'api key').toString('base64url')}`,
    userId: uuidFrom(seed, environment, 'client user'),
  };
}

// A token contains its expiry and account under a signature, so that it survives a restart, and ends in `=`, so that
// a client that trims or truncates it fails (spec 2.1, 4.1, 5).

export type TokensOptions = Pick<
  AccountOptions,
  'signingSecret' | 'environment' | 'tokenLifetimeSeconds' | 'now'
> & {
  /** Tokens issued up to this instant (epoch milliseconds) are revoked. */
  readonly revokedUpTo: () => number;
};

/** environment 1, issued 6, expires 6, nonce 8: with the 32 of the signature the base64 ends in one `=`. */
const CLAIMS_BYTES = 21;
const SIGNATURE_BYTES = 32;

export class Tokens {
  readonly #options: TokensOptions;

  constructor(options: TokensOptions) {
    this.#options = options;
  }

  issue() {
    const { environment, tokenLifetimeSeconds, now } = this.#options;
    const claims = Buffer.alloc(CLAIMS_BYTES);
    const issuedAt = now().getTime();
    claims.write(environment.slice(0, 1), 0, 'latin1');
    claims.writeUIntBE(issuedAt, 1, 6);
    claims.writeUIntBE(issuedAt + tokenLifetimeSeconds * 1_000, 7, 6);
    randomBytes(8).copy(claims, 13);
    const accessToken = Buffer.concat([claims, this.#sign(claims)]).toString('base64');
    return { accessToken, expiresInSeconds: tokenLifetimeSeconds };
  }

  /** Returns null for a valid token, and otherwise the reason of the refusal. */
  check(token: string): string | null {
    const bytes = Buffer.from(token, 'base64');
    if (bytes.length !== CLAIMS_BYTES + SIGNATURE_BYTES || bytes.toString('base64') !== token) {
      return 'The access token is malformed or truncated';
    }
    const claims = bytes.subarray(0, CLAIMS_BYTES);
    if (!timingSafeEqual(this.#sign(claims), bytes.subarray(CLAIMS_BYTES))) {
      return 'The access token was not issued by this service';
    }
    if (claims.toString('latin1', 0, 1) !== this.#options.environment.slice(0, 1)) {
      return 'The access token was issued for another environment';
    }
    if (claims.readUIntBE(1, 6) <= this.#options.revokedUpTo()) {
      return 'The access token was revoked';
    }
    const expired = claims.readUIntBE(7, 6) <= this.#options.now().getTime();
    return expired ? 'The access token expired' : null;
  }

  #sign(claims: Buffer): Buffer {
    return createHmac('sha256', this.#options.signingSecret).update('token').update(claims).digest();
  }
}

/** Compares in constant time, so that the duration reveals nothing of the secret. */
export function sameSecret(one: string, other: string): boolean {
  const digest = (text: string) => createHmac('sha256', 'compare').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}
