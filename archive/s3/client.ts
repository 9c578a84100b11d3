/** Opens clients of S3: where it is and who asks is said by AWS's own variables and files. */

import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';

/** The service that AWS's variables name instead of AWS, or null. */
export function ownEndpoint(env: Readonly<Record<string, string | undefined>> = process.env): string | null {
  return env.AWS_ENDPOINT_URL_S3 || env.AWS_ENDPOINT_URL || null;
}

/** The client's `requestTimeout` only logs a warning; a socket on which nothing happens ends the request, which is tried three times. */
const TIME_LIMITS = { connectionTimeout: 5_000, socketTimeout: 30_000 };

/** With an endpoint of one's own the bucket stands in the path, as such services expect. */
export function openS3Client(
  config: Omit<S3ClientConfig, 'forcePathStyle'>,
  endpoint = ownEndpoint(),
): S3Client {
  // It warns of the Node that its later versions will want, in every command; which version is used is pinned by us.
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';
  return new S3Client({ requestHandler: TIME_LIMITS, ...config, forcePathStyle: endpoint !== null });
}
