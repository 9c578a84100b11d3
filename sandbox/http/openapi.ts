/** The OpenAPI document of the admin API, made from the table of its operations. */
import type { Operation } from './operations/operation.ts';

export function openapiDocument(operations: readonly Operation[]): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const operation of operations) {
    paths[operation.path] = {
      ...paths[operation.path],
      [operation.method.toLowerCase()]: describe(operation),
    };
  }
  paths['/connection'] = {
    get: describe({
      id: 'connection',
      path: '/connection',
      summary: 'What a client of this account has to know: addresses and credentials',
    }),
  };
  paths['/billed-shipments'] = {
    get: streamOf('billedShipments', 'Every row as billed, a JSON object a line: the truth to prove against'),
  };
  paths['/activity/follow'] = {
    get: streamOf('followActivity', 'What happens from now on, a JSON object a line, until you leave'),
  };
  return {
    openapi: '3.1.0',
    info: {
      title: 'Billing sandbox: admin API',
      version: '1',
      description:
        'What a person does in the billing application. /production/admin serves the other account.',
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
    description: 'What was refused, and why',
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
