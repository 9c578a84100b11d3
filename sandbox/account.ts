/** The test and the production account share only the secret that signs tokens (spec 5). */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Billing } from './billing/billing.ts';
import { seededPartner, seededTenants } from './billing/new-invoice.ts';
import { Schedules } from './billing/schedules.ts';
import type { AccountOptions, Core } from './core.ts';
import { Deliveries } from './delivery/deliveries.ts';
import { Registrations } from './delivery/registrations.ts';
import { Faults } from './faults/faults.ts';
import type { ApiKey, Environment, Partner } from './model.ts';
import { bytesFrom } from './randomness.ts';
import { RefusalError } from './refusal.ts';
import { type Credentials, sameSecret, seededCredentials, Tokens } from './security/tokens.ts';
import { Activity } from './state/activity.ts';
import { Store } from './state/store.ts';

export class Account {
  readonly environment: Environment;
  readonly partner: Partner;
  /** Whether the billing feature is enabled for the account (spec 1). */
  readonly hasBilling: boolean;
  readonly credentials: Credentials;
  readonly now: () => Date;
  readonly store: Store;
  readonly activity: Activity;
  readonly faults: Faults;
  readonly tokens: Tokens;
  readonly registrations: Registrations;
  readonly deliveries: Deliveries;
  readonly billing: Billing;
  readonly schedules: Schedules;
  readonly seed: number;
  readonly #credentialSeed: number | string;

  constructor(options: AccountOptions) {
    const { environment, seed, partnerKind, now } = options;
    this.environment = environment;
    this.hasBilling = options.hasBilling;
    this.now = now;
    this.seed = seed;
    this.#credentialSeed = options.credentialSeed;
    this.partner = seededPartner(seed, environment, partnerKind);
    this.credentials = seededCredentials(options.credentialSeed, environment);
    const dir = join(options.dataDir, environment);
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    this.store = new Store(dir);
    this.#addInitialData();
    this.activity = new Activity(now);
    const core: Core = { ...options, store: this.store, activity: this.activity, partner: this.partner };
    const { store } = this;
    this.faults = new Faults(core);
    this.tokens = new Tokens({
      ...options,
      revokedUpTo: () => Number(store.get('value', 'revokedUpTo')?.value ?? 0),
    });
    this.registrations = new Registrations({
      ...core,
      findTenantId: (name) => this.billing.tenant(name).tenantId,
    });
    const { faults, registrations } = this;
    const tenantNames = (tenantId: string | null) => this.billing.tenantNames(tenantId);
    this.deliveries = new Deliveries({ ...core, faults, tenantNames });
    this.billing = new Billing({ ...core, faults, registrations, deliveries: this.deliveries });
    this.schedules = new Schedules({ ...core, billing: this.billing });
    this.deliveries.resume();
  }

  apiKeys(): readonly ApiKey[] {
    return [...this.store.all('apiKey').values()];
  }

  /** API keys stay valid until deactivated (spec 5). */
  addApiKey(name: string): ApiKey {
    const number = this.store.count('apiKeys');
    const secret = bytesFrom(20, this.#credentialSeed, this.environment, 'api key', number).toString(
      'base64url',
    );
    const key = { keyId: `key-${number}`, key: `${this.environment}_key_${secret}`, name, active: true };
    this.store.put('apiKey', key.keyId, key);
    return key;
  }

  /** @throws RefusalError when there is none */
  deactivateApiKey(keyId: string): ApiKey {
    const key = this.store.get('apiKey', keyId);
    if (key === undefined) throw new RefusalError('not_found', `There is no API key "${keyId}".`);
    const next = { ...key, active: false };
    this.store.put('apiKey', keyId, next);
    return next;
  }

  isActiveApiKey(text: string): boolean {
    return this.apiKeys().some(({ active, key }) => active && sameSecret(key, text));
  }

  revokeTokens(): void {
    this.store.put('value', 'revokedUpTo', { value: this.now().getTime() });
  }

  /** Removes invoices, deliveries, registrations and faults; the account's credentials stay valid. */
  async reset(): Promise<void> {
    await this.schedules.close();
    await this.deliveries.abandon();
    this.faults.reset();
    this.store.clear();
    this.#addInitialData();
  }

  async idle(): Promise<void> {
    await this.schedules.idle();
    await this.deliveries.idle();
  }

  async close(): Promise<void> {
    await this.schedules.close();
    await this.deliveries.close();
    this.store.close();
  }

  #addInitialData(): void {
    if (this.store.get('value', 'initialData') !== undefined) return;
    this.store.put('value', 'initialData', { value: this.now().toISOString() });
    if (this.partner.kind === '3pl') {
      for (const tenant of seededTenants(this.seed, this.environment)) {
        this.store.put('tenant', tenant.tenantId, tenant);
      }
    }
    const key = { keyId: 'key-0', key: this.credentials.apiKey, name: 'first key', active: true };
    this.store.put('apiKey', key.keyId, key);
  }
}

export type Connection = ReturnType<typeof connectionOf>;

/** `apiUrl` includes the path prefix of the account. */
export interface ListenerAddresses {
  readonly apiUrl: string;
  readonly storageUrl: string;
  readonly caFile: string;
}

/** How a client connects to the account, its secrets included. */
export function connectionOf(account: Account, addresses: ListenerAddresses) {
  const { apiUrl, storageUrl, caFile } = addresses;
  const { clientId, clientSecret, apiKey } = account.credentials;
  return {
    baseUrl: apiUrl,
    authUrl: apiUrl,
    storageUrl: `${storageUrl}/exports-${account.environment}`,
    adminUrl: `${apiUrl}/admin`,
    pageUrl: `${apiUrl}/`,
    caFile,
    clientId,
    clientSecret,
    apiKey,
    partnerId: account.partner.partnerId,
  };
}
