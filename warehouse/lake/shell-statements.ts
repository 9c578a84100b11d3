/**
 * What DuckDB's own shell runs first to read a lake's file of views. The password is in no statement: libpq finds it in the
 * environment, which the shell inherits; a bucket's credentials are in one, so whoever writes them down lets nobody else read them.
 */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { version as duckdbVersion } from '@duckdb/node-api';
import { attachStatements } from './attach-lake.ts';
import { providePassword } from './catalog-address.ts';
import { type ExtensionName, extensionCache, extensionsFor } from './extensions.ts';
import { placeOf } from './lake-reader.ts';
import type { LakeSettings } from './lake-source.ts';
import { quoted } from './run-statement.ts';
import { giveS3Credentials } from './s3-credentials.ts';

/**
 * @param shellVersion of the shell, as `1.5.5`; extensions fit one version
 * @throws CatalogUnreachableError nobody answers, or there is no warehouse yet
 */
export async function shellStatements(lake: LakeSettings, shellVersion: string): Promise<readonly string[]> {
  const place = { ...(await placeOf(lake)), dataPath: lake.dataPath };
  const statements = extensionsFor(lake.dataPath).flatMap((name) => loadingOf(name, shellVersion));
  await giveS3Credentials(async (statement) => statements.push(statement), lake.dataPath);
  providePassword(place.address);
  return [...statements, ...attachStatements(place, { libpq: place.address.libpq, readOnly: true })];
}

/** From our cache where the shell has the version that it is for, else as the shell has it or gets it. */
function loadingOf(name: ExtensionName, shellVersion: string): readonly string[] {
  const cached = join(extensionCache(duckdbVersion()), `${name}.duckdb_extension`);
  const fits = duckdbVersion().replace(/^v/, '') === shellVersion && existsSync(cached);
  return fits ? [`load ${quoted(cached)}`] : [`install ${name}`, `load ${name}`];
}
