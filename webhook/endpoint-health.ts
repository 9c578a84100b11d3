import type { FastifyInstance } from 'fastify';
import type { Alerts } from '../lib/alerts/alerts.ts';
import type { Health } from '../lib/health/health.ts';
import { systemCode } from '../lib/system-errors.ts';
import type { Inbox } from './inbox/inbox.ts';

interface HealthDeps {
  readonly inbox: Pick<Inbox, 'probe'>;
  readonly health?: Health;
  readonly alerts?: Alerts;
}

/** `GET /healthz`: 200 while the next delivery could be kept. Strangers may ask, so the disk is asked once a second. */
export function addHealth(app: FastifyInstance, { inbox, health, alerts }: HealthDeps): void {
  let goodUntilMs = 0;
  let asking: Promise<void> | null = null;
  async function ask(): Promise<void> {
    await inbox.probe();
    goodUntilMs = performance.now() + 1_000;
    health?.set('inbox', { isHealthy: true });
    alerts?.resolve('inbox/unwritable');
  }
  app.get('/healthz', async (_request, reply) => {
    if (performance.now() < goodUntilMs) return reply.send({ status: 'ok' });
    asking ??= ask().finally(() => {
      asking = null;
    });
    try {
      await asking;
    } catch (error) {
      if (systemCode(error) === null) throw error;
      health?.set('inbox', { isHealthy: false, detail: 'The inbox cannot be written.' });
      return reply.code(503).send({ status: 'unavailable' });
    }
    return reply.send({ status: 'ok' });
  });
}
