/** Object storage is another host in real life and so another origin here; the production account is below /production. */
import { readFileSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import Fastify, { type FastifyInstance } from 'fastify';
import { type Account, connectionOf } from '../account.ts';
import { pageRoutes } from '../page/page-routes.ts';
import type { ServiceKeys } from '../security/tls.ts';
import { adminRoutes } from './admin-routes.ts';
import { apiRoutes } from './api-routes.ts';
import { storageRoutes } from './storage-routes.ts';

export interface ListenersOptions {
  readonly host: string;
  readonly port?: number;
  readonly storagePort?: number;
  readonly wirePrefix: string;
  readonly dataDir: string;
  readonly accounts: { readonly test: Account; readonly production: Account };
  readonly keys: ServiceKeys;
  readonly adminOpen: boolean;
}

interface Ports {
  readonly port: number;
  readonly storagePort: number;
}

/** @throws Error with code EADDRINUSE when a requested port is taken */
export async function startListeners(options: ListenersOptions) {
  const { accounts, keys, host, dataDir, wirePrefix } = options;
  const { signingSecret } = keys;
  const portsFile = join(dataDir, 'ports.json');
  const last = readPorts(portsFile);

  const storage = createServer(keys);
  for (const account of Object.values(accounts)) {
    const prefix = `/exports-${account.environment}`;
    await storage.register(async (app) => storageRoutes(app, { account, signingSecret }), { prefix });
  }
  const storageUrl = await listen(storage, host, options.storagePort, last.storagePort);

  const api = createServer(keys);
  for (const account of Object.values(accounts)) {
    const prefix = account.environment === 'production' ? '/production' : '';
    await api.register(
      async (app) => {
        await app.register(async (scope) => apiRoutes(scope, { account, wirePrefix }));
        const caFile = join(dataDir, 'ca.pem');
        const connection = () => connectionOf(account, { apiUrl: apiUrl + prefix, storageUrl, caFile });
        const forPeople = { account, connection, access: { host, isOpen: options.adminOpen } };
        await app.register(async (scope) => adminRoutes(scope, forPeople), { prefix: '/admin' });
        await app.register(async (scope) => pageRoutes(scope, forPeople));
      },
      { prefix },
    );
  }
  const apiUrl = await listen(api, host, options.port, last.port).catch(async (error: unknown) => {
    await storage.close();
    throw error;
  });
  writeFileSync(portsFile, JSON.stringify({ port: portOf(api), storagePort: portOf(storage) }));
  return {
    apiUrl,
    storageUrl,
    close: async () => {
      await Promise.all([api.close(), storage.close()]);
    },
  };
}

function createServer({ certPem, keyPem }: ServiceKeys): FastifyInstance {
  return Fastify({
    https: { cert: certPem, key: keyPem },
    forceCloseConnections: true,
    bodyLimit: 64 * 1024 * 1024,
    exposeHeadRoutes: false,
    // Validation refuses a number in the place of text and any unknown field.
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, allowUnionTypes: true } },
  }) as unknown as FastifyInstance;
}

/** A requested port must be free, or the start fails; the port of the last start is used if it is free. */
async function listen(
  app: FastifyInstance,
  host: string,
  requested: number | undefined,
  last: number | undefined,
): Promise<string> {
  try {
    await app.listen({ host, port: requested ?? last ?? 0 });
  } catch (error) {
    if (requested !== undefined || (error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    await app.listen({ host, port: 0 });
  }
  return `https://${host.includes(':') ? `[${host}]` : host}:${portOf(app)}`;
}

function portOf(app: FastifyInstance): number {
  return (app.server.address() as AddressInfo).port;
}

/** Without a readable file of the last ports, there are none. */
function readPorts(path: string): Partial<Ports> {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Ports;
  } catch {
    return {};
  }
}
