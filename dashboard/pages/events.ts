import type { FastifyInstance } from 'fastify';
import { EVENT_TYPES } from '../../lib/wire/names.ts';
import { lastValue, pageNumber, pagesBeside, type Query, withQuery } from '../address.ts';
import {
  asOfNow,
  type PageContext,
  type PublishedPage,
  readPublished,
  sendPublished,
} from '../page-context.ts';

const ROWS_ON_A_PAGE = 100;
const VERDICTS = ['accepted', 'test', 'quarantined'];

export function registerEvents(app: FastifyInstance, context: PageContext): void {
  app.get('/events', (request, reply) =>
    sendPublished(context, reply, () => listPage(context, request.query as Query)),
  );
}

async function listPage(context: PageContext, query: Query): Promise<PublishedPage> {
  const page = pageNumber(query);
  const filters = {
    verdict: lastValue(query, 'verdict') ?? null,
    type: lastValue(query, 'type') ?? null,
    search: lastValue(query, 'search') ?? null,
  };
  const { rows, asOf } = await readPublished(context, async (run) => ({
    rows: await run('events', { ...filters, limit: ROWS_ON_A_PAGE, offset: (page - 1) * ROWS_ON_A_PAGE }),
    asOf: await asOfNow(run),
  }));
  const found = Number(rows[0]?.found ?? 0);
  const beside = pagesBeside(page, page * ROWS_ON_A_PAGE >= found, (number) =>
    withQuery('/events', query, { page: number }),
  );
  return {
    ...{ asOf, view: 'events', title: 'Events', section: '/events' },
    data: { found, rows: rows.map(({ found: _, ...row }) => row), next: beside.next },
    values: { ...filters, rows, found, verdicts: VERDICTS, types: EVENT_TYPES, ...beside },
  };
}
