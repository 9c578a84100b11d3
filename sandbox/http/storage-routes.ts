import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Account } from '../account.ts';
import { CSV_CONTENT_TYPE } from '../choices.ts';
import type { ExportFile, Invoice } from '../model.ts';
import { refusePresigned } from '../storage/presigned.ts';
import { type Answer, answer, storageError } from './answer.ts';

export interface StorageRoutesOptions {
  readonly account: Account;
  readonly signingSecret: string;
}

export function storageRoutes(app: FastifyInstance, { account, signingSecret }: StorageRoutesOptions): void {
  app.route<{ Params: { '*': string } }>({
    method: ['GET', 'HEAD'],
    url: '/*',
    handler: async (request, reply) => {
      const key = request.params['*'];
      const object = await account.billing.exports.stored(key);
      const moment =
        object === null ? { place: 'storage' as const } : account.billing.moment('storage', object.invoice);
      return answer({ account, moment, reply }, () => readObject(account, signingSecret, request, object));
    },
  });
  // The framework's own answer repeats the address, whose query is a key.
  app.setNotFoundHandler((_request, reply) => {
    const { status, headers, body } = storageError(
      405,
      'MethodNotAllowed',
      'The specified method is not allowed against this resource.',
      { allow: 'GET, HEAD' },
    );
    return reply
      .code(status)
      .headers(headers ?? {})
      .send(body);
  });
}

type StoredObject = { readonly invoice: Invoice; readonly file: ExportFile };

function readObject(
  account: Account,
  signingSecret: string,
  request: FastifyRequest<{ Params: { '*': string } }>,
  object: StoredObject | null,
): Answer {
  const { headers, params, query } = request;
  if (headers.authorization !== undefined) {
    return storageError(
      400,
      'InvalidArgument',
      'Only one auth mechanism allowed: the query of the presigned URL.',
    );
  }
  const refusal = refusePresigned(query as Record<string, unknown>, {
    signingSecret,
    key: params['*'],
    now: account.now(),
  });
  if (refusal !== null) return storageError(403, refusal.code, refusal.message);
  if (object === null) return storageError(404, 'NoSuchKey', 'The specified key does not exist.');
  return serve(account, request, object);
}

function serve(account: Account, { headers }: FastifyRequest, { invoice, file }: StoredObject): Answer {
  const etag = `"${file.sha256.slice(0, 32)}"`;
  const common = { etag, 'accept-ranges': 'bytes', 'content-type': CSV_CONTENT_TYPE };
  if (headers['if-none-match'] === etag) return { status: 304, headers: { etag }, body: '' };
  const isStale = headers['if-range'] !== undefined && headers['if-range'] !== etag;
  const range = isStale ? 'all' : readRange(headers.range, file.sizeBytes);
  const body = account.billing.exports.read(invoice, file);
  if (range === 'all') return { status: 200, headers: common, body, length: file.sizeBytes };
  if (range === 'unsatisfiable') {
    return storageError(416, 'InvalidRange', 'The requested range is not satisfiable', {
      'content-range': `bytes */${file.sizeBytes}`,
    });
  }
  return {
    status: 206,
    headers: { ...common, 'content-range': `bytes ${range.from}-${range.to}/${file.sizeBytes}` },
    body: slice(body, range.from, range.to),
    length: range.to - range.from + 1,
  };
}

type Range = { readonly from: number; readonly to: number };

/** Anything but one range is answered whole, as RFC 9110 allows. */
function readRange(header: string | undefined, size: number): Range | 'all' | 'unsatisfiable' {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header ?? '');
  if (match === null || (match[1] === '' && match[2] === '')) return 'all';
  const [, first = '', last = ''] = match;
  const from = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  const to = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1);
  return from > to ? 'unsatisfiable' : { from, to };
}

function* slice(chunks: Iterable<Buffer>, from: number, to: number): Generator<Buffer> {
  let at = 0;
  for (const chunk of chunks) {
    const part = chunk.subarray(Math.max(0, from - at), Math.max(0, to + 1 - at));
    at += chunk.length;
    if (part.length > 0) yield part;
    if (at > to) return;
  }
}
