/** Tells from what DuckDB says that a file which readers need is damaged or gone, which one, and what makes it anew. */

/** Nothing can be read of it, so nothing is told of what it held (exit 3). */
export class DamagedFileError extends Error {
  override readonly name = 'DamagedFileError';
  readonly code = 'file_damaged';
  readonly path: string;
  /** What makes it anew. */
  readonly hint: string;

  constructor(
    path: string,
    { problem, hint, cause }: { readonly problem: string; readonly hint: string; readonly cause: unknown },
  ) {
    super(problem, { cause });
    this.path = path;
    this.hint = hint;
  }
}

/**
 * @param publishedPath what was read; without it only the files of a lake are looked for
 * @returns a DamagedFileError, or the error as it came when it means something else
 */
export function asDamage(error: unknown, publishedPath?: string): unknown {
  if (!(error instanceof Error) || error instanceof DamagedFileError) return error;
  const { message } = error;
  const [detail = ''] = message.split('\n', 1);
  const [, path] = LAKE_FILE.exec(message) ?? [];
  if (path !== undefined && !OUT_OF_REACH.test(message)) {
    const problem = GONE.test(message) ? 'is gone' : `is damaged (${detail.replaceAll(path, 'it')})`;
    const hint = '`billsync rebuild` makes the warehouse again from the archive';
    return new DamagedFileError(path, { problem: `The lake's file ${path} ${problem}.`, hint, cause: error });
  }
  if (publishedPath === undefined || !DAMAGED.test(message)) return error;
  return new DamagedFileError(publishedPath, {
    problem: `The published file ${publishedPath} is damaged (${detail.replaceAll(publishedPath, 'it')}).`,
    hint: '`billsync snapshot` publishes it again; if the warehouse is damaged too, `billsync rebuild`',
    cause: error,
  });
}

/** As DuckLake names them. */
const LAKE_FILE = /['"]([^'"]*\/ducklake-[0-9a-f-]+\.parquet)\b/;
const GONE = /no such file|HTTP 404|404 \(?Not Found/i;
/** It may well be whole: who asks may not read it, or its storage does not answer. */
const OUT_OF_REACH =
  /permission denied|too many open files|HTTP (?!404)\d{3}|could not (?:connect|establish)/i;
const DAMAGED =
  /not a valid DuckDB database|corrupt|checksum|could not read|^Serialization Error|database has been invalidated/i;
