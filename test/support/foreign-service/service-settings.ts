/** The settings that make billsync a client of a foreign service on this machine. */

import type { ForeignService } from './foreign-service.ts';

/** Where a service is and how it lets us in. */
export type ServiceAddress = Pick<
  ForeignService,
  'baseUrl' | 'authUrl' | 'clientId' | 'clientSecret' | 'caFile'
>;

export function serviceSettings(service: ServiceAddress): Record<string, string> {
  return {
    BILLSYNC_BASE_URL: service.baseUrl,
    BILLSYNC_AUTH_URL: service.authUrl,
    BILLSYNC_CLIENT_ID: service.clientId,
    BILLSYNC_CLIENT_SECRET: service.clientSecret,
    BILLSYNC_CA_FILE: service.caFile,
    BILLSYNC_ALLOW_PRIVATE_HOSTS: 'true',
  };
}
