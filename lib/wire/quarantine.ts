/** Deliveries and files that were refused: kept whole, bounded, with a reason, until somebody requeues or discards them. */

import type { CsvFinding } from './csv-file.ts';

export interface QuarantinedThing {
  readonly quarantineId: string;
  readonly kind: 'delivery' | 'file';
  readonly at: string;
  /** Stable code: `not-json`, `invalid-payload`, `unknown-event-type`, `unknown-schema-version`, `foreign-partner`, `csv-rejected`, … */
  readonly code: string;
  /** What a person reads: what, where, what to do. */
  readonly reason: string;
  readonly invoiceId: string | null;
  readonly eventId: string | null;
  /** A file's hash (its bytes lie in the archive); null for deliveries. */
  readonly sha256: string | null;
  readonly findings: readonly CsvFinding[];
  readonly findingCount: number;
  /** Of a delivery's raw body as it is kept here, presigned query removed; of a file as it lies in the archive. */
  readonly sizeBytes: number;
}

/** What is refused, before it is kept. A file says its size, a delivery's is that of its body. */
export type RefusedThing = Omit<QuarantinedThing, 'quarantineId' | 'sizeBytes'> &
  Partial<Pick<QuarantinedThing, 'sizeBytes'>>;

export interface Quarantine {
  put(thing: RefusedThing, body?: Uint8Array): Promise<string>;
  list(): Promise<readonly QuarantinedThing[]>;
  show(
    quarantineId: string,
  ): Promise<{ readonly thing: QuarantinedThing; readonly body: Uint8Array | null } | null>;
  remove(quarantineId: string): Promise<void>;
}
