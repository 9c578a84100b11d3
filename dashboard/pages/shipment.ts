import type { FastifyInstance } from 'fastify';
import { markOfShortName } from '../../lib/text.ts';
import { withQuery } from '../address.ts';
import { asOfNow, type PageContext, readPublished, sendMessage, sendPage } from '../page-context.ts';

export interface TracedShipment {
  readonly trackingNumber: string;
  readonly invoiceId: string;
  readonly invoiceNumber: string | null;
  readonly version: number;
  readonly isCurrent: boolean;
  readonly voidedAt: string | null;
  readonly eventId: string | null;
  readonly facts: readonly (readonly [string, string])[];
}

/** Returns every line of every version; those that count are first. */
export type Explain = (trackingNumber: string) => Promise<readonly TracedShipment[]>;

/** The page is not cached, since it may read a file of the archive. */
export function registerShipment(app: FastifyInstance, context: PageContext, explain: Explain | null): void {
  app.get<{ Params: { number: string } }>('/shipments/:number', async (request, reply) => {
    const { number } = request.params;
    if (markOfShortName(number) !== null)
      return reply.redirect(withQuery('/shipments', {}, { is_tracking_number: number, level: 'all' }), 302);
    const { rows, asOf } = await readPublished(context, async (run) => ({
      rows: await run('tracked', { text: number, letters: number.toUpperCase() }),
      asOf: await asOfNow(run),
    }));
    const written = String(rows[0]?.tracking_number ?? number);
    const traced = explain === null ? [] : await context.inTurn(() => explain(written));
    if (rows.length === 0 && traced.length === 0)
      return sendMessage(context, reply.code(404), {
        ...{ title: 'No such shipment', section: '/shipments' },
        message: `No published invoice bills the tracking number ${number}. It is matched as the carrier wrote it; the list of shipments finds it by its beginning.`,
      });
    const page = {
      ...{ view: 'shipment', title: `Shipment ${written}`, section: '/shipments', asOf },
      values: { number: written, rows, traced },
      data: { tracking_number: written, rows, sources: traced.map(tracedJson) },
    };
    return sendPage(context, reply, page);
  });
}

function tracedJson(line: TracedShipment) {
  return {
    ...{ invoice_id: line.invoiceId, invoice_number: line.invoiceNumber, version: line.version },
    ...{ is_current: line.isCurrent, voided_at: line.voidedAt, event_id: line.eventId },
    facts: Object.fromEntries(line.facts),
  };
}
