/** Addresses and credentials of one account, for the ready line, the admin API and the page. */
import type { Account } from './account.ts';

export interface Connection {
  readonly baseUrl: string;
  readonly authUrl: string;
  readonly storageUrl: string;
  readonly adminUrl: string;
  readonly pageUrl: string;
  /** The CA that signed the sandbox's certificates, PEM. */
  readonly caFile: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly apiKey: string;
  readonly partnerId: string;
}

/** Where the listeners are; `apiUrl` is this account's side of theirs. */
export interface Addresses {
  readonly apiUrl: string;
  readonly storageUrl: string;
  readonly caFile: string;
}

/** Addresses and credentials of the account, secrets included, with the names of the ready line. */
export function connectionOf(account: Account, { apiUrl, storageUrl, caFile }: Addresses): Connection {
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
