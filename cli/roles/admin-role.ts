/** Health and metrics of a role: `/livez`, `/readyz`, `/metrics` on the admin port. */

import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { RoleContext, RunningRole } from './run-role.js';

export async function startAdminRole({ settings, log, metrics, health }: RoleContext): Promise<RunningRole> {
  const { host, port } = settings.admin;
  const answer: RequestListener = (request, response) => {
    const path = (request.url ?? '/').replace(/\?.*$/, '');
    if (path === '/livez') return void response.end('{"status":"ok"}\n');
    if (path === '/readyz') {
      const report = health.report();
      response.statusCode = report.isReady ? 200 : 503;
      return void response.setHeader('content-type', 'application/json').end(`${JSON.stringify(report)}\n`);
    }
    if (path !== '/metrics') {
      response.statusCode = 404;
      return void response.end();
    }
    response.setHeader('content-type', metrics.registry.contentType);
    metrics.text().then(
      (text) => response.end(text),
      (error: unknown) => response.destroy(error instanceof Error ? error : new Error(String(error))),
    );
  };
  // A second role on this machine finds the port taken: a free one will do, and the `ready` line says which.
  const server = (await listen(answer, host, port)) ?? (await listen(answer, host, 0));
  if (server === null) throw new Error(`No port of ${host} can be listened at.`);
  const taken = (server.address() as AddressInfo).port;
  if (port !== 0 && taken !== port)
    log.warn({ wanted: port, port: taken }, 'the admin port is taken, another one serves');
  const close = async (): Promise<void> => {
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  };
  return { addresses: { admin: `http://${host}:${taken}/` }, close };
}

/** null when the port is taken. */
async function listen(answer: RequestListener, host: string, port: number): Promise<Server | null> {
  const server = createServer(answer).listen(port, host);
  try {
    await once(server, 'listening');
    return server;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return null;
    throw error;
  }
}
