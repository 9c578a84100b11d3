import type { Archive, Fact } from './archive.ts';

export type Hold = Fact & { readonly kind: 'hold' };

/** The owner of a file or an event; ids are null when they are unknown. */
export interface Owner {
  readonly invoiceId: string | null;
  readonly tenantIds: readonly (string | null | undefined)[];
}

/** A file that was purged may have been archived again since. */
export async function readRetention(archive: Pick<Archive, 'facts'>) {
  const purgedFiles = new Set<string>();
  const holds = new Map<string, Hold>();
  for await (const fact of archive.facts()) {
    if (fact.kind === 'purged') purgedFiles.add(fact.sha256);
    if (fact.kind === 'hold') holds.set(fact.holdId, fact);
    if (fact.kind === 'hold-lifted') holds.delete(fact.holdId);
  }
  return { purgedFiles, holds: [...holds.values()] };
}

export function purgedFilesOf(archive: Pick<Archive, 'facts'>): () => Promise<ReadonlySet<string>> {
  let read: Promise<ReadonlySet<string>> | undefined;
  return () => {
    read ??= readRetention(archive).then(({ purgedFiles }) => purgedFiles);
    return read;
  };
}

export function isHeld(holds: readonly Hold[], { invoiceId, tenantIds }: Owner): boolean {
  if (invoiceId === null) return holds.length > 0;
  const names = new Set(tenantIds.flatMap((id) => (typeof id === 'string' ? [id.toLowerCase()] : [])));
  return holds.some(({ scope, subject }) => {
    if (scope === 'all') return true;
    const held = subject.toLowerCase();
    return scope === 'invoice' ? held === invoiceId.toLowerCase() : names.has(held);
  });
}
