import type { FastifyInstance } from 'fastify';
import type { Account } from '../../account.ts';
import { FAULTS, PLACES } from '../../faults/fault-catalogue.ts';
import type { NewFault } from '../../faults/faults.ts';
import { MALFORMATIONS } from '../../faults/malformed-csv.ts';
import { answer201, answer204, type ById, bodyOf, shape, text, wholeNumber } from './shapes.ts';

const faultShape = {
  name: text,
  rate: { type: 'number' },
  count: { type: 'integer' },
  after: wholeNumber,
  seed: { type: 'integer' },
  forMs: { type: 'number' },
  params: { type: 'object', additionalProperties: { type: ['string', 'number', 'boolean'] } },
  target: shape({
    invoiceId: text,
    tenant: text,
    eventType: text,
    registrationId: text,
    endpoint: { anyOf: [{ enum: PLACES }, { type: 'array', items: { enum: PLACES } }] },
  }),
};

export function faultRoutes(app: FastifyInstance, { faults }: Account): void {
  app.get('/faults', async () => faults.list());
  app.post<{ Body: NewFault }>(
    '/faults',
    { ...bodyOf(faultShape, ['name']), ...answer201 },
    async ({ body }) => faults.add(body),
  );
  app.delete('/faults', answer204, async () => faults.clear());
  app.delete<ById>('/faults/:id', answer204, async ({ params }) => faults.clear(params.id));
  app.get('/fault-catalogue', async () => ({
    faults: Object.entries(FAULTS).map(([name, definition]) => ({ name, ...definition })),
    malformations: Object.entries(MALFORMATIONS).map(([kind, { description }]) => ({ kind, description })),
  }));
}
