import { z } from 'zod';

export const QuarantinedItem = z.object({
  quarantineId: z.string(),
  kind: z.enum(['delivery', 'file']),
  at: z.string(),
  code: z.string(),
  reason: z.string(),
  invoiceId: z.string().nullable(),
  eventId: z.string().nullable(),
  sha256: z.string().nullable(),
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
