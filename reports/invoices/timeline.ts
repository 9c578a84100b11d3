import type { ReportCell, ReportRow } from '../cells.ts';

export interface InvoiceHistory {
  readonly events: readonly ReportRow[];
  /** Rows of answers of the service, records of billsync, and decisions of people. */
  readonly records: readonly ReportRow[];
  readonly files: readonly ReportRow[];
  readonly discrepancies: readonly ReportRow[];
}

export interface Moment {
  /** The instant of the entry in ISO 8601 UTC. */
  readonly at: string;
  readonly kind: 'event' | 'file' | 'load' | 'record' | 'void';
  readonly what: string;
  /** The id of the event, or the hash of the file. */
  readonly reference: string | null;
}

/** Joins the entries in order of time. Texts of events and records are as received. */
export function timelineOf(
  invoice: ReportRow,
  history: Omit<InvoiceHistory, 'discrepancies'>,
): readonly Moment[] {
  const { events, records, files } = history;
  const moments = [
    ...events.map((event) => ({
      ...{ at: event.received_at, kind: 'event' as const, reference: event.event_id },
      what: [
        `${event.event_type ?? 'delivery'}${event.is_test_event === true ? ' (test)' : ''}, ${event.verdict}`,
        ...(event.reason === null ? [] : [`: ${event.reason}`]),
        ...(Number(event.duplicates) > 0 ? [`, ${event.duplicates} duplicate(s)`] : []),
      ].join(''),
    })),
    ...files.map((file) => ({
      ...{ at: file.first_had_at, kind: 'file' as const, reference: file.file_sha256 },
      what: `file of ${file.file_size_bytes} bytes received (${file.file_source})${Number(file.times_had) > 1 ? `, ${file.times_had} times` : ''}`,
    })),
    ...files.map((file) => ({
      ...{ at: file.loaded_at, kind: 'load' as const, reference: file.file_sha256 },
      what: `${file.loaded_at === invoice.first_loaded_at ? 'loaded' : `loaded again, version ${file.version}`}: ${file.shipments} shipments, ${file.billing_cost} ${file.currency_code ?? ''}`,
    })),
    ...records.map(({ at, who, what, detail }) => ({
      ...{ at, kind: 'record' as const, reference: null },
      what: `${who}: ${what}${(detail ?? null) === null ? '' : ` (${detail})`}`,
    })),
    {
      ...{ at: invoice.voided_at, kind: 'void' as const, reference: null },
      what: `voided${VOID_BASES[String(invoice.void_basis)] ?? ''}: no report counts it from then on`,
    },
  ];
  return moments
    .flatMap(({ at, reference, ...moment }) =>
      isText(at) ? [{ ...moment, at, reference: isText(reference) ? reference : null }] : [],
    )
    .sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
}

const VOID_BASES: Readonly<Record<string, string>> = {
  event: ' by an event alone',
  details: ', confirmed by the service',
  unanswered: ' by an event alone, which the service could not confirm',
  contradicted: ' by an event, which the service denies',
  unknown: ' in effect, because the service does not know the invoice',
  foreign: ' in effect, because the invoice is of another partner',
};

function isText(value: ReportCell | undefined): value is string {
  return typeof value === 'string';
}
