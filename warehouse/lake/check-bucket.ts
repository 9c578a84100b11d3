/** Asks for a lake's bucket when a writer opens: DuckDB would first miss it at the first load, and say little. */

/** Nothing to do for a folder. @throws ArchiveError */
export async function checkBucket(dataPath: string): Promise<void> {
  if (!dataPath.startsWith('s3://')) return;
  const [{ ListObjectsV2Command }, { openS3Client }] = await Promise.all([
    import('@aws-sdk/client-s3'),
    import('../../archive/s3/bucket.ts'),
  ]);
  const client = openS3Client({});
  try {
    await client.send(new ListObjectsV2Command({ Bucket: new URL(dataPath).hostname, MaxKeys: 1 }));
  } catch (error) {
    throw await explainBucketError(error, dataPath);
  } finally {
    client.destroy();
  }
}

/** In the words that the archive has for its own bucket. */
export async function explainBucketError(error: unknown, dataPath: string): Promise<unknown> {
  const [{ explainS3Error }, { ownEndpoint }] = await Promise.all([
    import('../../archive/s3/errors.ts'),
    import('../../archive/s3/bucket.ts'),
  ]);
  return explainS3Error(error, {
    bucket: new URL(dataPath).hostname,
    url: dataPath,
    endpoint: ownEndpoint(),
    use: { whose: "the lake's", setting: 'BILLSYNC_LAKE_DATA' },
  });
}
