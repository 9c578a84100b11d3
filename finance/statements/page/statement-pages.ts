import type { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { ZipFile } from 'yazl';
import type { Offered, PluginHost, PluginPages } from '../../../dashboard/plugin-pages.ts';
import { BillsyncError, EXIT, sentenceOf } from '../../../lib/errors.ts';
import { moneyColumn } from '../../../reports/cells.ts';
import { daysName, parsePeriod, shiftDay } from '../../../reports/period.ts';
import { money, stateBadge } from '../../../reports/render/html-cells.ts';
import { columnLabel, instantLabel, plural } from '../../../reports/render/labels.ts';
import { escapeAttribute, templatesIn } from '../../../reports/render/templates.ts';
import { checkFilters, DATE_BASES, type DateBasis } from '../../../reports/report-filters.ts';
import { listStatements, STATEMENT_STATES, type StatementList } from '../list-statements.ts';
import {
  type MadeStatement,
  makeStatements,
  type StatementSources,
  statementMonth,
} from '../make-statements.ts';
import { renderStatement, STATEMENT_FORMATS } from '../render-statement.ts';
import { keyOf, PAPERS, type Statement, StatementError, statementRefused } from '../statement.ts';
import { cellText, headOf, referencesOf, type StatementTable, tablesOf } from '../statement-tables.ts';

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
      tenant,
      period,
      by,
      bases: DATE_BASES,
      problem: null,
      content: null,
    };
    const send = (title: string, values: object, data: unknown): Promise<FastifyReply> =>
      host.send(reply, { title, html: eta.render('./statement', { ...page, ...values }), data });
    try {
      if (tenant === undefined) return await table(query, reply, host);
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
      const canReplace = host.operators !== null && found.state === 'sent before';
      return await send(
        'Statements',
        { content: contentOf(found, tenant), canReplace, key: keyOf(statement) },
        statement,
      );
    } catch (error) {
      if (!(error instanceof BillsyncError) || !STATUS.has(error.exitCode)) throw error;
      reply.code(STATUS.get(error.exitCode) ?? 400);
      const problem = sentenceOf(error);
      return send('Statements', { problem }, { error: problem });
    }
  }

  const monthOf = (query: Query) => ({
    period: statementMonth(one(query, 'period'), sources.now()),
    by: checkFilters({ by: one(query, 'by') }).by,
  });

  async function table(query: Query, reply: FastifyReply, host: PluginHost): Promise<FastifyReply> {
    const month = monthOf(query);
    const state = STATEMENT_STATES.find((each) => each === one(query, 'state'));
    const found = await listStatements({ ...sources, now: sources.now() }, month);
    const { from, to } = parsePeriod(month.period);
    const rows = found.listed
      .filter((each) => state === undefined || each.state === state)
      .map(({ key, statement, ...each }) => ({
        ...{ key, ...each, tenant: statement.tenant, totals: statement.totals },
        sent: statement.sent_at === null ? '' : instantLabel(statement.sent_at),
        canSend: each.state === 'draft' || each.state === 'incomplete',
        address: `${ADDRESS}?${new URLSearchParams({ tenant: statement.tenant_id ?? statement.tenant, ...month })}`,
      }));
    const html = eta.render('./statements', {
      ...{ ...month, state, rows, problem: found.problem, states: STATEMENT_STATES, bases: DATE_BASES },
      ...{ canAct: host.operators !== null, noOperator: host.noOperator, formats: STATEMENT_FORMATS },
      ...{ answer: answerOf(found, month.period), money, stateBadge, attribute: escapeAttribute },
      complete: found.listed.filter((each) => each.state === 'draft').length,
      ...{ before: shiftDay(from, -1).slice(0, 7), after: shiftDay(to, 1).slice(0, 7) },
    });
    const data = { ...month, statements: rows.map(({ canSend: _, ...row }) => row), problem: found.problem };
    return host.send(reply, { title: `Statements of ${daysName({ from, to })}`, html, data });
  }

  async function offerSending(form: URLSearchParams): Promise<Offered> {
    const month = monthOf(Object.fromEntries(form));
    const ticked = new Set(form.getAll('tenant'));
    const isReplaced = form.get('replace') === 'yes';
    const found = await listStatements({ ...sources, now: sources.now() }, month);
    const chosen = found.listed.filter(({ key, state }) => {
      if (isReplaced) return ticked.has(key) && (state === 'sent' || state === 'corrected');
      return form.get('all') === 'yes'
        ? state === 'draft'
        : ticked.has(key) && (state === 'draft' || state === 'incomplete');
    });
    if (chosen.length === 0) throw statementRefused('No statement that can be sent is ticked');
    const lacks = chosen.some(({ state, why }) => state === 'incomplete' || (isReplaced && why !== ''));
    const left = found.listed.filter(
      ({ state, key }) =>
        (state === 'draft' || state === 'incomplete') && !chosen.some((each) => each.key === key),
    );
    return {
      described: {
        title: `Send ${plural(chosen.length, 'statement')} of ${month.period}`,
        consequences: [
          ...chosen.map(
            ({ statement, why }) =>
              `${statement.tenant}: ${totalText(statement.totals)}${why === '' ? '' : `, without ${why}`}.`,
          ),
          'Each is stored as sent and does not change any more; later changes are corrections of the next one.',
        ],
        label: 'Send',
        reasonLabel: isReplaced
          ? 'Why it is replaced; the new one contains it'
          : lacks
            ? 'Why they are sent incomplete; they contain it'
            : 'Note',
        isReasonOptional: !lacks && !isReplaced,
        ...{
          command: 'statement --final',
          target: [month.period, ...chosen.map(({ statement }) => statement.tenant)],
        },
        back: `${ADDRESS}?${new URLSearchParams(month)}`,
      },
      async perform(reason) {
        const request = {
          ...{ tenants: [], partners: [], ...month, isFinal: true, withShipments: true },
          acceptIncomplete: lacks ? reason : null,
          replaceSent: isReplaced ? reason : null,
          only: left.length === 0 && !isReplaced ? undefined : new Set(chosen.map(({ key }) => key)),
        };
        let count = 0;
        const problem = await makeStatements(
          { ...sources, now: sources.now(), timeLimitMs: SEND_LIMIT_MS },
          request,
          async ({ state }) => {
            if (state === 'sent now') count += 1;
          },
        ).then(
          () => '',
          (error: unknown) => {
            if (!(error instanceof StatementError) || count === 0) throw error;
            return ` ${error.message}.`;
          },
        );
        return { detail: `${plural(count, 'statement')} of ${month.period} sent.${problem}`, next: null };
      },
    };
  }

  async function zip(query: Query, reply: FastifyReply): Promise<FastifyReply> {
    const month = monthOf(query);
    const { format, paper } = formatOf(query, one(query, 'format') ?? 'pdf');
    const file = new ZipFile();
    const output = file.outputStream as Readable;
    const request = { tenants: [], partners: [], ...month, isFinal: false, withShipments: true };
    makeStatements({ ...sources, now: sources.now(), timeLimitMs: SEND_LIMIT_MS }, request, async (made) => {
      for (const { name, body } of await renderStatement(made, format, paper))
        file.addBuffer(Buffer.from(body), name, { mtime: new Date(made.statement.published_at) });
    }).then(
      () => file.end(),
      // A file that is cut off is no ZIP, so nobody takes it for whole.
      (error: Error) => output.destroy(error),
    );
    return reply
      .type('application/zip')
      .header('content-disposition', attachment(`statements-${month.period}-${format}.zip`))
      .send(output);
  }

  return {
    address: ADDRESS,
    label: 'Statements',
    icon: 'log',
    group: 'Month end',
    rows: null,
    register(app, host) {
      app.get(ADDRESS, (request, reply) => answer(request.query as Query, reply, host));
      app.get(`${ADDRESS}/zip`, (request, reply) => zip(request.query as Query, reply));
      const { operators } = host;
      operators?.post(`${ADDRESS}/send`, (form, request, reply) =>
        operators.offer(reply, request.operator, () => offerSending(form)),
      );
    },
  };
}

/** Sending has the time limit that the command has by default. */
const SEND_LIMIT_MS = 600_000;

function totalText(totals: Statement['totals']): string {
  return totals.length === 0
    ? 'nothing billed'
    : totals
        .map((total) => `${cellText({ ...total }, moneyColumn('total'))} ${total.currency_code}`)
        .join(', ');
}

function answerOf({ listed }: StatementList, period: string): string {
  if (listed.length === 0) return `Nothing was billed to a tenant in ${daysName(parsePeriod(period))}.`;
  const counts = STATEMENT_STATES.flatMap((state) => {
    const count = listed.filter((each) => each.state === state).length;
    return count === 0 ? [] : [`${count} ${state}`];
  });
  return `${plural(listed.length, 'tenant')}: ${counts.join(', ')}.`;
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
    head: [...headOf(statement), ...referencesOf(statement)],
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
        ...{ text: cellText(row, column), align: column.align },
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
