/** Messages of these errors contain hosts, never the rest of a URL. */

import { type ErrorDetails, type ErrorKind, EXIT, errorClass } from '../lib/errors.ts';
import { withoutPassingSecrets } from '../lib/log/passing-secrets.ts';
import { systemCode } from '../lib/system-errors.ts';
import type { ErrorBody } from '../lib/wire/api.ts';
import { serviceError } from '../lib/wire/service-errors.ts';

const RETRIED = 'try again later; the worker retries automatically';
const ASK_WHICH_IS_RIGHT =
  'nothing of it was loaded; find out from the billing service which file is right, then `billsync invoices retry`';

/**
 * The first value of most messages is the endpoint or host that failed. How a workflow reacts is in `lib/wire/service-errors.ts`.
 */
export const BILLING_ERRORS = {
  'not-configured': {
    message: 'The billing service cannot be called without %s.',
    exitCode: EXIT.usage,
    hint: '`billsync init` writes a settings file to fill in',
  },
  unreachable: {
    message: '%s.',
    exitCode: EXIT.unreachable,
    hint: 'check the address and the network, then `billsync doctor`',
  },
  'deadline-exceeded': {
    message: '%s %s.',
    exitCode: EXIT.unreachable,
    hint: 'try again later, as the worker does automatically; `billsync doctor` shows which address answers',
  },
  'credentials-refused': {
    message: 'The billing service refused %s (%s).',
    exitCode: EXIT.refused,
    hint: 'check the client id and secret (or the API key) and that they belong to this environment',
  },
  /** The service answers regenerate with 404 when the invoice or its export does not exist, or not yet (spec 7). */
  'not-exported': {
    message: 'Invoice %s: the service has no export of it.',
    exitCode: EXIT.nothingMatched,
    hint: 'the service exports an invoice once it is finalized; `billsync invoices show` shows its status',
  },
  'unknown-invoice': {
    message: 'Invoice %s: the service does not know it.',
    exitCode: EXIT.nothingMatched,
    hint: 'compare the id with the billing application; test and production (BILLSYNC_ENVIRONMENT) have different invoices',
  },
  refused: {
    message: 'The billing service refused %s (%s).',
    hint: 'the same call would be refused again; report the text in brackets to the billing service',
  },
  forbidden: {
    message: 'The billing service refused %s (%s).',
    hint: 'request the scope that this call needs from the billing service; the credentials themselves were accepted',
  },
  overloaded: { message: '%s is overloaded (HTTP %s%s).', hint: RETRIED },
  'server-fault': { message: '%s failed (%s).', hint: RETRIED },
  redirect: {
    message:
      '%s answered with a redirect (HTTP %s) that is not followed: redirects are followed a few times, and only on the same host.',
    hint: 'check that BILLSYNC_BASE_URL and BILLSYNC_AUTH_URL are the final addresses, not ones that redirect there',
  },
  'unexpected-answer': {
    message: '%s: %s',
    hint: 'check that the address leads to the billing service, not to a proxy or a sign-in page; if it does, report it to the service',
  },
  'not-csv': {
    message: '%s sent no CSV: %s.',
    hint: 'the worker requests another URL automatically; if that returns no CSV either, report it to the billing service',
  },
  'not-ready': { message: '%s is not ready (HTTP %s%s).', hint: RETRIED },
  'impossible-announcement': {
    message: 'Invoice %s: no file can match its announcement (%s).',
    hint: 'report it to the billing service: the file is loaded once an event announces it correctly',
  },
  'address-refused': {
    message: '%s resolves to %s, which is not a public address.',
    exitCode: EXIT.unreachable,
    hint: 'BILLSYNC_ALLOW_PRIVATE_HOSTS=true lets calls reach loopback and private addresses',
  },
  'host-not-allowed': { message: '%s%s', exitCode: EXIT.unreachable },
  'url-refused': {
    message: '%s refused the presigned URL (%s).',
    hint: 'a presigned URL is valid for 24 hours; `billsync invoices retry` requests another',
  },
  'hash-mismatch': {
    message: 'Invoice %s: SHA-256 %s was announced, the bytes have %s.',
    exitCode: EXIT.rejected,
    hint: ASK_WHICH_IS_RIGHT,
  },
  /** The size is checked against the announcement (spec 6, rule 8); after one byte too many nothing more is read. */
  'size-mismatch': {
    message: 'Invoice %s: %s bytes arrived, %s were announced.',
    exitCode: EXIT.rejected,
    hint: ASK_WHICH_IS_RIGHT,
  },
  /** This is no failure: the file has not changed. */
  'not-modified': { message: 'The service has no other file of invoice %s than the one already known.' },
  'host-busy': {
    message: '%s sends other files slowly; this one asks again for its turn in %s s.',
    exitCode: EXIT.unreachable,
    hint: RETRIED,
  },
  'disk-full': {
    message: '%s: no room for a download%s.',
    exitCode: EXIT.checkFailed,
    hint: 'free disk space; the download is then tried again',
  },
} satisfies Readonly<Record<string, ErrorKind>>;

export type BillingErrorCode = keyof typeof BILLING_ERRORS;

const WITH_DEFAULTS = Object.fromEntries(
  Object.entries(BILLING_ERRORS).map(([code, kind]) => [
    code,
    { exitCode: EXIT.serviceError, reaction: serviceError(code)?.reaction ?? 'retry', ...kind },
  ]),
) as Readonly<Record<BillingErrorCode, ErrorKind>>;

export class BillingError extends errorClass(WITH_DEFAULTS) {
  readonly retryAfterSeconds: number | null;

  constructor(
    code: BillingErrorCode,
    values: readonly (string | number)[],
    {
      retryAfterSeconds = null,
      ...details
    }: ErrorDetails & { readonly retryAfterSeconds?: number | null } = {},
  ) {
    // Values are shortened and scrubbed, because a message is stored with its invoice and shown, and answers may repeat what they
    // were sent.
    super(
      code,
      values.map((value) => (typeof value === 'string' ? withoutPassingSecrets(value) : value)),
      details,
    );
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

export function isBillingError(error: unknown, ...codes: readonly BillingErrorCode[]): error is BillingError {
  return error instanceof BillingError && codes.includes(error.code);
}

export function describeRefusal(status: number, { code, description }: ErrorBody): string {
  return [`HTTP ${status}`, code, description].filter((part) => part !== null && part !== '').join(', ');
}

export function tryLater(endpoint: string, status: number, retryAfterSeconds: number | null): BillingError {
  const code = status < 300 ? 'not-ready' : 'overloaded';
  const wait = retryAfterSeconds === null ? '' : `, retry after ${retryAfterSeconds} s`;
  return new BillingError(code, [endpoint, status, wait], { retryAfterSeconds });
}

export function hostNotAllowed(host: string, reason: 'not-https' | 'not-listed' | 'port'): BillingError {
  const explanation = {
    'not-https': ': only https URLs without a user and a password are called.',
    'not-listed': ' is not among BILLSYNC_DOWNLOAD_HOSTS, so its URL is not used straight from a webhook.',
    port: ': of a public host only port 443 is called, unless BILLSYNC_DOWNLOAD_HOSTS names the host with its port.',
  }[reason];
  return new BillingError('host-not-allowed', [host, explanation]);
}

export function sizeMismatch(invoiceId: string, expectedBytes: number, actualBytes: number): BillingError {
  const found = actualBytes > expectedBytes ? `at least ${actualBytes}` : actualBytes;
  return new BillingError('size-mismatch', [invoiceId, found, expectedBytes]);
}

export function unreachable(host: string, systemCode: string | null, cause: unknown): BillingError {
  const hint =
    systemCode !== null && UNTRUSTED.has(systemCode)
      ? 'name the CA that signed its certificate in BILLSYNC_CA_FILE'
      : systemCode === 'ENOTFOUND'
        ? 'check the host name in BILLSYNC_BASE_URL and BILLSYNC_AUTH_URL'
        : BILLING_ERRORS.unreachable.hint;
  const message = `${host} cannot be reached (${systemCode ?? 'connection lost'})`;
  return new BillingError('unreachable', [message], { cause, hint });
}

const UNTRUSTED: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** @param reason the status of the proxy's answer, or the code of the connection's error; null when there is neither */
export function proxyError(proxy: string, reason: number | string | null, cause: unknown): BillingError {
  const [problem, hint] = proxyProblem(reason);
  return new BillingError('unreachable', [`The proxy ${proxy} ${problem}`], { cause, hint });
}

const NO_PROXY = 'NO_PROXY names hosts that are called without one';

function proxyProblem(reason: number | string | null): readonly [problem: string, hint: string] {
  if (reason === 407) {
    return ['requires credentials (HTTP 407)', 'write them into HTTPS_PROXY: http://USER:PASSWORD@HOST:PORT'];
  }
  if (typeof reason === 'number') {
    return reason < 500
      ? [
          `does not allow the connection (HTTP ${reason})`,
          `the operator of the proxy that HTTPS_PROXY names must allow the hosts of the billing service; ${NO_PROXY}`,
        ]
      : [
          `did not reach the host (HTTP ${reason})`,
          `look at the proxy that HTTPS_PROXY names and at the network behind it; ${NO_PROXY}`,
        ];
  }
  if (isLostConnection(reason)) {
    return [
      'closed the connection without an answer to CONNECT',
      `look at the log of the proxy that HTTPS_PROXY names; ${NO_PROXY}`,
    ];
  }
  if (reason?.includes('TIMEOUT') === true) {
    return ['does not answer in time', `check the address in HTTPS_PROXY and the network; ${NO_PROXY}`];
  }
  return [
    `cannot be reached (${reason ?? 'connection lost'})`,
    `check the address in HTTPS_PROXY; ${NO_PROXY}`,
  ];
}

const NOT_CONNECTED: ReadonlySet<string> = new Set([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'ENETDOWN', 'ETIMEDOUT'],
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** Whether no connection was made; one that was lost, or not trusted, may hide an answer. */
export function isNotConnected(error: unknown): boolean {
  if (!isBillingError(error, 'unreachable', 'deadline-exceeded')) return false;
  return NOT_CONNECTED.has(systemCode(error.cause) ?? '');
}

export function isLostConnection(systemCode: string | null): boolean {
  return systemCode !== null && ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes(systemCode);
}
