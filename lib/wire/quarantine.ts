/** Refused deliveries and files, kept with a reason until a person requeues or discards them. */

import { z } from 'zod';

export const QuarantinedItem = z.object({
  quarantineId: z.string(),
  kind: z.enum(['delivery', 'file']),
  at: z.string(),
  /** Stable code: `not-json`, `invalid-payload`, `unknown-event-type`, `unknown-schema-version`, `foreign-partner`, `csv-rejected`, … */
  code: z.string(),
  /** For people: the problem, its place, the remedy. */
  reason: z.string(),
  invoiceId: z.string().nullable(),
  eventId: z.string().nullable(),
  /** Hash of a file in the archive; null for deliveries. */
  sha256: z.string().nullable(),
  /** See `CsvFinding`. */
  findings: z
    .array(
      z.object({
        line: z.number().nullable(),
        row: z.number().nullable(),
        column: z.string().nullable(),
        rule: z.string(),
        value: z.string(),
      }),
    )
    .readonly(),
  findingCount: z.int().nonnegative(),
  /** Size of a delivery's body without the query of its URL, or of the archived file. */
  sizeBytes: z.int().nonnegative(),
});
export type QuarantinedItem = Readonly<z.infer<typeof QuarantinedItem>>;

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
