import { DuckDBInstance } from '@duckdb/node-api';

/**
 * DuckDB would take its time zone from TZ, its calendar from the locale, and secrets for servers from the home folder; every
 * instance of billsync is opened here. The session's settings are locked afterwards, except by callers that attach first.
 */
export async function openInstance(
  path: string,
  options: Readonly<Record<string, string>> = {},
  { lock = false }: { readonly lock?: boolean } = {},
): Promise<DuckDBInstance> {
  const instance = await DuckDBInstance.create(path, {
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    allow_persistent_secrets: 'false',
    ...options,
  });
  try {
    const connection = await instance.connect();
    await connection.run("set global TimeZone = 'UTC'");
    await connection.run("set global Calendar = 'gregorian'");
    if (lock) await connection.run('set lock_configuration = true');
    connection.closeSync();
    return instance;
  } catch (error) {
    instance.closeSync();
    throw error;
  }
}
