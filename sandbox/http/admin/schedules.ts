import type { FastifyInstance } from 'fastify';
import type { Account } from '../../account.ts';
import type { NewSchedule } from '../../billing/schedules.ts';
import {
  answer201,
  answer204,
  type ById,
  bodyOf,
  flag,
  tenantsShape,
  text,
  wholeNumber,
  withoutRows,
} from './shapes.ts';

const scheduleShape = {
  name: text,
  enabled: flag,
  everySeconds: { type: ['number', 'null'] },
  level: { enum: ['tenant', 'partner'] },
  tenants: tenantsShape,
  autoApprove: flag,
  tenantOverrides: { type: 'object', additionalProperties: flag },
  shipments: wholeNumber,
};

export function scheduleRoutes(app: FastifyInstance, { schedules }: Account): void {
  app.get('/schedules', async () => schedules.list());
  app.post<{ Body: NewSchedule }>(
    '/schedules',
    { ...bodyOf(scheduleShape, ['name']), ...answer201 },
    async ({ body }) => schedules.add(body),
  );
  app.patch<ById & { Body: Partial<NewSchedule> }>(
    '/schedules/:id',
    bodyOf(scheduleShape),
    async ({ params, body }) => schedules.edit(params.id, body),
  );
  app.delete<ById>('/schedules/:id', answer204, async ({ params }) => schedules.delete(params.id));
  app.post<ById>('/schedules/:id/run', async ({ params }) =>
    (await schedules.run(params.id)).map(withoutRows),
  );
}
