/**
 * Tells DuckDB how to reach a bucket: from AWS's own variables, files and roles, as the archive's client does.
 *
 * Credentials of a role end after an hour or so, long before a worker does: they are given again now and then.
 */

import { explainBucketError } from './check-bucket.ts';
import { quoted, type RunStatement } from './run-statement.ts';

/** Well below the shortest life that a role's credentials can have (15 min). */
export const GIVE_AGAIN_MS = 300_000;

/** Nothing to do for a folder. @throws ArchiveError AWS's client finds no credentials or no region */
export async function giveS3Credentials(
  run: RunStatement,
  dataPath: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<void> {
  if (!dataPath.startsWith('s3://')) return;
  const { S3Client } = await import('@aws-sdk/client-s3');
  const client = new S3Client({});
  try {
    const { accessKeyId, secretAccessKey, sessionToken } = await client.config.credentials();
    const parts = [
      `key_id ${quoted(accessKeyId)}`,
      `secret ${quoted(secretAccessKey)}`,
      `region ${quoted(await client.config.region())}`,
      ...(sessionToken === undefined ? [] : [`session_token ${quoted(sessionToken)}`]),
      ...endpoint(env.AWS_ENDPOINT_URL_S3 ?? env.AWS_ENDPOINT_URL),
    ];
    await run(`create or replace secret billsync_lake_data (type s3, ${parts.join(', ')})`);
  } catch (error) {
    throw await explainBucketError(error, dataPath);
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
