/** Verified CSVs in a folder: `files/ab/<sha256>.csv`, and beside each its description (`.json`). */

import { closeSync, constants, fchmodSync, openSync, renameSync, statSync } from 'node:fs';
import { copyFile, readdir, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  exists,
  flushBytes,
  makeFolder,
  removeIfThere,
  replaceDurably,
  syncFolder,
} from '../lib/files/durable-files.ts';
import { readIfThere, temporaryName } from '../lib/files/files.ts';
import { systemCode } from '../lib/system-errors.ts';
import type { ArchivedFile } from '../lib/wire/csv-file.ts';
import { csvPath, describeFile, readDescription, scanPath } from './records.ts';

export async function openFileFolder(root: string) {
  await makeFolder(root);
  const shards = new Set<string>();

  const path = (sha256: string): string => join(root, csvPath(sha256));
  const descriptionPath = (sha256: string): string => join(root, scanPath(sha256));

  async function put(from: string, file: ArchivedFile): Promise<ArchivedFile> {
    const known = await get(file.sha256);
    if (known !== null) {
      await removeIfThere(from);
      return known;
    }
    await replace(from, file);
    return file;
  }

  async function replace(from: string, file: ArchivedFile): Promise<void> {
    const { size } = statSync(from);
    if (size !== file.sizeBytes) {
      throw new RangeError(`${file.sha256}: the file has ${size} bytes, not ${file.sizeBytes}.`);
    }
    const to = path(file.sha256);
    const shard = dirname(to);
    if (!shards.has(shard)) await makeFolder(shard);
    shards.add(shard);
    await flushFile(from);
    await moveFile(from, to);
    // The description is written last, because a file counts as archived only with it. This flush of the folder covers both names.
    await replaceDurably(descriptionPath(file.sha256), `${JSON.stringify(file)}\n`);
  }

  async function get(sha256: string): Promise<ArchivedFile | null> {
    const csv = path(sha256);
    const bytes = await readIfThere(descriptionPath(sha256));
    if (bytes === null || !exists(csv)) return null;
    const reading = readDescription(bytes);
    if (reading.ok && reading.value.sha256 === sha256) return reading.value;
    const described = await describeFile(csv);
    if (described.sha256 !== sha256) return null;
    await replaceDurably(descriptionPath(sha256), `${JSON.stringify(described)}\n`);
    return described;
  }

  async function* list(): AsyncGenerator<ArchivedFile> {
    for (const shard of await shardsIn(root)) {
      for (const name of (await readdir(join(root, shard))).sort()) {
        const sha256 = /^([0-9a-f]{64})\.csv$/.exec(name)?.[1];
        const file = sha256 === undefined ? null : await get(sha256);
        if (file !== null) yield file;
      }
    }
  }

  /** The bytes are removed first, because a description alone does not count as a file. */
  async function remove(sha256: string): Promise<void> {
    const csv = path(sha256);
    if (!exists(dirname(csv))) return;
    await removeIfThere(csv);
    await removeIfThere(descriptionPath(sha256));
    await syncFolder(dirname(csv));
  }

  return { put, replace, get, path, list, remove };
}

export async function shardsIn(root: string): Promise<readonly string[]> {
  const entries = await readdir(root, { withFileTypes: true });
  return entries
    .filter((entry) => entry.isDirectory() && /^[0-9a-f]{2}$/.test(entry.name))
    .map(({ name }) => name)
    .sort();
}

async function flushFile(path: string): Promise<void> {
  const file = openSync(path, constants.O_RDWR);
  try {
    fchmodSync(file, 0o600);
    await flushBytes(file, path);
  } finally {
    closeSync(file);
  }
}

async function moveFile(from: string, to: string): Promise<void> {
  try {
    renameSync(from, to);
  } catch (error) {
    if (systemCode(error) !== 'EXDEV') throw error;
    const part = temporaryName(dirname(to));
    await copyFile(from, part);
    await flushFile(part);
    await rename(part, to);
    await removeIfThere(from);
  }
}
