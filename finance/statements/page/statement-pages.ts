/** Shows statements and sends none; `--final` does. */

import type { FastifyReply } from 'fastify';
import type { PluginHost, PluginPages } from '../../../dashboard/plugin-pages.ts';
import { BillsyncError, EXIT, sentenceOf } from '../../../lib/wire/errors.ts';
import { cellLabel, columnLabel } from '../../../reports/render/labels.ts';
import { templatesIn } from '../../../reports/render/templates.ts';
import { checkFilters, DATE_BASES, type DateBasis } from '../../../reports/report-filters.ts';
import { openBilledSession } from '../billed.ts';
import {
  type MadeStatement,
  makeStatements,
  type StatementSources,
  statementMonth,
} from '../make-statements.ts';
import { renderStatement, STATEMENT_FORMATS } from '../render-statement.ts';
import { PAPERS, statementRefused, tenantOf } from '../statement.ts';
import { headOf, type StatementTable, tablesOf } from '../statement-tables.ts';

const ADDRESS = '/statements';
const eta = templatesIn(new URL('.', import.meta.url));

type Query = Readonly<Record<string, string | readonly string[] | undefined>>;

type Sources = Omit<StatementSources, 'now'> & { readonly now: () => Date };

export function statementPages(sources: Sources): PluginPages {
  async function answer(query: Query, reply: FastifyReply, host: PluginHost): Promise<FastifyReply> {
    const tenant = one(query, 'tenant');
    const period = one(query, 'period') ?? statementMonth(undefined, sources.now());
    const format = one(query, 'format');
    const by = one(query, 'by');
    const page = {
      tenants: await tenantsIn(sources),
      tenant,
      period,
      by,
      bases: DATE_BASES,
      problem: null,
      content: null,
    };
    const send = (title: string, values: object, data: unknown): Promise<FastifyReply> =>
      host.send(reply, { title, html: eta.render('./statement', { ...page, ...values }), data });
    if (tenant === undefined) return send('Statements', {}, { tenants: page.tenants });
    try {
      const wanted = format === undefined || format === 'json' ? null : formatOf(query, format);
      const found = await statementOf(sources, {
        tenant,
        period: statementMonth(period, sources.now()),
        by: checkFilters({ by }).by,
      });
      const [first, lines] = wanted === null ? [] : await renderStatement(found, wanted.format, wanted.paper);
      const file = wanted?.isLines ? lines : first;
      if (file !== undefined)
        return reply
          .type(file.contentType)
          .header('content-disposition', attachment(file.name))
          .send(typeof file.body === 'string' ? file.body : Buffer.from(file.body));
      const { statement } = found;
      return await send('Statements', { content: contentOf(found, tenant) }, statement);
    } catch (error) {
      if (!(error instanceof BillsyncError) || !STATUS.has(error.exitCode)) throw error;
      reply.code(STATUS.get(error.exitCode) ?? 400);
      const problem = sentenceOf(error);
      return send('Statements', { problem }, { error: problem });
    }
  }

  return {
    address: ADDRESS,
    label: 'Statements',
    icon: 'log',
    rows: null,
    register(app, host) {
      app.get(ADDRESS, (request, reply) => answer(request.query as Query, reply, host));
    },
  };
}

async function statementOf(
  sources: Sources,
  { tenant, ...of }: { readonly tenant: string; readonly period: string; readonly by: DateBasis },
): Promise<MadeStatement> {
  const found: MadeStatement[] = [];
  await makeStatements(
    { ...sources, now: sources.now() },
    { tenants: [tenant], partners: [], ...of, isFinal: false, withShipments: true },
    async (each) => void found.push(each),
  );
  const [made] = found;
  if (made === undefined) throw new Error('A tenant that is named has a statement.');
  return made;
}

async function tenantsIn({ databasePath, timeLimitMs }: Sources) {
  const session = await openBilledSession({ databasePath, timeLimitMs, tenants: [], partners: [] });
  try {
    return (await session.tenants()).map(tenantOf).map(({ tenant, tenant_id }) => ({
      value: tenant_id ?? tenant,
      label: tenant,
    }));
  } finally {
    session.close();
  }
}

const STATUS: ReadonlyMap<number, number> = new Map([
  [EXIT.usage, 400],
  [EXIT.nothingMatched, 404],
  [EXIT.checkFailed, 503],
]);

/** `shipments`: the file beside a PDF or a CSV. @throws StatementError unknown format or paper */
function formatOf(query: Query, name: string) {
  const format = STATEMENT_FORMATS.find((each) => each === (name === 'shipments' ? 'csv' : name));
  if (format === undefined)
    throw statementRefused(
      `There is no format "${name}" of statements`,
      `use json, shipments, ${STATEMENT_FORMATS.join(', ')}`,
    );
  const paper = PAPERS.find((each) => each === (one(query, 'paper') ?? 'a4'));
  if (paper === undefined) throw statementRefused('There is no such paper', `use ${PAPERS.join(', ')}`);
  return { format, paper, isLines: name === 'shipments' };
}

/** RFC 6266: a header has no other letters than those of ASCII. */
function attachment(name: string): string {
  const plain = name.replace(/[^ -~]+/g, '_');
  return `attachment; filename="${plain}"; filename*=UTF-8''${encodeURIComponent(name)}`;
}

function contentOf({ statement, shipments, state }: MadeStatement, tenant: string) {
  const address = (more: Readonly<Record<string, string>>): string =>
    `${ADDRESS}?${new URLSearchParams({ tenant, period: statement.period, by: statement.by, ...more })}`;
  return {
    title: `${state === 'draft' ? 'Draft statement' : 'Statement'} of ${statement.period}, ${statement.tenant}`,
    head: headOf(statement),
    tables: tablesOf(statement).map(cellsOf),
    limits: statement.limits,
    downloads: [
      { label: 'PDF, A4', address: address({ format: 'pdf', paper: 'a4' }) },
      { label: 'PDF, Letter', address: address({ format: 'pdf', paper: 'letter' }) },
      { label: 'Excel', address: address({ format: 'xlsx' }) },
      { label: 'CSV', address: address({ format: 'csv' }) },
      ...(shipments === null
        ? []
        : [{ label: 'Shipments (CSV)', address: address({ format: 'shipments' }) }]),
    ],
  };
}

function cellsOf({ title, about, columns, rows }: StatementTable) {
  return {
    ...{ title, about },
    columns: columns.map((column) => ({ label: columnLabel(column), align: column.align })),
    rows: rows.map((row) =>
      columns.map((column) => ({
        ...{ text: cellLabel(row[column.name] ?? null, column), align: column.align },
        address: column.name === 'invoice_number' ? `/invoices/${row.invoice_id}` : null,
      })),
    ),
  };
}

function one(query: Query, name: string): string | undefined {
  const value = query[name];
  const last = typeof value === 'string' ? value : value?.at(-1);
  return last === '' ? undefined : last;
}
