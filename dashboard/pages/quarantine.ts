import { listValue } from '@duckdb/node-api';
/**
 * The page lists invoices and deliveries that need a person. The quarantine is read from the folder, since requeueing does not
 * wait for a publication.
 */

import type { FastifyInstance } from 'fastify';
import { type PageContext, readPublished, sendFramed, sendMessage } from '../page-context.ts';
import { runInvoices } from '../page-queries.ts';

const MAX_LISTED = 500;
const MAX_BODY_BYTES = 64 * 1024;

export function registerQuarantine(app: FastifyInstance, context: PageContext): void {
  const section = '/quarantine';
  app.get('/quarantine', async (_request, reply) => {
    const items = context.quarantine === null ? null : await context.quarantine.list();
    const newestFirst = items && [...items].sort((one, other) => (one.at < other.at ? 1 : -1));
    return sendFramed(context, reply, {
      ...{ view: 'quarantine', title: 'Needs a person', section },
      values: {
        ...{ items: newestFirst, numbers: await numbersOf(context, newestFirst ?? []) },
        invoices: await readPublished(context, (run) =>
          runInvoices(run, { states: ['needs_attention'], sort: 'waiting', limit: MAX_LISTED }),
        ).catch(() => []),
      },
      data: { quarantined: newestFirst },
    });
  });
  app.get<{ Params: { id: string } }>('/quarantine/:id', async (request, reply) => {
    const { id } = request.params;
    // Only ids of the list are read, so an id can never be taken for a path.
    const isListed = (await context.quarantine?.list())?.some((item) => item.quarantineId === id) ?? false;
    const found = isListed ? await context.quarantine?.show(id) : null;
    if (!found)
      return sendMessage(context, reply.code(404), {
        ...{ title: 'Not in quarantine', section },
        message: `The quarantine has no item ${id}. It may have been requeued or discarded.`,
      });
    const { item, body: bytes } = found;
    const body = bytes && Buffer.from(bytes.subarray(0, MAX_BODY_BYTES)).toString('utf8');
    const values = { item, body, numbers: await numbersOf(context, [item]) };
    const page = { view: 'quarantined', title: `In quarantine: ${id}`, section, values };
    return sendFramed(context, reply, page);
  });
}

async function numbersOf(
  context: PageContext,
  items: readonly { readonly invoiceId: string | null }[],
): Promise<ReadonlyMap<string, string>> {
  const ids = listValue(items.flatMap(({ invoiceId }) => invoiceId ?? []));
  const rows = await readPublished(context, (run) => run('invoice-names', { ids })).catch(() => []);
  return new Map(rows.map((row) => [String(row.invoice_id), String(row.number)]));
}
