import { FAULTS, PLACES } from '../../faults/fault-catalogue.ts';
import type { NewFault } from '../../faults/faults.ts';
import { MALFORMATIONS } from '../../faults/malformed-csv.ts';
import { type Operation, shape, text, whole } from './operation.ts';

const faultShape = {
  name: text,
  rate: { type: 'number' },
  count: { type: 'integer' },
  after: whole,
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

export const FAULT_OPERATIONS: readonly Operation[] = [
  {
    id: 'listFaults',
    method: 'GET',
    path: '/faults',
    summary: 'Fault rules with how often each struck',
    run: ({ faults }) => faults.list(),
  },
  {
    id: 'addFault',
    method: 'POST',
    path: '/faults',
    summary: 'Switches a fault on',
    body: shape(faultShape, ['name']),
    status: 201,
    run: ({ faults }, { body }) => faults.add(body as NewFault),
  },
  {
    id: 'clearFaults',
    method: 'DELETE',
    path: '/faults',
    summary: 'Switches all faults off',
    status: 204,
    run: ({ faults }) => faults.clear(),
  },
  {
    id: 'clearFault',
    method: 'DELETE',
    path: '/faults/{faultId}',
    summary: 'Switches one fault off',
    status: 204,
    run: ({ faults }, { params }) => faults.clear(params.faultId),
  },
  {
    id: 'faultCatalogue',
    method: 'GET',
    path: '/fault-catalogue',
    summary: 'Every fault by name, and every kind of malformed CSV',
    run: () => ({
      faults: Object.entries(FAULTS).map(([name, definition]) => ({ name, ...definition })),
      malformations: Object.entries(MALFORMATIONS).map(([kind, { description }]) => ({ kind, description })),
    }),
  },
];
