/**
 * What DuckDB's own shell runs first to read a lake's file of views. The catalogue's password and a bucket's
 * credentials are in them, so the file that they are written to is readable by its user only.
 */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { version as duckdbVersion } from '@duckdb/node-api';
import { attachStatements, catalogSecret } from './attach-lake.ts';
import { type ExtensionName, extensionCache, extensionsFor } from './extensions.ts';
import { placeOf } from './lake-reader.ts';
import type { LakeSettings } from './lake-source.ts';
import { quoted } from './run-statement.ts';
import { giveS3Credentials } from './s3-credentials.ts';

/**
 * @param shellVersion of the shell, as `1.5.5`; extensions fit one version
 * @throws catalog-unreachable nobody answers, or there is no warehouse yet
 */
export async function shellStatements(lake: LakeSettings, shellVersion: string): Promise<readonly string[]> {
  const place = { ...(await placeOf(lake)), dataPath: lake.dataPath };
  const statements = extensionsFor(lake.dataPath).flatMap((name) => loadingOf(name, shellVersion));
  await giveS3Credentials(async (statement) => statements.push(statement), lake.dataPath);
  const { libpq, password } = place.address;
  const attaching = attachStatements(place, { libpq, readOnly: true, hasSecret: password !== '' });
  return [...statements, ...catalogSecret(place.address), ...attaching];
}

/** From our cache where the shell has the version that it is for, else as the shell has it or gets it. */
function loadingOf(name: ExtensionName, shellVersion: string): readonly string[] {
  const cached = join(extensionCache(duckdbVersion()), `${name}.duckdb_extension`);
  const fits = duckdbVersion().replace(/^v/, '') === shellVersion && existsSync(cached);
  return fits ? [`load ${quoted(cached)}`] : [`install ${name}`, `load ${name}`];
}
