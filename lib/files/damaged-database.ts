import { lstat } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { EXIT, errorClass } from '../errors.ts';

export class UnreadableFileError extends errorClass({
  'file-damaged': { message: '%s', exitCode: EXIT.nothingMatched },
  /** The file may be whole, since its storage does not answer or refuses our credentials. */
  'file-out-of-reach': { message: '%s', exitCode: EXIT.unreachable },
  'wal-beside-published-file': {
    message: '%s.wal lies beside the published file; billsync writes none there and reads neither.',
    exitCode: EXIT.nothingMatched,
    hint: '`billsync snapshot` removes it and publishes again; find out what wrote it',
  },
}) {}

export function isDamagedFile(error: unknown): error is UnreadableFileError {
  return error instanceof UnreadableFileError && error.code === 'file-damaged';
}

/**
 * Without `publishedPath` only files of a lake are recognized. Returns the error itself when it means something else.
 */
export function asDamage(error: unknown, publishedPath?: string): unknown {
  if (!(error instanceof Error) || error instanceof UnreadableFileError) return error;
  const { message } = error;
  const [, lakeFile] = LAKE_FILE.exec(message) ?? [];
  const path = lakeFile ?? publishedPath;
  if (path === undefined) return error;
  if (/^IO Error:.*permission denied/i.test(message)) {
    return Object.assign(new Error(message, { cause: error }), { code: 'EACCES', path });
  }
  const detail = (message.split('\n', 1)[0] ?? '').replaceAll(path, '…');
  if (lakeFile !== undefined) return ofLake(path, { message, detail, cause: error });
  if (!DAMAGED.test(message)) return error;
  return new UnreadableFileError('file-damaged', [`The published file ${path} is damaged (${detail}).`], {
    hint: '`billsync snapshot` publishes it again; if the warehouse is damaged too, `billsync rebuild`',
    cause: error,
  });
}

function ofLake(
  path: string,
  { message, detail, cause }: { readonly message: string; readonly detail: string; readonly cause: unknown },
): unknown {
  if (OUT_OF_REACH.test(message)) {
    const hint = "check the network and AWS's own variables, then `billsync doctor`";
    const message = `The lake's file ${path} is out of reach (${detail}).`;
    return new UnreadableFileError('file-out-of-reach', [message], { hint, cause });
  }
  if (/too many open files|out of memory/i.test(message)) return cause;
  const problem = GONE.test(message) ? 'is gone' : `is damaged (${detail})`;
  const hint = '`billsync rebuild` makes the warehouse again from the archive';
  return new UnreadableFileError('file-damaged', [`The lake's file ${path} ${problem}.`], { hint, cause });
}

const LAKE_FILE = /['"]([^'"]*\/ducklake-[0-9a-f-]+\.parquet)\b/;
const GONE = /no such file|HTTP 404|404 \(?Not Found/i;
/**
 * Answers of a storage that says nothing about the file. Of the others, 404 means that the file is gone, and 416 that it is shorter
 * than the lake remembers.
 */
const OUT_OF_REACH = /HTTP (?!404|416)\d{3}|could not (?:connect|establish)|unable to connect(?!.*404)/i;
const DAMAGED =
  /not a valid DuckDB database|corrupt|checksum|could not read|^Serialization Error|database has been invalidated/i;

export async function refuseLeftWal(path: string): Promise<void> {
  if ((await leftWal(path)) !== null) throw new UnreadableFileError('wal-beside-published-file', [path]);
}

export async function leftWal(path: string): Promise<string | null> {
  try {
    await lstat(`${path}.wal`);
    return `${path}.wal`;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

const MEMORY_LIMIT_MB = 1_500;
let spillFolders = 0;

/**
 * Readers that spill to one folder would read each other's data, so each has its own. DuckDB's own share of memory is
 * 80 %.
 */
export function readingLimits(path: string): {
  readonly memory_limit: string;
  readonly temp_directory: string;
} {
  const constrained = process.constrainedMemory();
  const had = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
  const limit = Math.min(MEMORY_LIMIT_MB, Math.floor((had / 1_000_000) * 0.8));
  spillFolders += 1;
  return { memory_limit: `${limit}MB`, temp_directory: `${path}.${process.pid}-${spillFolders}.spill` };
}
