/**
 * The audit log beside an archive in a bucket: `audit/CHAIN/000000001.json`, the same names and bytes as in the data folder.
 *
 * A bucket may be that of several machines, each with a log of its own. The chain's name is the hash of its first entry, so
 * nothing has to be remembered, and a log that was written anew goes to another place instead of over this one.
 */

import type { Settings } from '../config/settings.ts';
import { BillsyncError, EXIT } from '../contract/errors.ts';
import {
  type AuditEntries,
  auditEntriesIn,
  auditFileName,
  auditHash,
  auditNumber,
  entriesAre,
  verifyAudit,
} from '../ops/audit-chain.ts';
import type { S3Bucket } from './s3/bucket.ts';

export interface AuditCopy {
  /** Puts the entries there that are only here. @returns how many those were */
  bring(): Promise<number>;
  /** Numbers of the entries that are only here. */
  missing(): Promise<readonly number[]>;
  /** Reads the whole copy and compares it with what is here. */
  prove(known?: string | null): Promise<AuditCopyProof>;
  close(): void;
}

export interface AuditCopyProof {
  /** `s3://bucket/prefix/audit/CHAIN`; null while there is no entry here whose hash could name it. */
  readonly url: string | null;
  readonly entries: number;
  readonly head: string | null;
  /** Entries that are only here. */
  readonly missing: number;
  /** Of the copy by itself, and where it differs from what is here; empty when all holds. */
  readonly problems: readonly string[];
  /** Logs of other machines, or of this one before it was written anew. */
  readonly others: readonly { readonly url: string; readonly entries: number }[];
}

/** Without its first entry nothing says which log this is. */
export class AuditBeginningLostError extends BillsyncError {
  readonly code = 'audit-beginning-lost';
  override readonly exitCode = EXIT.checkFailed;
}

/** null for an archive in a folder: the audit log lies on a disk as that does. */
export async function openAuditCopy(
  settings: Pick<Settings, 'archive'>,
  auditFolder: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<AuditCopy | null> {
  if (settings.archive.kind === 'folder') return null;
  const [{ openS3Bucket }, { ownEndpoint }] = await Promise.all([
    import('./s3/bucket.ts'),
    import('./s3/client.ts'),
  ]);
  const { url } = settings.archive;
  return createAuditCopy(openS3Bucket(url, { endpoint: ownEndpoint(env) }), url, auditFolder);
}

/** @param url of the archive, for people */
export function createAuditCopy(bucket: S3Bucket, url: string, auditFolder: string): AuditCopy {
  const here = auditEntriesIn(auditFolder);
  /** Known to be there: a log that has not grown asks nothing of the bucket. */
  let brought = 0;

  async function chain(): Promise<string | null> {
    const [first] = await here.numbers();
    if (first === undefined) return null;
    if (first === 1) return nameOfChain(await here.bytes(1));
    throw new AuditBeginningLostError('The first entry of the audit log is missing', {
      subject: auditFolder,
      hint: '`billsync audit verify` says what else is; put the folder back from its copy',
    });
  }

  async function missing(): Promise<readonly number[]> {
    const name = await chain();
    if (name === null) return [];
    const numbers = await here.numbers();
    if (numbers.at(-1) === brought) return [];
    const there = new Set<number>();
    for await (const key of bucket.list(`audit/${name}`))
      there.add(auditNumber(key.split('/')[2] ?? '') ?? 0);
    return numbers.filter((number) => !there.has(number));
  }

  return {
    missing,
    async bring() {
      const name = await chain();
      const numbers = await missing();
      // In their order: a copy that was interrupted is a beginning of the log.
      for (const number of numbers) {
        const text = Buffer.from(await here.bytes(number)).toString('utf8');
        await bucket.putIfAbsent(`audit/${name}/${auditFileName(number)}`, text);
      }
      brought = numbers.at(-1) ?? brought;
      return numbers.length;
    },
    async prove(known = null) {
      const numbers = await here.numbers();
      const name = numbers[0] === 1 ? nameOfChain(await here.bytes(1)) : null;
      const chains = await chainsIn(bucket);
      const there = name === null ? [] : (chains.get(name) ?? []);
      const copy = entriesInBucket(bucket, name ?? '', there);
      // A hash that was kept may be that of an entry which is not copied yet.
      const isThere = there.length === numbers.length;
      const verdict = await verifyAudit(copy, isThere ? known : null);
      const copied = new Set(there);
      const differing = await differences({ here, numbers, copy, there });
      chains.delete(name ?? '');
      return {
        url: name === null ? null : `${url}/audit/${name}`,
        ...verdict,
        missing: numbers.filter((number) => !copied.has(number)).length,
        problems: [...verdict.problems, ...differing],
        others: [...chains].map(([other, { length }]) => ({ url: `${url}/audit/${other}`, entries: length })),
      };
    },
    close: () => bucket.close(),
  };
}

/** The numbers of the entries of each chain. */
async function chainsIn(bucket: S3Bucket): Promise<Map<string, readonly number[]>> {
  const chains = new Map<string, number[]>();
  for await (const key of bucket.list('audit')) {
    const [, name = '', file = ''] = key.split('/');
    const number = auditNumber(file);
    if (number === null) continue;
    const chain = chains.get(name);
    if (chain === undefined) chains.set(name, [number]);
    else chain.push(number);
  }
  return chains;
}

interface Compared {
  readonly here: AuditEntries;
  readonly numbers: readonly number[];
  readonly copy: AuditEntries;
  readonly there: readonly number[];
}

async function differences({ here, numbers, copy, there }: Compared): Promise<readonly string[]> {
  const problems: string[] = [];
  const own = new Set(numbers);
  for (const number of there) {
    if (!own.has(number))
      problems.push(`${entriesAre(number, number)} in the copy and not here: it was removed.`);
    else if (auditHash(await copy.bytes(number)) !== auditHash(await here.bytes(number))) {
      problems.push(`Entry ${number} is not the one that was copied: one of the two was changed.`);
    }
  }
  return problems;
}

/** Each object is read once. */
function entriesInBucket(bucket: S3Bucket, name: string, numbers: readonly number[]): AuditEntries {
  const read = new Map<number, Promise<Uint8Array>>();
  const bytes = (number: number): Promise<Uint8Array> => {
    const known =
      read.get(number) ??
      bucket.getBytes(`audit/${name}/${auditFileName(number)}`).then((found) => found ?? new Uint8Array());
    read.set(number, known);
    return known;
  };
  return { numbers: async () => numbers, bytes };
}

const CHAIN_DIGITS = 16;

function nameOfChain(first: Uint8Array): string {
  return auditHash(first).slice(0, CHAIN_DIGITS);
}
