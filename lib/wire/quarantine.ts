/** Refused deliveries and files, kept with a reason until a person requeues or discards them. */

import type { CsvFinding } from './csv-file.ts';

export interface QuarantinedItem {
  readonly quarantineId: string;
  readonly kind: 'delivery' | 'file';
  readonly at: string;
  /** Stable code: `not-json`, `invalid-payload`, `unknown-event-type`, `unknown-schema-version`, `foreign-partner`, `csv-rejected`, … */
  readonly code: string;
  /** For people: the problem, its place, the remedy. */
  readonly reason: string;
  readonly invoiceId: string | null;
  readonly eventId: string | null;
  /** Hash of a file in the archive; null for deliveries. */
  readonly sha256: string | null;
  readonly findings: readonly CsvFinding[];
  readonly findingCount: number;
  /** Size of a delivery's body without the query of its URL, or of the archived file. */
  readonly sizeBytes: number;
}

/** A file has a size, a delivery gets that of its body. */
export type RefusedItem = Omit<QuarantinedItem, 'quarantineId' | 'sizeBytes'> &
  Partial<Pick<QuarantinedItem, 'sizeBytes'>>;

export interface Quarantine {
  put(item: RefusedItem, body?: Uint8Array): Promise<string>;
  list(): Promise<readonly QuarantinedItem[]>;
  show(
    quarantineId: string,
  ): Promise<{ readonly item: QuarantinedItem; readonly body: Uint8Array | null } | null>;
  remove(quarantineId: string): Promise<void>;
}
