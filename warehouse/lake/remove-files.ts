/** Removes the Parquet files of a generation that nobody reads any more, from a folder or a bucket. */

import { rm } from 'node:fs/promises';

/** @param path a generation's, with a slash at its end; it need not be there */
export async function removeFiles(path: string): Promise<void> {
  if (path.startsWith('s3://')) await removeObjects(new URL(path));
  else await rm(path, { recursive: true, force: true });
}

/** A thousand at a time, which is what a listing gives and a deletion takes. */
async function removeObjects({ hostname: Bucket, pathname }: URL): Promise<void> {
  const [{ DeleteObjectsCommand, ListObjectsV2Command }, { openS3Client }] = await Promise.all([
    import('@aws-sdk/client-s3'),
    import('../../archive/s3/bucket.ts'),
  ]);
  const client = openS3Client({});
  try {
    for (;;) {
      const { Contents = [] } = await client.send(
        new ListObjectsV2Command({ Bucket, Prefix: pathname.replace(/^\/+/, '') }),
      );
      const Objects = Contents.flatMap(({ Key }) => (Key === undefined ? [] : [{ Key }]));
      if (Objects.length === 0) return;
      const { Errors = [] } = await client.send(
        new DeleteObjectsCommand({ Bucket, Delete: { Objects, Quiet: true } }),
      );
      if (Errors.length > 0) throw new Error(`S3 did not remove ${Errors[0]?.Key}: ${Errors[0]?.Message}`);
    }
  } finally {
    client.destroy();
  }
}
