/** Finds the four fields of an export (spec 4.3) in an answer, whatever wraps them and however their names are written. */

import type { ExportLocation } from './invoice-event.ts';
import { readCount, readInstant, readSha256, readUrl } from './lenient-values.ts';
import { isJsonObject } from './wire.ts';

const DEEPEST = 4;
/** Lower-case letters and digits of their names. */
const NAMES: Readonly<Record<keyof ExportLocation, readonly string[]>> = {
  presignedUrl: ['presignedurl', 'signedurl', 'downloadurl', 'url'],
  presignedUrlExpiresAt: ['presignedurlexpiresat', 'expiresat', 'expiration'],
  fileHashSha256: ['filehashsha256', 'filehash', 'filesha256', 'sha256'],
  fileSizeBytes: ['filesizebytes', 'filesize', 'sizebytes'],
};
/** A service that does not say until when its URL is good has it tried: storage tells, and another one is asked for. */
const UNSTATED_END = '9999-12-31T00:00:00Z';

/**
 * The uppermost object that has a URL; a value that cannot be understood is left as it came, for whoever checks.
 *
 * @returns null when there is none
 */
export function findExport(json: unknown): Readonly<Record<keyof ExportLocation, unknown>> | null {
  let level: readonly unknown[] = [json];
  for (let depth = 0; depth < DEEPEST && level.length > 0; depth += 1) {
    for (const value of level) {
      const found = isJsonObject(value) ? exportIn(value) : null;
      if (found !== null) return found;
    }
    level = level.flatMap((value) =>
      Array.isArray(value)
        ? value.length === 1
          ? value
          : []
        : isJsonObject(value)
          ? Object.values(value)
          : [],
    );
  }
  return null;
}

function exportIn(object: Readonly<Record<string, unknown>>) {
  const values = new Map(
    Object.entries(object).map(([name, value]) => [name.replace(/[^a-z0-9]/gi, '').toLowerCase(), value]),
  );
  const readField = (field: keyof ExportLocation): unknown => {
    const name = NAMES[field].find((each) => (values.get(each) ?? null) !== null);
    return name === undefined ? undefined : values.get(name);
  };
  const url = readUrl(readField('presignedUrl'));
  if (url === undefined) return null;
  const [end, hash, size] = [
    readField('presignedUrlExpiresAt'),
    readField('fileHashSha256'),
    readField('fileSizeBytes'),
  ];
  return {
    presignedUrl: url,
    presignedUrlExpiresAt: readInstant(end) ?? UNSTATED_END,
    fileHashSha256: readSha256(hash) ?? hash,
    fileSizeBytes: readCount(size) ?? size,
  };
}
