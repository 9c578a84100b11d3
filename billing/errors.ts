/** What can go wrong at the billing service and its storage: one class per cause that a caller treats differently. */

import type { ErrorBody } from '../lib/wire/api.ts';
import { BillsyncError, EXIT, type ExitCode } from '../lib/wire/errors.ts';

const TRIED_AGAIN = 'try again later; the worker retries automatically';
const WHICH_IS_RIGHT =
  'nothing of it was loaded; ask the billing service which file is right, then `billsync invoices retry`';

export abstract class BillingError extends BillsyncError {
  override readonly exitCode: ExitCode = EXIT.serviceError;
}

/** A setting without which the service cannot be called. */
export class NotConfiguredError extends BillingError {
  readonly code = 'not-configured';
  override readonly exitCode = EXIT.usage;
  override readonly hint = '`billsync init` writes a settings file to fill in';

  constructor(settings: readonly string[]) {
    super(`The billing service cannot be called without ${settings.join(' and ')}.`);
  }
}

/** No answer: name not found, connection refused or lost, certificate not trusted. */
export class UnreachableError extends BillingError {
  readonly code = 'unreachable';
  override readonly exitCode = EXIT.unreachable;
  /** The system's word for it, e.g. `ECONNREFUSED`; null when it has none. */
  readonly systemCode: string | null;

  constructor(host: string, systemCode: string | null, cause: unknown) {
    super(`${host} cannot be reached (${systemCode ?? 'connection lost'}).`, {
      cause,
      hint: hintFor(systemCode),
    });
    this.systemCode = systemCode;
  }
}

/** The proxy did not connect us: no host behind it was reached. */
export class ProxyError extends BillingError {
  readonly code = 'unreachable';
  override readonly exitCode = EXIT.unreachable;
  /** Whether another try may find the proxy well. */
  readonly isLost: boolean;

  /** @param why its status, or the code of what happened to the connection; null when it has none */
  constructor(proxy: string, why: number | string | null, cause: unknown) {
    const { what, hint } = proxyTrouble(why);
    super(`The proxy ${proxy} ${what}.`, { cause, hint });
    this.isLost = isClosed(why);
  }
}

/** The answer took longer than it may, or its bytes came too slowly. */
export class DeadlineExceededError extends BillingError {
  readonly code = 'deadline-exceeded';
  override readonly exitCode = EXIT.unreachable;
  override readonly hint =
    'try again later, as the worker does automatically; `billsync doctor` says which address answers';

  constructor(host: string, what: string) {
    super(`${host} ${what}.`);
  }
}

/** Client id, secret, API key or a token fresh from the service were refused (spec 7). */
export class CredentialsRefusedError extends BillingError {
  readonly code = 'credentials-refused';
  override readonly exitCode = EXIT.refused;
  override readonly hint =
    'check the client id and secret (or the API key) and that they belong to this environment';

  constructor(what: string, status: number, reason: ErrorBody) {
    super(`The billing service refused ${what} (${describe(status, reason)}).`);
  }
}

/** Regenerate said 404: the invoice or its export does not exist (yet) (spec 7). */
export class NotExportedError extends BillingError {
  readonly code = 'not-exported';
  override readonly exitCode = EXIT.nothingMatched;
  override readonly hint =
    'the service exports an invoice once it is finalized; `billsync invoices show` says how far it is';

  constructor(invoiceId: string) {
    super(`Invoice ${invoiceId}: the service has no export of it.`);
  }
}

/** Details or export-csv said 404. */
export class UnknownInvoiceError extends BillingError {
  readonly code = 'unknown-invoice';
  override readonly exitCode = EXIT.nothingMatched;
  override readonly hint =
    'compare the id with the billing application; test and production (BILLSYNC_ENVIRONMENT) have different invoices';

  constructor(invoiceId: string) {
    super(`Invoice ${invoiceId}: the service does not know it.`);
  }
}

/** Any other 4xx of the API: it understood, and will not (400: spec 7; 403: a scope is missing). */
export class RefusedError extends BillingError {
  readonly code: 'refused' | 'forbidden';

  constructor(endpoint: string, status: number, reason: ErrorBody) {
    const isForbidden = status === 403;
    super(`The billing service refused ${endpoint} (${describe(status, reason)}).`, {
      hint: isForbidden
        ? 'ask the billing service for the scope that this call needs; the credentials themselves were accepted'
        : 'the same call would be refused again; report the text in brackets to the billing service',
    });
    this.code = isForbidden ? 'forbidden' : 'refused';
  }
}

/** 429 or 503: later. */
export class OverloadedError extends BillingError {
  readonly code = 'overloaded';
  override readonly hint = TRIED_AGAIN;
  /** What Retry-After asked for; null when it asked for nothing. */
  readonly retryAfterSeconds: number | null;

  constructor(endpoint: string, status: number, retryAfterSeconds: number | null) {
    const wait = retryAfterSeconds === null ? '' : `, it asks for ${retryAfterSeconds} s`;
    super(`${endpoint} is overloaded (HTTP ${status}${wait}).`);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** Any other 5xx. */
export class ServerFaultError extends BillingError {
  readonly code = 'server-fault';
  override readonly hint = TRIED_AGAIN;

  constructor(endpoint: string, status: number, reason: ErrorBody) {
    super(`${endpoint} failed (${describe(status, reason)}).`);
  }
}

/** A redirect that is not followed, see redirects.ts: it could lead a request, and what it carries, anywhere. */
export class RedirectError extends BillingError {
  readonly code = 'redirect';
  override readonly hint =
    'check that BILLSYNC_BASE_URL and BILLSYNC_AUTH_URL are the addresses that answer, not ones that lead there';

  constructor(endpoint: string, status: number) {
    super(
      `${endpoint} answered with a redirect (HTTP ${status}) that is not followed: redirects are followed a few times, and only on the same host.`,
    );
  }
}

/** 2xx, and not what the specification promises. */
export class UnexpectedAnswerError extends BillingError {
  readonly code = 'unexpected-answer';
  override readonly hint =
    'check that the address leads to the billing service, not to a proxy or a sign-in page; if it does, tell the service';

  constructor(endpoint: string, problem: string, cause?: unknown) {
    super(`${endpoint}: ${problem}`, { cause });
  }
}

/** A good answer whose bytes are something else than a CSV: a page, a notice, nothing at all. */
export class NotCsvError extends BillingError {
  readonly code = 'not-csv';
  override readonly hint =
    'the worker asks for another URL automatically; if that brings no CSV either, tell the billing service';

  constructor(endpoint: string, problem: string) {
    super(`${endpoint} sent no CSV: ${problem}.`);
  }
}

/** 202, or 204: the service is still at work on what was asked for. */
export class NotReadyError extends BillingError {
  readonly code = 'not-ready';
  override readonly hint = TRIED_AGAIN;
  /** What Retry-After asked for; null when it asked for nothing. */
  readonly retryAfterSeconds: number | null;

  constructor(endpoint: string, status: number, retryAfterSeconds: number | null) {
    const wait = retryAfterSeconds === null ? '' : `, it asks to come back in ${retryAfterSeconds} s`;
    super(`${endpoint} is not ready (HTTP ${status}${wait}).`);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** What was announced about a file is impossible for any file: nothing is asked for, nothing is waited for. */
export class ImpossibleAnnouncementError extends BillingError {
  readonly code = 'impossible-announcement';
  override readonly hint = 'tell the billing service: the file is loaded once an event announces it rightly';

  constructor(invoiceId: string, problem: string) {
    super(`Invoice ${invoiceId}: what was announced about its file is impossible (${problem}).`);
  }
}

/** A name leads to an address inside, where a URL of a stranger must not reach (hazard 39). */
export class AddressRefusedError extends BillingError {
  readonly code = 'address-refused';
  override readonly exitCode = EXIT.unreachable;

  constructor(host: string, address: string) {
    super(`${host} resolves to ${address}, which is not a public address.`, {
      hint: 'BILLSYNC_ALLOW_PRIVATE_HOSTS=true lets calls reach loopback and private addresses',
    });
  }
}

const WHY_NOT_ALLOWED = {
  'not-https': ': only https URLs are called.',
  'not-listed': ' is not among BILLSYNC_DOWNLOAD_HOSTS, so its URL is not used straight from a webhook.',
  port: ': of a public host only port 443 is called, unless BILLSYNC_DOWNLOAD_HOSTS names the host with its port.',
} as const;

/** A URL that may not be used as it is: straight from a webhook and not on the list, or not https. */
export class HostNotAllowedError extends BillingError {
  readonly code = 'host-not-allowed';
  override readonly exitCode = EXIT.unreachable;

  constructor(host: string, why: keyof typeof WHY_NOT_ALLOWED) {
    super(`${host}${WHY_NOT_ALLOWED[why]}`);
  }
}

/** Storage refused the presigned URL: expired, or never good (spec 8). */
export class UrlRefusedError extends BillingError {
  readonly code = 'url-refused';
  override readonly hint = 'a presigned URL is good for 24 hours; `billsync invoices retry` asks for another';

  constructor(host: string, status: number, reason: ErrorBody) {
    super(`${host} refused the presigned URL (${describe(status, reason)}).`);
  }
}

/** The bytes differ from the announcement (spec 6, rule 8). */
export class HashMismatchError extends BillingError {
  readonly code = 'hash-mismatch';
  override readonly exitCode = EXIT.rejected;
  override readonly hint = WHICH_IS_RIGHT;

  constructor(
    invoiceId: string,
    { expected, actual }: { readonly expected: string; readonly actual: string },
  ) {
    super(`Invoice ${invoiceId}: SHA-256 ${expected} was announced, the bytes have ${actual}.`);
  }
}

/** Fewer or more bytes than announced; after one too many nothing more is read. */
export class SizeMismatchError extends BillingError {
  readonly code = 'size-mismatch';
  override readonly exitCode = EXIT.rejected;
  override readonly hint = WHICH_IS_RIGHT;

  constructor(invoiceId: string, expectedBytes: number, actualBytes: number) {
    const found = actualBytes > expectedBytes ? `at least ${actualBytes}` : `${actualBytes}`;
    super(`Invoice ${invoiceId}: ${found} bytes arrived, ${expectedBytes} were announced.`);
  }
}

/** The service still has the file that we have; nothing was sent. */
export class NotModifiedError extends BillingError {
  readonly code = 'not-modified';

  constructor(invoiceId: string) {
    super(`The service has no other file of invoice ${invoiceId} than the one already known.`);
  }
}

/** The disk has no room for the file; nothing was kept of it. */
export class DiskFullError extends BillingError {
  readonly code = 'disk-full';
  override readonly exitCode = EXIT.checkFailed;

  /** @param bytes null when the disk got full on the way */
  constructor(
    folder: string,
    bytes: { readonly freeBytes: number; readonly needBytes: number } | null,
    cause?: unknown,
  ) {
    const mib = (count: number): string => (count / 1024 ** 2).toFixed(0);
    const counts =
      bytes === null ? '' : `: ${mib(bytes.freeBytes)} MiB are free, ${mib(bytes.needBytes)} MiB are needed`;
    super(`${folder}: no disk space left for a download${counts}.`, {
      cause,
      hint: 'free disk space; the download is then tried again',
    });
  }
}

function describe(status: number, { code, description }: ErrorBody): string {
  return [`HTTP ${status}`, code, description].filter((part) => part !== null && part !== '').join(', ');
}

function hintFor(systemCode: string | null): string {
  switch (systemCode) {
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
      return 'name the CA that signed its certificate in BILLSYNC_CA_FILE';
    case 'ENOTFOUND':
      return 'check the host name in BILLSYNC_BASE_URL and BILLSYNC_AUTH_URL';
    default:
      return 'check the address and the network, then `billsync doctor`';
  }
}

const WITHOUT_PROXY = 'NO_PROXY names hosts that are called without one';

function proxyTrouble(why: number | string | null): { readonly what: string; readonly hint: string } {
  if (why === 407) {
    return {
      what: 'asks for credentials (HTTP 407)',
      hint: 'write them into HTTPS_PROXY: http://USER:PASSWORD@HOST:PORT',
    };
  }
  if (typeof why === 'number' && why < 500) {
    return {
      what: `does not allow the connection (HTTP ${why})`,
      hint: `ask whoever runs the proxy that HTTPS_PROXY names to allow the hosts of the billing service; ${WITHOUT_PROXY}`,
    };
  }
  if (typeof why === 'number') {
    return {
      what: `did not reach the host (HTTP ${why})`,
      hint: `look at the proxy that HTTPS_PROXY names and at the network behind it; ${WITHOUT_PROXY}`,
    };
  }
  if (isClosed(why)) {
    return {
      what: 'closed the connection without an answer to CONNECT',
      hint: `look at the log of the proxy that HTTPS_PROXY names; ${WITHOUT_PROXY}`,
    };
  }
  if (why !== null && /TIMEOUT/.test(why)) {
    return {
      what: 'does not answer in time',
      hint: `check the address in HTTPS_PROXY and the network; ${WITHOUT_PROXY}`,
    };
  }
  return {
    what: `cannot be reached (${why ?? 'connection lost'})`,
    hint: `check the address in HTTPS_PROXY; ${WITHOUT_PROXY}`,
  };
}

function isClosed(why: number | string | null): boolean {
  return why === 'UND_ERR_SOCKET' || why === 'ECONNRESET' || why === 'EPIPE';
}
