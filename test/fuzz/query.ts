/**
 * Any query string at the dashboard: its filters are read or refused with a message, an address made of them gives the same filters,
 * and some are sent to the real page, which contains no markup of the query.
 */

import fastify from 'fastify';
import { pino } from 'pino';
import { Agent, request } from 'undici';
import { allValues, lastValue, pageNumber, type Query, withQuery } from '../../dashboard/address.ts';
import { isInvalid } from '../../dashboard/pages/reports.ts';
import { shortName } from '../../lib/text.ts';
import { listReports, type ReportDefinition } from '../../reports/catalogue.ts';
import { dashboardOver } from '../dashboard/support.ts';
import { hostileText } from '../security/hostile/json.ts';
import type { Random } from '../support/random.ts';
import { reportsFixture } from '../support/reports-fixture.ts';
import { seededInvoices } from '../support/seeded-invoices.ts';
import type { FuzzRun } from './fuzz-targets.ts';

export const summary = 'query strings of the dashboard: filters, parameters, pages';

export const quickCases = 500;

const PAGES = 1 / 500;
const PLANTED = '<i>planted';

export async function open(): Promise<FuzzRun> {
  const reports = listReports();
  const fixture = await reportsFixture(seededInvoices(8, 60));
  const failures: string[] = [];
  const dashboard = await dashboardOver(fixture.path, {
    ...{ streamAfterMs: 20_000, timeLimitMs: 10_000 },
    log: pino({ level: 'error' }, { write: (line: string) => failures.push(line) }),
  });
  const agent = new Agent({ connections: 1 });
  let read: Query = {};
  const parser = fastify().get('/*', async (request) => {
    read = request.query as Query;
    return '';
  });
  const parsed = async (text: string): Promise<Query> => {
    await parser.inject(`/x?${text}`);
    return read;
  };

  return {
    async play(random) {
      const report = random.pick(reports);
      const text = queryText(random, report);
      const query = await parsed(text);
      isInvalid(report, query);
      const page = pageNumber(query);
      if (!Number.isSafeInteger(page) || page < 1 || page > 100_000) throw new Error(`Page ${page}.`);
      await comesBack(query);
      if (random.chance(PAGES)) await look(pageOf(random, report), text);
    },
    async close() {
      await agent.destroy();
      await dashboard.close();
      await fixture.remove();
    },
  };

  /** The addresses of the next page and of the downloads are made of what was read. */
  async function comesBack(query: Query): Promise<void> {
    const again = await parsed(withQuery('/x', query, { page: '2' }).slice('/x?'.length));
    if (lastValue(again, 'page') !== '2') throw new Error('The next page is another one.');
    for (const name of Object.keys(query)) {
      if (name === 'page') continue;
      const wanted = allValues(query, name).filter((value) => value !== '' || name === 'zone');
      const found = allValues(again, name);
      // A long name is in an address by its beginning and a hash, from which the page finds it.
      const isSame = (value: string, nth: number) => found[nth] === value || found[nth] === shortName(value);
      if (found.length !== wanted.length || !wanted.every(isSame)) {
        throw new Error(
          `${JSON.stringify(name)}: ${JSON.stringify(wanted)} became ${JSON.stringify(found)}.`,
        );
      }
    }
  }

  async function look(path: string, text: string): Promise<void> {
    const { statusCode, body } = await request(`${dashboard.url}${path}?${text}`, { dispatcher: agent });
    const html = await body.text();
    const failure = failures.splice(0)[0];
    if (failure !== undefined) throw new Error(`${path}?${text}: ${failure}`);
    if (statusCode !== 200 && statusCode !== 400) throw new Error(`${path}?${text} is ${statusCode}.`);
    if (html.includes(PLANTED) && !path.endsWith('/download')) throw new Error(`${path}?${text} has markup.`);
  }
}

function pageOf(random: Random, { name }: ReportDefinition): string {
  return random.pick([
    '/',
    '/invoices',
    '/invoices',
    '/events',
    `/reports/${name}`,
    `/reports/${name}`,
    `/reports/${name}/download`,
  ]);
}

const FIELDS = [
  ...['from', 'to', 'by', 'level', 'as_known_on', 'partner', 'tenant', 'carrier', 'zone', 'currency'],
  ...['state', 'search', 'sort', 'page', 'verdict', 'type', 'format'],
];
const LIKELY = [
  ...['2026-02-01', '2026-03-01', '0001-01-01', '9999-12-31', '0000-01-01', '2026-02-30', '-000001-01-01'],
  ...[
    '9999-12-31T23:59:59-14:00',
    '0000-01-01T00:00:00+14:00',
    '2026-03-01T24:00:00Z',
    '2026-03-01T12:00:00Z',
  ],
  ...[
    'invoice-date',
    'ship-date',
    'tenant',
    'partner',
    'all',
    'loaded',
    'cost',
    'csv',
    'xlsx',
    'html',
    'json',
  ],
  ...['USD', 'Acme', '1', '0', '-1', '100000', '100001', '1e5', '999999999', '99999999999999.9999', '', ' '],
  ...[`${PLANTED}</i>`, `">${PLANTED}`, `'${PLANTED}`, '=1+1', '%', '_', '\\', "'", '\r\nset-cookie: a=b'],
];
const RAW = [
  '%',
  '%zz',
  '%ff',
  '%00',
  '%ed%a0%80',
  '%E2%80%AE',
  '&',
  '=',
  '+',
  '[]',
  '.',
  ';',
  '#',
  '%26',
  '%3D',
];

/** Legal in an address, and nothing more is promised of it. */
function queryText(random: Random, { parameters }: ReportDefinition): string {
  const own = parameters.map(({ name }) => `p_${name}`);
  const parts = Array.from(
    { length: random.chance(0.01) ? random.between(50, 1_200) : random.between(0, 6) },
    () => {
      const name = random.chance(0.9)
        ? random.pick([...FIELDS, ...own])
        : random.pick(['__proto__', 'length', 'p_', '']);
      return `${name}=${value(random)}`;
    },
  );
  if (random.chance(0.2))
    parts.splice(random.between(0, parts.length), 0, random.pick(RAW).repeat(random.between(1, 9)));
  return parts.join('&').slice(0, 14_000);
}

function value(random: Random): string {
  if (random.chance(0.1)) return random.pick(RAW);
  const text = random.chance(0.7) ? random.pick(LIKELY) : hostileText(random);
  return encodeURIComponent(text.toWellFormed());
}
