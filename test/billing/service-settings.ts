/** The settings of a client that talks to a service on this machine. */

import type { BillingServiceOptions } from '../../billing/client.ts';

type ClientSettings = BillingServiceOptions['settings'];

/** Loopback is allowed; OAuth unless `apiKey` is given; the token names the partner. */
export function serviceSettings(
  service: {
    readonly baseUrl: string;
    readonly authUrl: string;
    readonly caFile: string | null;
    readonly clientId: string;
    readonly clientSecret: string;
  },
  {
    dataDir,
    partnerId = null,
    ...changes
  }: { readonly dataDir: string; readonly partnerId?: string | null } & Partial<ClientSettings['service']>,
): ClientSettings {
  const { baseUrl, authUrl, caFile, clientId, clientSecret } = service;
  return {
    dataDir,
    partnerId,
    wirePrefix: 'auto',
    service: {
      ...{ baseUrl, authUrl, caFile, clientId, clientSecret },
      apiKey: null,
      apiKeyHeader: 'x-api-key',
      clientCert: null,
      clientKey: null,
      httpsProxy: null,
      httpProxy: null,
      noProxy: null,
      downloadHosts: [],
      allowPrivateHosts: true,
      ...changes,
    },
  };
}
