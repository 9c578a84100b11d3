/**
 * The partner's credentials for one environment (spec 5). They follow from a seed that was named, so scripts can be
 * written against them, else from chance; and hold the characters that clients get wrong: `+`, `/`, `=` and `:`.
 */
import type { Environment } from '../model.ts';
import { bytesFrom, uuidFrom } from '../randomness.ts';

export interface Credentials {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly apiKey: string;
  /** `userId` of the token response. */
  readonly userId: string;
}

/** The same client id, secret and API key for the same seed and environment (spec 5). */
export function seededCredentials(seed: number | string, environment: Environment): Credentials {
  const secret = bytesFrom(24, seed, environment, 'client secret').toString('base64');
  return {
    clientId: `${environment}-${bytesFrom(10, seed, environment, 'client id').toString('hex')}`,
    clientSecret: `s:+/${secret}=`,
    apiKey: `${environment}_key_${bytesFrom(20, seed, environment, 'api key').toString('base64url')}`,
    userId: uuidFrom(seed, environment, 'client user'),
  };
}
