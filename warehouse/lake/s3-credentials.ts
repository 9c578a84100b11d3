/**
 * Tells DuckDB how to reach a bucket: from AWS's own variables, files and roles, as the archive's client does.
 *
 * Credentials of a role end after a while; they are given again before that, on the connection that needs them.
 */

import { quoted, type RunStatement } from './run-statement.js';

/** When they end; null: never, or there is no bucket. */
export async function giveS3Credentials(
  run: RunStatement,
  dataPath: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<Date | null> {
  if (!dataPath.startsWith('s3://')) return null;
  const { S3Client } = await import('@aws-sdk/client-s3');
  const client = new S3Client({});
  try {
    const { accessKeyId, secretAccessKey, sessionToken, expiration } = await client.config.credentials();
    const parts = [
      `key_id ${quoted(accessKeyId)}`,
      `secret ${quoted(secretAccessKey)}`,
      `region ${quoted(await client.config.region())}`,
      ...(sessionToken === undefined ? [] : [`session_token ${quoted(sessionToken)}`]),
      ...endpoint(env.AWS_ENDPOINT_URL_S3 ?? env.AWS_ENDPOINT_URL),
    ];
    await run(`create or replace secret billsync_lake_data (type s3, ${parts.join(', ')})`);
    return expiration ?? null;
  } finally {
    client.destroy();
  }
}

/** An endpoint of one's own has the bucket in the path, as such services expect. */
function endpoint(url: string | undefined): readonly string[] {
  if (url === undefined) return [];
  const { host, protocol } = new URL(url);
  return [`endpoint ${quoted(host)}`, "url_style 'path'", `use_ssl ${protocol === 'https:'}`];
}
