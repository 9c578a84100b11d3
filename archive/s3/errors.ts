import { S3ServiceException } from '@aws-sdk/client-s3';
import { systemCode } from '../../lib/system-errors.ts';
import { ArchiveError } from '../errors.ts';

export interface S3Place {
  readonly bucket: string;
  readonly url: string;
  readonly endpoint: string | null;
  readonly use?: { readonly whose: string; readonly setting: string };
}

const ARCHIVE = { whose: "the archive's", setting: 'BILLSYNC_ARCHIVE' };

export function explainS3Error(error: unknown, place: S3Place): unknown {
  if (!(error instanceof Error)) return error;
  const explained = explanationOf(error, place);
  if (explained === null) return error;
  const [code, message, hint] = explained;
  const subject = place.endpoint === null ? place.url : `${place.url} at ${place.endpoint}`;
  return new ArchiveError(code, [message], { subject, hint, cause: error });
}

type Explanation = readonly [
  code: 's3-settings' | 's3-refused' | 's3-unreachable',
  message: string,
  hint: string,
];

function explanationOf(
  error: Error,
  { bucket, endpoint, use: { whose, setting } = ARCHIVE }: S3Place,
): Explanation | null {
  const status = statusOf(error);
  const { name, message } = error;
  const server = `${whose} S3 at ${endpoint ?? 'AWS'}`;
  if (name === 'NoSuchBucket' || name === 'InvalidBucketName') {
    return [
      's3-settings',
      `${server} has no bucket ${bucket}`,
      `create the bucket, or name another one in ${setting}`,
    ];
  }
  if (name === 'CredentialsProviderError' || name === 'TokenProviderError') {
    return [
      's3-settings',
      `there are no credentials for ${server} (${message})`,
      'set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or give the machine an AWS role',
    ];
  }
  if (systemCode(error) === 'ERR_INVALID_URL') {
    return [
      's3-settings',
      `AWS_ENDPOINT_URL is not an address: ${endpoint}`,
      'it begins with https:// or http://, e.g. https://s3.example.com',
    ];
  }
  if (/^Region (is missing|not accepted)/.test(message)) {
    return [
      's3-settings',
      `the region of ${server} is missing or invalid`,
      'set AWS_REGION; a service without regions accepts any, e.g. us-east-1',
    ];
  }
  if (name === 'PermanentRedirect' || name === 'AuthorizationHeaderMalformed' || status === 301) {
    return [
      's3-settings',
      `the bucket ${bucket} of ${server} is in another region`,
      "set AWS_REGION to the bucket's region",
    ];
  }
  if (status === 401 || status === 403 || REFUSALS.has(name)) {
    return [
      's3-refused',
      `${server} refuses its credentials (${[status, name].filter((part) => part !== null).join(' ')})`,
      `check them (AWS_ACCESS_KEY_ID, AWS_PROFILE) and that they may list, read and write ${bucket}`,
    ];
  }
  if (status !== null && status >= 500 && status !== 501) {
    return [
      's3-unreachable',
      `${server} answers ${status} ${name}`,
      'try again later, or contact its operator',
    ];
  }
  const code = systemCode(error) ?? '';
  if (name === 'TimeoutError' || NETWORK_CODE.test(code)) {
    return [
      's3-unreachable',
      `${server} does not answer (${message === '' ? code : message})`,
      'check AWS_ENDPOINT_URL, AWS_REGION and the network, then `billsync doctor`',
    ];
  }
  return null;
}

/** Returns null for an error that is no answer of S3. */
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

/** TLS errors are among them, because another server than S3 answered then. */
const NETWORK_CODE =
  /^(E(CONN\w+|NOTFOUND|AI_AGAIN|TIMEDOUT|HOSTUNREACH|NETUNREACH|PIPE|PROTO)|CERT_\w+|\w*_CERT\w*|ERR_(TLS|SSL)_\w+)$/;
