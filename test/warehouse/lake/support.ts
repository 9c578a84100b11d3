/** Lakes for tests: one real PostgreSQL, a database of its own for each lake, Parquet files in the test's folder. */

import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import pg from 'pg';
import { openPublishedFile, registerConnection } from '../../../reports/open-published-file.ts';
import type { LakeSettings } from '../../../warehouse/lake/catalog-address.ts';
import { connectToLake } from '../../../warehouse/lake/lake-reader.ts';
import { lakeSourceOf } from '../../../warehouse/lake/lake-source.ts';
import type { OpenWarehouseOptions } from '../../../warehouse/store.ts';
import { installDuckDbExtensions } from '../../support/tools/duckdb-extensions.ts';
import { type PostgresServer, startPostgres } from '../../support/tools/postgres.ts';
import { settingsFor } from '../support.ts';

export interface LakeServer {
  readonly postgres: PostgresServer;
  aLake(dataDir: string, dataPath?: string): Promise<LakeTestSettings>;
  query(settings: LakeTestSettings, text: string, user?: string): Promise<Record<string, unknown>[]>;
  stop(): Promise<void>;
}

export type LakeTestSettings = OpenWarehouseOptions['settings'] & { readonly warehouse: LakeSettings };

/** The server accepts any password; no message may contain it. */
export const PASSWORD = 'unheard-of';

export async function startLakeServer(): Promise<LakeServer> {
  await installDuckDbExtensions();
  const postgres = await startPostgres();
  let stopped: Promise<void> | null = null;
  return {
    postgres,
    async aLake(dataDir, dataPath = join(dataDir, 'lake')) {
      const name = `lake_${randomBytes(6).toString('hex')}`;
      await queryPostgres(urlOf(postgres, 'postgres'), `create database ${name}`);
      const catalog = `postgres:host=127.0.0.1 port=${postgres.port} user=lake password=${PASSWORD} dbname=${name}`;
      return { ...settingsFor(dataDir), warehouse: { kind: 'ducklake', catalog, dataPath } };
    },
    query: ({ warehouse }, text, user = 'lake') =>
      queryPostgres(urlOf(postgres, /dbname=(\w+)/.exec(warehouse.catalog)?.[1] ?? '', user), text),
    stop() {
      stopped ??= postgres.stop();
      return stopped;
    },
  };
}

/** The published path of the folder, readable as a process with these settings reads it. */
export function publishedPath(settings: LakeTestSettings): string {
  const path = join(settings.dataDir, 'reports.duckdb');
  lakeSourceOf(path, settings.warehouse);
  registerConnection(path, () => connectToLake(path, settings.warehouse));
  return path;
}

export async function queryLake(settings: LakeTestSettings, sql: string): Promise<Record<string, unknown>[]> {
  const file = await openPublishedFile(publishedPath(settings));
  try {
    return (await file.query(sql)).getRowObjectsJson();
  } finally {
    file.close();
  }
}

/** A connection on which several statements read the same state. */
export function lookAtLake(settings: LakeTestSettings): Promise<DuckDBConnection> {
  return connectToLake(publishedPath(settings), settings.warehouse);
}

function urlOf(postgres: PostgresServer, database: string, user = 'lake'): string {
  return `postgresql://${user}@127.0.0.1:${postgres.port}/${database}`;
}

async function queryPostgres(connectionString: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}
