import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Account } from '../account.ts';
import { billedRows } from '../billed-rows.ts';
import type { AccountRoutes } from '../page/page-routes.ts';
import { RefusalError, refuse } from '../refusal.ts';
import { thisMachineOnly } from '../security/this-machine-only.ts';
import { ACCOUNT_OPERATIONS } from './operations/account-operations.ts';
import { FAULT_OPERATIONS } from './operations/fault-operations.ts';
import { INVOICE_OPERATIONS } from './operations/invoice-operations.ts';
import type { Call, Operation, QuerySchema } from './operations/operation.ts';
import { DELIVERY_OPERATIONS, REGISTRATION_OPERATIONS } from './operations/registration-operations.ts';
import { SCHEDULE_OPERATIONS } from './operations/schedule-operations.ts';

export const OPERATIONS: readonly Operation[] = [
  ...ACCOUNT_OPERATIONS,
  ...INVOICE_OPERATIONS,
  ...REGISTRATION_OPERATIONS,
  ...SCHEDULE_OPERATIONS,
  ...DELIVERY_OPERATIONS,
  ...FAULT_OPERATIONS,
];

const NDJSON = 'application/x-ndjson; charset=utf-8';

export function adminRoutes(app: FastifyInstance, { account, connection, access }: AccountRoutes): void {
  acceptJson(app);
  app.addHook('onRequest', thisMachineOnly(access));
  app.addHook('onRequest', async (request, reply) => {
    const { origin, host } = request.headers;
    if (origin !== undefined && origin !== `https://${host}`) {
      await reply.code(403).send({ error: 'forbidden', error_description: 'Another origin called.' });
    }
  });
  app.addHook('onSend', async () => account.store.flush());
  app.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => sendError(error, reply));

  for (const { method, path, query, body, status, run } of OPERATIONS) {
    app.route({
      method,
      url: path.replaceAll(/\{(\w+)\}/g, ':$1'),
      schema: body === undefined ? {} : { body },
      // A missing body means the same as an empty one.
      preValidation: async (request) => {
        request.body ??= {};
      },
      handler: async (request, reply) => {
        const result = await run(account, {
          params: request.params as Call['params'],
          query: readQuery(query ?? {}, request.query as Record<string, unknown>),
          body: request.body,
        });
        return status === 204 ? reply.code(204).send() : reply.code(status ?? 200).send(result);
      },
    });
  }

  app.get('/connection', async () => connection());
  app.get('/openapi.json', async () => openapiDocument());
  app.get('/billed-shipments', (_request, reply) =>
    reply.type(NDJSON).send(Readable.from(jsonLines(billedRows(account)))),
  );
  app.get('/activity/follow', (_request, reply) => followActivity(account, reply));
}

/** Every body is JSON, whatever its content type. */
function acceptJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => {
    try {
      done(null, body === '' ? {} : JSON.parse(String(body)));
    } catch (error) {
      done(new RefusalError('invalid_request', `The body is no JSON: ${(error as Error).message}`));
    }
  });
}

/** Unknown query parameters are refused, so that a misspelt filter is noticed. */
function readQuery(
  schemas: Readonly<Record<string, QuerySchema>>,
  query: Record<string, unknown>,
): Call['query'] {
  const read: Record<string, string | number> = {};
  for (const [name, value] of Object.entries(query)) {
    const schema = schemas[name];
    if (schema === undefined) refuse(`There is no query parameter "${name}".`);
    const isWhole = schema.type !== 'integer' || /^\d{1,9}$/.test(String(value));
    if (
      typeof value !== 'string' ||
      !isWhole ||
      (schema.enum !== undefined && !schema.enum.includes(value))
    ) {
      refuse(`The query parameter ${name} cannot be "${value}".`);
    }
    read[name] = schema.type === 'integer' ? Number(value) : value;
  }
  return read;
}

function sendError(error: Error & { statusCode?: number }, reply: FastifyReply) {
  if (error instanceof RefusalError) {
    return reply.code(error.httpStatus).send({ error: error.code, error_description: error.message });
  }
  const status = error.statusCode ?? 500;
  const code = status < 500 ? 'invalid_request' : 'internal_error';
  return reply.code(status).send({ error: code, error_description: error.message });
}

async function* jsonLines(values: AsyncIterable<object>): AsyncGenerator<string> {
  let text = '';
  for await (const value of values) {
    text += `${JSON.stringify(value)}\n`;
    if (text.length < 32 * 1024) continue;
    yield text;
    text = '';
  }
  yield text;
}

/** Stays open until the reader disconnects. */
function followActivity({ activity }: Account, reply: FastifyReply): void {
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(200, { 'content-type': NDJSON });
  raw.flushHeaders();
  const stop = activity.follow((line) => void raw.write(`${JSON.stringify(line)}\n`));
  raw.on('close', stop);
}

function openapiDocument(): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const operation of OPERATIONS) {
    paths[operation.path] = {
      ...paths[operation.path],
      [operation.method.toLowerCase()]: describe(operation),
    };
  }
  paths['/connection'] = {
    get: describe({
      id: 'connection',
      path: '/connection',
      summary: 'Addresses and credentials of this account',
    }),
  };
  paths['/billed-shipments'] = {
    get: streamOf('billedShipments', 'Every row as billed, a JSON object a line: the truth to prove against'),
  };
  paths['/activity/follow'] = {
    get: streamOf(
      'followActivity',
      'Activity from now on, a JSON object a line, until the reader disconnects',
    ),
  };
  return {
    openapi: '3.1.0',
    info: {
      title: 'Billing sandbox: admin API',
      version: '1',
      description: 'The actions of the billing application. /production/admin serves the other account.',
    },
    servers: [{ url: '/admin' }, { url: '/production/admin' }],
    paths,
    components: {
      schemas: {
        Error: {
          type: 'object',
          properties: { error: { type: 'string' }, error_description: { type: 'string' } },
          required: ['error', 'error_description'],
        },
      },
    },
  };
}

type Described = Pick<Operation, 'id' | 'path' | 'summary' | 'query' | 'body' | 'status'>;

function describe({ id, path, summary, query, body, status }: Described): object {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  const inQuery = Object.entries(query ?? {}).map(([name, schema]) => ({ name, in: 'query', schema }));
  const content = { 'application/json': { schema: {} } };
  const problem = {
    description: 'The refusal with its reason',
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
  };
  return {
    operationId: id,
    summary,
    parameters: [...inPath, ...inQuery],
    ...(body === undefined ? {} : { requestBody: { content: { 'application/json': { schema: body } } } }),
    responses: {
      [status ?? 200]: status === 204 ? { description: 'Done' } : { description: 'Done', content },
      '4XX': problem,
    },
  };
}

function streamOf(operationId: string, summary: string): object {
  const response = { description: 'A line each', content: { 'application/x-ndjson': { schema: {} } } };
  return { operationId, summary, responses: { 200: response } };
}
