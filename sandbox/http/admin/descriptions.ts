/** Of each operation: the group it is listed in, a sentence, and for a body an example that its schema accepts. */

import type { RouteOptions } from 'fastify';

type Description = readonly [summary: string, example?: object];

const GROUPS: Readonly<Record<string, Readonly<Record<string, Description>>>> = {
  Account: {
    'GET /status': ['Counts of invoices, webhooks, deliveries and faults.'],
    'GET /connection': ['Addresses and credentials for a client of the billing API, secrets included.'],
    'GET /activity': ['Lines of the activity after a sequence number, oldest first.'],
    'GET /tenants': ['The tenants of the partner.'],
    'POST /seed': [
      'Generates invoices of every tenant in every status, or whole months.',
      { invoices: 12, shipments: 20 },
    ],
    'POST /idle': ['Answers when no delivery is in progress or scheduled.'],
    'POST /reset': ['Removes invoices, events, webhooks, schedules and faults.'],
    'POST /revoke-tokens': ['Makes every access token invalid, as if it had expired.'],
    'GET /api-keys': ['The API keys, without their values.'],
    'POST /api-keys': ['Adds an API key; the answer is the only one with its value.', { name: 'ERP' }],
    'POST /api-keys/:id/deactivate': ['Deactivates an API key for good.'],
    'GET /openapi.json': ['This document.'],
  },
  Invoices: {
    'GET /invoices': [
      'Invoices, newest first; filtered by status and by tenant (name, id or the partner’s own id).',
    ],
    'POST /invoices': [
      'Generates an invoice in DRAFT, which emits invoice_created.',
      { tenant: '000417', shipments: 25, set: { currencyCode: 'EUR' } },
    ],
    'POST /trigger': [
      'Generates invoices and takes them as far as the event.',
      { eventType: 'invoice_finalized', invoice: { tenant: '000417', shipments: 25 } },
    ],
    'GET /invoices/:id': ['One invoice with its history and files.'],
    'POST /invoices/:id/submit': ['DRAFT to PENDING_APPROVAL, without an event.'],
    'POST /invoices/:id/approve': [
      'PENDING_APPROVAL to APPROVED: exports the file and emits invoice_finalized.',
    ],
    'POST /invoices/:id/cancel': ['To CANCELED, which emits invoice_voided.'],
    'POST /invoices/:id/repair': ['Exports an approved invoice again, without a fault and without an event.'],
    'POST /invoices/submit': ['Submits every draft.'],
    'POST /invoices/approve': ['Approves every invoice that waits for approval.'],
    'GET /billed-shipments': [
      'Every row as billed, a JSON object a line, whatever faults changed in files and events.',
    ],
  },
  Webhooks: {
    'GET /registrations': ['All registered webhooks; the values of their headers are hidden.'],
    'POST /registrations': [
      'Registers a webhook, inactive unless it says otherwise.',
      {
        name: 'ERP',
        url: 'https://127.0.0.1:8443/webhooks/billing',
        headers: { Authorization: 'Basic d2ViaG9vazpzZWNyZXQ=' },
        active: true,
      },
    ],
    'GET /registrations/:id': ['One webhook.'],
    'PATCH /registrations/:id': [
      'Changes the named settings of a webhook.',
      { eventTypes: ['invoice_finalized'] },
    ],
    'DELETE /registrations/:id': ['Deletes a webhook.'],
    'POST /registrations/:id/enable': ['Makes a webhook active.'],
    'POST /registrations/:id/disable': ['Makes a webhook inactive.'],
    'POST /registrations/:id/test-event': ['Sends it a test payload.', { eventType: 'invoice_created' }],
    'POST /registrations/test-event': [
      'Sends every webhook a test payload.',
      { eventType: 'invoice_created' },
    ],
  },
  Deliveries: {
    'GET /events': ['Emitted events, newest first.'],
    'POST /events/:id/resend': ['Delivers an event once more, to one webhook or to all that had it.', {}],
    'GET /deliveries': ['The delivery log, newest first.'],
    'GET /deliveries/:id': ['One delivery with its attempts and the body that was sent.'],
  },
  Schedules: {
    'GET /schedules': ['The billing schedules.'],
    'POST /schedules': [
      'Creates a billing schedule.',
      { name: 'Weekly', everySeconds: 3600, autoApprove: true, shipments: 20 },
    ],
    'PATCH /schedules/:id': ['Changes the named settings of a schedule.', { enabled: false }],
    'DELETE /schedules/:id': ['Deletes a schedule; its invoices stay.'],
    'POST /schedules/:id/run': ['Generates the invoices of a schedule now.'],
  },
  Faults: {
    'GET /fault-catalogue': ['What can be switched on: each fault, its place and its parameters.'],
    'GET /faults': ['The faults that are switched on.'],
    'POST /faults': [
      'Switches a fault on.',
      { name: 'wrong-hash', rate: 0.5, count: 3, target: { endpoint: 'event' } },
    ],
    'DELETE /faults': ['Switches all faults off.'],
    'DELETE /faults/:id': ['Switches one fault off.'],
  },
};

const DESCRIPTIONS = new Map(
  Object.entries(GROUPS).flatMap(([group, operations]) =>
    Object.entries(operations).map(([name, description]) => [name, { group, description }] as const),
  ),
);

/** @throws Error a route has no description */
export function describeRoute(route: RouteOptions, prefix: string): void {
  const path = route.url.slice(prefix.length);
  if (path.startsWith('/docs')) return;
  const found = DESCRIPTIONS.get(`${String(route.method)} ${path}`);
  if (found === undefined) throw new Error(`${String(route.method)} ${path} has no description.`);
  const [summary, example] = found.description;
  const body = (route.schema as { body?: object } | undefined)?.body;
  route.schema = {
    ...route.schema,
    ...{ tags: [found.group], summary },
    ...(body === undefined ? {} : { body: { ...body, examples: [example ?? {}] } }),
  };
}
