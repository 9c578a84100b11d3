/** One invoice in a scripted world, in simulated time. */

import { randomUUID } from 'node:crypto';
import type { InvoiceEvent } from '../../../lib/wire/invoice-event.ts';
import { invoiceWorkflowId, SEARCH_ATTRIBUTES } from '../../../lib/wire/names.ts';
import {
  lookUpInvoice,
  retryInvoice,
  sendInvoiceEvent,
  watchInvoice,
} from '../../../workflows/client/invoice-client.ts';
import * as workflows from '../../../workflows/index.ts';
import type { InvoiceResult, InvoiceStatus, LookUpRequest } from '../../../workflows/messages.ts';
import type { Pace } from '../../../workflows/pace.ts';
import { PARTNER_ID } from '../invoice-builders.ts';
import { activitiesOf, type World } from '../scripted-world.ts';
import { Simulation } from './simulation.ts';

const BILLING = [
  ...['fetchToken', 'regenerateUrl', 'downloadCsv', 'exportCsv', 'lookUpInvoice'],
  ...['surveyInvoices', 'startLookUps', 'getBackfillStatus'],
];
export const ROUTE = {
  environment: 'test',
  queues: { billing: 'simulated-billing', warehouse: 'simulated-warehouse' },
} as const;

/** Each activity is known on its own queue only. */
export function simulate(activities: object): Simulation {
  const entries = Object.entries(activities);
  return new Simulation(workflows, {
    billing: Object.fromEntries(entries.filter(([name]) => BILLING.includes(name))),
    warehouse: Object.fromEntries(entries.filter(([name]) => !BILLING.includes(name))),
  });
}

export type InvoiceLife = ReturnType<typeof beginLife>;

export function beginLife(world: World, pace: Partial<Pace> = {}) {
  const simulation = simulate(activitiesOf(() => world));
  return { world, ...lifeIn(simulation, pace) };
}

export function lifeIn(simulation: Simulation, pace: Partial<Pace> = {}, invoiceId: string = randomUUID()) {
  const address = { partnerId: PARTNER_ID, invoiceId };
  const route = { ...ROUTE, pace };
  const workflowId = invoiceWorkflowId({ environment: 'test', ...address });
  const { client } = simulation;
  const handle = client.workflow.getHandle(workflowId);
  const status = () => handle.query<InvoiceStatus, []>('status');
  const timeline = (...names: readonly string[]) =>
    simulation.log.filter((line) => names.some((name) => line.endsWith(` ${name}`)));
  return {
    ...{ simulation, invoiceId, status, timeline },
    async send(...events: readonly InvoiceEvent[]) {
      for (const event of events)
        await sendInvoiceEvent(client, route, { ...event, invoice: { ...event.invoice, invoiceId } });
    },
    signal: (value: unknown) => handle.signal('invoiceEvent', value),
    lookUp: (request: LookUpRequest = {}) => lookUpInvoice(client, route, address, request),
    watch: () => watchInvoice(client, route, address),
    retry: () => retryInvoice(client, route, address),
    isOpen: async () => (await handle.describe()).status.name === 'RUNNING',
    result: async () => {
      await simulation.until(async () => (await handle.describe()).status.name !== 'RUNNING');
      return (await handle.result()) as InvoiceResult;
    },
    until: (state: InvoiceStatus['state']) => simulation.until(async () => (await status())?.state === state),
    shownState: () => simulation.attributeOf(workflowId, SEARCH_ATTRIBUTES.state),
    /** The calls of activities without those for a token. */
    calls: () =>
      simulation.log.map((line) => line.slice(line.indexOf(' ') + 1)).filter((name) => name !== 'fetchToken'),
    /** Seconds at which an activity was called. */
    timesOf: (name: string) => timeline(name).map((line) => Number.parseInt(line, 10)),
  };
}
