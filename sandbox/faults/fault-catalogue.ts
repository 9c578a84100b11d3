export const PLACES = [
  'token',
  'ping',
  'regenerate',
  'details',
  'export-csv',
  'storage',
  'event',
  'delivery',
  'export',
] as const;
export type Place = (typeof PLACES)[number];

export interface FaultDefinition {
  readonly description: string;
  readonly places: readonly Place[];
  /** Where the fault strikes when its rule names no endpoint. */
  readonly defaultPlaces: readonly Place[];
  readonly params: Readonly<Record<string, string | number | boolean>>;
}

const API: readonly Place[] = ['token', 'ping', 'regenerate', 'details', 'export-csv'];
const HTTP: readonly Place[] = [...API, 'storage'];
const FILES: readonly Place[] = ['storage', 'export-csv'];

function fault(
  description: string,
  places: readonly Place[],
  { at = places, params = {} }: { at?: readonly Place[]; params?: FaultDefinition['params'] } = {},
): FaultDefinition {
  return { description, places, defaultPlaces: at, params };
}

export const FAULTS = {
  duplicate: fault('the same event is delivered again', ['delivery'], { params: { times: 1, delayMs: 0 } }),
  reorder: fault(
    'a delivery waits until a later event of the same invoice has been delivered, at most delayMs',
    ['delivery'],
    { params: { delayMs: 5_000 } },
  ),
  delay: fault('the answer or delivery is late', [...HTTP, 'delivery'], {
    at: ['delivery'],
    params: { delayMs: 2_000 },
  }),
  drop: fault('a delivery is never sent', ['delivery']),
  'wrong-hash': fault('the announced SHA-256 is not that of the file', ['event', 'regenerate']),
  'wrong-size': fault('the announced size is off', ['event', 'regenerate'], { params: { by: 1 } }),
  'corrupt-body': fault('one byte of the body is another', FILES, { at: ['storage'] }),
  'cut-off-body': fault(
    'the answer ends after a share of its bytes; clean leaves out Content-Length and ends it in order',
    [...HTTP, 'delivery'],
    { at: ['storage'], params: { share: 0.5, clean: false } },
  ),
  'slow-drip': fault('the body comes a few bytes at a time', HTTP, {
    at: ['storage'],
    params: { bytes: 1, everyMs: 100 },
  }),
  'no-content-length': fault('the length is not announced', HTTP, { at: FILES }),
  gzip: fault('the body is compressed without a request for it', HTTP, { at: FILES }),
  redirect: fault('the answer is a redirect', HTTP, {
    at: ['storage'],
    params: { status: 302, location: 'https://127.0.0.1:9/elsewhere' },
  }),
  'expired-url': fault(
    'the presigned URL has expired already; silent announces a later expiry',
    ['event', 'regenerate'],
    { at: ['event'], params: { silent: false } },
  ),
  'clock-skew': fault(
    'the instants that the service writes are hours off; URLs expire by the right clock',
    ['event', 'regenerate'],
    { params: { hours: 2 } },
  ),
  unauthorized: fault('a valid token is refused with 401 invalid_token', HTTP, {
    at: ['ping', 'regenerate', 'details', 'export-csv'],
  }),
  forbidden: fault('the answer is 403', HTTP, { at: ['storage'] }),
  'too-many-requests': fault('the answer is 429 with Retry-After', HTTP, {
    params: { retryAfterSeconds: 1 },
  }),
  unavailable: fault('the answer is 503 with Retry-After', HTTP, { params: { retryAfterSeconds: 1 } }),
  'server-error': fault('the answer is 500', HTTP),
  'bad-request': fault('the answer is 400 with error details', HTTP, { at: ['regenerate'] }),
  'not-found': fault('the answer is 404; with forMs, for a while', HTTP, { at: ['regenerate'] }),
  'export-failure': fault('the export fails: no finalized event, regenerate 404 (spec 6.6)', ['export']),
  'connection-reset': fault('the connection is reset before an answer', [...HTTP, 'delivery'], { at: HTTP }),
  'execute-then-drop': fault(
    'the work is done, the answer is lost; a delivery arrives and counts as unanswered',
    [...HTTP, 'delivery'],
    { at: API },
  ),
  hang: fault('no answer ever comes', HTTP),
  'html-body': fault('200 with an HTML page', HTTP, { at: ['storage'] }),
  'wrong-totals': fault('total and count of the header differ from the rows', ['event'], {
    params: { amountBy: '1.00', countBy: 1 },
  }),
  'other-currency': fault('the header names another currency than the rows', ['event'], {
    params: { currencyCode: 'GBP' },
  }),
  'malformed-csv': fault('the file is broken, its hash is right; random draws a kind', ['export'], {
    params: { kind: 'random' },
  }),
  'partner-level-double': fault('a partner-level invoice bills the same shipments again', ['export']),
  'unknown-event-type': fault('a further event with an unknown type', ['event'], {
    params: { eventType: 'invoice_adjusted' },
  }),
  'repeated-event-id': fault('the event has the id of every other event with this fault', ['event']),
  'schema-v2': fault('the event has payloadSchemaVersion v2 and another shape of total', ['event']),
} as const satisfies Record<string, FaultDefinition>;

export type FaultName = keyof typeof FAULTS;
export const FAULT_NAMES = Object.keys(FAULTS) as FaultName[];

const ALIASES: Readonly<Record<string, FaultName>> = {
  '400': 'bad-request',
  '401': 'unauthorized',
  '403': 'forbidden',
  '404': 'not-found',
  '429': 'too-many-requests',
  '500': 'server-error',
  '503': 'unavailable',
  timeout: 'hang',
};

/** Spelt in any way (`No Content-Length`), or by the status of its answer (`429`). */
export function findFault(text: string): FaultName | null {
  const name = text
    .trim()
    .toLowerCase()
    .replaceAll(/[\s_]+/g, '-');
  return ALIASES[name] ?? FAULT_NAMES.find((one) => one === name) ?? null;
}
