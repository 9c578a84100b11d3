/**
 * The product, with a kill -9 at the durable point that a file names. The points are observed at calls of the file system, of the
 * network library and of DuckDB, without any change in the product. It is an entry and not a preload, which worker threads would
 * load again.
 *
 * DIE_AT_FILE is the path of the file. Its text is a point of `WORKER_POINTS`; it is deleted right before the kill, so that the next
 * start continues.
 */

import { subscribe } from 'node:diagnostics_channel';
import files, { readFileSync, unlinkSync } from 'node:fs';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { Session } from '../../../warehouse/duckdb/session.ts';
import { LedgerWarehouse } from '../../../warehouse/warehouse.ts';
import type { WorkerPoint } from './worker-points.ts';

const armedBy = process.env.DIE_AT_FILE ?? '';

function passed(point: WorkerPoint): void {
  let armed: string;
  try {
    armed = readFileSync(armedBy, 'utf8').trim();
  } catch {
    return;
  }
  if (armed !== point) return;
  unlinkSync(armedBy);
  process.kill(process.pid, 'SIGKILL');
}

/** `before`: the request is about to be sent. `after`: the last byte of the answer was received. */
function watchNetwork(): void {
  const calls = [
    { path: '/oauth/token', point: 'token' },
    { path: '/regenerate-presigned-url', point: 'regenerated' },
    { path: '/bucket/', point: 'downloaded' },
  ] as const;
  const watch = (channel: string, when: 'before' | 'after'): void => {
    subscribe(channel, (message) => {
      const { request } = message as { readonly request: { readonly path: string } };
      const call = calls.find(({ path }) => request.path.includes(path));
      if (call !== undefined) passed(`${call.point} ${when}`);
    });
  };
  watch('undici:request:create', 'before');
  watch('undici:request:trailers', 'after');
}

function watchFiles(): void {
  const { rename, open } = fs;
  const { renameSync } = files;
  fs.rename = async (from, to) => {
    const point = pointOfRename(String(to));
    if (point !== null) passed(`${point} before`);
    await rename(from, to);
    if (point !== null) passed(`${point} after`);
  };
  files.renameSync = (from, to) => {
    const point = pointOfRename(String(to));
    if (point !== null) passed(`${point} before`);
    renameSync(from, to);
    if (point !== null) passed(`${point} after`);
  };
  fs.open = async (...args) => {
    const handle = await open(...args);
    if (!/reports\.duckdb\.\d+\.tmp$/.test(String(args[0]))) return handle;
    const sync = handle.sync.bind(handle);
    handle.sync = async () => {
      passed('snapshot before');
      await sync();
      passed('snapshot after');
    };
    return handle;
  };
  syncBuiltinESMExports();
}

/** A file is archived in two steps: its bytes under their hash, then the result of its scan. */
function pointOfRename(to: string): 'archived' | 'archive-described' | 'renamed' | null {
  if (/\/archive\/files\/..\/[0-9a-f]{64}\.csv$/.test(to)) return 'archived';
  if (/\/archive\/files\/..\/[0-9a-f]{64}\.json$/.test(to)) return 'archive-described';
  return to.endsWith('/reports.duckdb') ? 'renamed' : null;
}

/** The commit of a load, and its result before Temporal receives it. */
function watchWarehouse(): void {
  const loading = new WeakSet<Session>();
  const { insert, statement } = Session.prototype;
  Session.prototype.insert = function (table, rows) {
    if (table === 'loads') loading.add(this);
    return insert.call(this, table, rows);
  };
  Session.prototype.statement = async function (text, params) {
    const isLoad = text === 'commit' && loading.delete(this);
    if (isLoad) passed('committed before');
    const rows = await statement.call(this, text, params);
    if (isLoad) passed('committed after');
    return rows;
  };
  const { load } = LedgerWarehouse.prototype;
  LedgerWarehouse.prototype.load = async function (request) {
    const outcome = await load.call(this, request);
    passed('reported before');
    return outcome;
  };
}

watchNetwork();
watchFiles();
watchWarehouse();
await import('../../../cli/main.ts');
