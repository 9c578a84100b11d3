/** A shipment's own page: every line that bills its tracking number, and what stands behind each. */

import type { FastifyInstance } from 'fastify';
import type { ReportRow } from '../../reports/cells.ts';
import { ask, asOfNow, type PageContext, sendFramed, sendShown } from '../page-context.ts';

export interface TracedShipment {
  readonly trackingNumber: string;
  readonly invoiceId: string;
  readonly invoiceNumber: string | null;
  readonly version: number;
  readonly isCurrent: boolean;
  readonly voidedAt: string | null;
  readonly eventId: string | null;
  /** Label and value: row and line of the file, file and hash, where it came from, event, load. */
  readonly facts: readonly (readonly [string, string])[];
}

/** Every line of every version that has the number, those that count first. */
export type Explain = (trackingNumber: string) => Promise<readonly TracedShipment[]>;

function tracedFigures(line: TracedShipment) {
  return {
    ...{ invoice_id: line.invoiceId, invoice_number: line.invoiceNumber, version: line.version },
    ...{ is_current: line.isCurrent, voided_at: line.voidedAt, event_id: line.eventId },
    facts: Object.fromEntries(line.facts),
  };
}

/** Serves `/shipments/NUMBER`. It is read anew for whoever looks, since a file of the archive may be read for it. */
export function registerShipment(app: FastifyInstance, context: PageContext, explain: Explain | null): void {
  app.get<{ Params: { number: string } }>('/shipments/:number', async (request, reply) => {
    const { number } = request.params;
    const { rows, asOf } = await ask(context, async (asking) => ({
      rows: await asking('tracked', { words: number, letters: number.toUpperCase() }),
      asOf: await asOfNow(asking),
    }));
    const written = String(rows[0]?.tracking_number ?? number);
    const traced = explain === null ? [] : await context.inTurn(() => explain(written));
    if (rows.length === 0 && traced.length === 0) {
      const message = `No invoice that is published bills the tracking number ${number}. It is matched as the carrier wrote it; the list of shipments finds it by its beginning.`;
      const page = {
        view: 'message',
        title: 'No such shipment',
        section: '/shipments',
        ...{ values: { message }, figures: { error: message } },
      } as const;
      return sendFramed(context, reply.code(404), page);
    }
    const page = {
      ...({ view: 'shipment', title: `Shipment ${written}`, section: '/shipments', asOf } as const),
      values: { number: written, rows: rows as readonly ReportRow[], traced },
      figures: { tracking_number: written, rows, stands_on: traced.map(tracedFigures) },
    };
    return sendShown(context, reply, { value: page, isFormer: false });
  });
}
