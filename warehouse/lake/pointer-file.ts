/**
 * `reports.duckdb` over a lake: the same views, and nothing but views. The rows stay where they are, so there is
 * nothing to copy and nothing to wait for; who opens the file attaches the lake first (`how_to_attach` says how).
 *
 * It never carries a password: readers have their own rights in PostgreSQL.
 */

import { constants } from 'node:fs';
import { chmod, open, rename, rm, utimes } from 'node:fs/promises';
import { dirname } from 'node:path';
import { temporaryName } from '../../lib/files/files.ts';
import { commentsOf } from '../duckdb/schema.ts';
import type { Session } from '../duckdb/session.ts';
import { attachStatements, type LakePlace } from './attach-lake.ts';
import { extensionsFor } from './extensions.ts';
import { viewScripts } from './lake-database.ts';
import { quoted } from './run-statement.ts';

/** In a session that has the lake attached and may still write files. Replaces what was there. */
export async function writePointerFile(session: Session, path: string, place: LakePlace): Promise<void> {
  // Readers and the writer of one process may write at once, so each has a name of its own.
  const draft = temporaryName(dirname(path));
  try {
    await writeViews(session, draft, place);
    await chmod(draft, 0o600);
    await flush(draft);
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
  await flush(dirname(path));
}

async function writeViews(session: Session, draft: string, place: LakePlace): Promise<void> {
  const [before] = await session.statement("select current_setting('search_path') as path");
  await session.statement(`attach ${quoted(draft)} as pointer (storage_version 'v1.5.0')`);
  await session.statement('use pointer');
  try {
    for (const script of viewScripts()) await session.script(script);
    await session.script(await commentsOf(session));
    await session.statement('create table how_to_attach (step integer not null, statement varchar not null)');
    for (const [index, statement] of howToAttach(place).entries()) {
      await session.statement(`insert into how_to_attach values (${index + 1}, ${quoted(statement)})`);
    }
  } finally {
    await session.statement('use memory');
    await session.statement(`set search_path = ${quoted(String(before?.path))}`);
    await session.statement('detach pointer');
  }
}

/** Tells those who watch the file that what it shows has changed. */
export async function touchPointerFile(path: string, now: Date): Promise<void> {
  await utimes(path, now, now);
}

function howToAttach(place: LakePlace): readonly string[] {
  const loads = extensionsFor(place.dataPath).map((name) => `load ${name}`);
  const attach = attachStatements(place, { libpq: place.address.libpq, readOnly: true, hasSecret: false });
  return [...loads, ...attach];
}

async function flush(path: string): Promise<void> {
  const handle = await open(path, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
