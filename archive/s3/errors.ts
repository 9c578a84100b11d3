/** What can be wrong with a bucket on S3, in words that name it and its place, and what to do about it. */

import { S3ServiceException } from '@aws-sdk/client-s3';
import { BillsyncError, type ErrorDetails, EXIT } from '../../lib/wire/errors.ts';

abstract class S3Error extends BillsyncError {}

/** No such bucket, no credentials, no region: only another setting helps. */
export class S3SettingsError extends S3Error {
  readonly code = 's3-settings';
  override readonly exitCode = EXIT.usage;
}

/** S3 knows who asks, or does not, and says no. */
export class S3RefusedError extends S3Error {
  readonly code = 's3-refused';
  override readonly exitCode = EXIT.refused;
}

/** S3 does not answer, or only that it cannot. */
export class S3UnreachableError extends S3Error {
  readonly code = 's3-unreachable';
  override readonly exitCode = EXIT.unreachable;
}

/** The bucket holds other bytes under a file's hash. */
export class ArchivedFileDamagedError extends BillsyncError {
  readonly code = 'archived-file-damaged';
  override readonly exitCode = EXIT.rejected;
  override readonly hint = '`billsync import FILE` puts the file there again';

  constructor(sha256: string, found: string) {
    super(`The archive's file ${sha256} is damaged: its bytes have the hash ${found}.`);
  }
}

/** @param endpoint null: AWS itself */
export interface S3Place {
  readonly bucket: string;
  readonly url: string;
  readonly endpoint: string | null;
  /** Whose bucket it is and which setting names it; the archive's by default. */
  readonly use?: { readonly whose: string; readonly setting: string };
}

const ARCHIVE = { whose: "the archive's", setting: 'BILLSYNC_ARCHIVE' };

/** Says what a failure of the client means for who uses the bucket; whatever else failed is given back as it is. */
export function explainS3Error(error: unknown, place: S3Place): unknown {
  if (!(error instanceof Error)) return error;
  const status = statusOf(error);
  const { name, message } = error;
  const { whose, setting } = place.use ?? ARCHIVE;
  const server = `${whose} S3 at ${place.endpoint ?? 'AWS'}`;
  const told = (hint: string): ErrorDetails => ({
    subject: place.endpoint === null ? place.url : `${place.url} at ${place.endpoint}`,
    hint,
    cause: error,
  });
  if (name === 'NoSuchBucket' || name === 'InvalidBucketName') {
    return new S3SettingsError(
      `${server} has no bucket ${place.bucket}`,
      told(`make the bucket, or name another one in ${setting}`),
    );
  }
  if (name === 'CredentialsProviderError' || name === 'TokenProviderError') {
    return new S3SettingsError(
      `there are no credentials for ${server} (${message})`,
      told(
        "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or give the machine a role of AWS's",
      ),
    );
  }
  if ('code' in error && error.code === 'ERR_INVALID_URL') {
    return new S3SettingsError(
      `AWS_ENDPOINT_URL is no address: ${place.endpoint}`,
      told('it begins with https:// or http://, e.g. https://s3.example.com'),
    );
  }
  if (/^Region (is missing|not accepted)/.test(message)) {
    return new S3SettingsError(
      `the region of ${server} is not set, or is none`,
      told('set AWS_REGION; a service that has no regions takes any, e.g. us-east-1'),
    );
  }
  if (name === 'PermanentRedirect' || name === 'AuthorizationHeaderMalformed' || status === 301) {
    return new S3SettingsError(
      `the bucket ${place.bucket} of ${server} is in another region`,
      told("set AWS_REGION to the bucket's region"),
    );
  }
  if (status === 401 || status === 403 || REFUSALS.has(name)) {
    return new S3RefusedError(
      `${server} refuses its credentials (${[status, name].filter((part) => part !== null).join(' ')})`,
      told(
        `check them (AWS_ACCESS_KEY_ID, AWS_PROFILE) and that they may list, read and write ${place.bucket}`,
      ),
    );
  }
  if (status !== null && status >= 500 && status !== 501) {
    return new S3UnreachableError(`${server} answers ${status} ${name}`, told(TRY_AGAIN));
  }
  if (isNetworkTrouble(error)) {
    const what = message === '' ? systemCode(error) : message;
    return new S3UnreachableError(`${server} does not answer (${what})`, told(CHECK_NETWORK));
  }
  return error;
}

/** null when it is no answer of S3's. */
export function statusOf(error: unknown): number | null {
  return error instanceof S3ServiceException ? (error.$metadata.httpStatusCode ?? null) : null;
}

const REFUSALS: ReadonlySet<string> = new Set([
  'AccessDenied',
  'ExpiredToken',
  'InvalidAccessKeyId',
  'InvalidToken',
  'SignatureDoesNotMatch',
]);

const TRY_AGAIN = 'try again later, or ask who runs it';
const CHECK_NETWORK = 'check AWS_ENDPOINT_URL, AWS_REGION and the network, then `billsync doctor`';

/** Also what TLS has to say about a server: it was not S3 that answered. */
function isNetworkTrouble(error: Error): boolean {
  return (
    error.name === 'TimeoutError' ||
    /^(E(CONN\w+|NOTFOUND|AI_AGAIN|TIMEDOUT|HOSTUNREACH|NETUNREACH|PIPE|PROTO)|CERT_\w+|\w*_CERT\w*|ERR_(TLS|SSL)_\w+)$/.test(
      systemCode(error),
    )
  );
}

function systemCode(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}
