import type { Environment, Partner, PartnerKind } from './model.ts';
import type { Activity } from './state/activity.ts';
import type { Store } from './state/store.ts';

export interface AccountOptions {
  readonly environment: Environment;
  readonly dataDir: string;
  readonly seed: number;
  readonly credentialSeed: number | string;
  readonly partnerKind: PartnerKind;
  readonly wirePrefix: string;
  readonly signingSecret: string;
  readonly storageUrl: () => string;
  readonly tokenLifetimeSeconds: number;
  readonly urlLifetimeSeconds: number;
  readonly retryDelayMs: number;
  readonly deliveryTimeoutMs: number;
  readonly now: () => Date;
  /** Whether the billing feature is enabled for the account (spec 1). */
  readonly hasBilling: boolean;
}

/** What the parts of one account share. */
export interface Core extends AccountOptions {
  readonly store: Store;
  readonly activity: Activity;
  readonly partner: Partner;
}
