import { Readable } from 'node:stream';
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { billedRows } from '../billed-rows.ts';
import type { AccountRoutes } from '../page/page-routes.ts';
import { RefusalError } from '../refusal.ts';
import { thisMachineOnly } from '../security/this-machine-only.ts';
import { described, registerOperation } from './admin/operation.ts';
import { OPERATIONS } from './admin/operations.ts';

export async function adminRoutes(
  app: FastifyInstance,
  { account, connection, access }: AccountRoutes,
): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: `Billing sandbox: admin API of the ${account.environment} account`,
        version: '1',
        description:
          'Everything that can be done in the billing application, and faults. The commands of `billsync sandbox` call the same operations.',
      },
    },
  });
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

  // A request without a body means the same as one with an empty object.
  app.addHook('preValidation', async (request) => {
    request.body ??= {};
  });
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    // The panels of the interactive page set styles of their own elements.
    staticCSP:
      "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; form-action 'self'; " +
      "base-uri 'none'; frame-ancestors 'none'",
    uiConfig: { docExpansion: 'list', tryItOutEnabled: true },
    theme: { title: 'Billing sandbox: admin API' },
  });
  for (const operation of OPERATIONS) registerOperation(app, operation, { account, connection });
  const schema = (about: string) => ({ schema: described('Account', about) });
  app.get('/openapi.json', schema('this document'), async () => app.swagger());
  app.get(
    '/billed-shipments',
    schema('every row as billed, a JSON object a line, whatever faults changed in files and events'),
    (_request, reply) =>
      reply.type('application/x-ndjson; charset=utf-8').send(Readable.from(jsonLines(billedRows(account)))),
  );
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
