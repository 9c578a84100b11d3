import { buffer } from 'node:stream/consumers';
import type { FastifyReply } from 'fastify';
import { ZipFile } from 'yazl';
import type { Offered, PluginHost, PluginPages } from '../../dashboard/plugin-pages.ts';
import { type BillsyncError, EXIT } from '../../lib/errors.ts';
import { listReports } from '../../reports/catalogue.ts';
import { gapKey, openGaps, readGapAnswers, recordGapDecision } from '../../reports/gap-answers.ts';
import { daysName, parsePeriod, shiftDay } from '../../reports/period.ts';
import { money } from '../../reports/render/html-cells.ts';
import { fileNameOf, grouped, instantLabel, plural } from '../../reports/render/labels.ts';
import { renderReport } from '../../reports/render/render-report.ts';
import { templatesIn } from '../../reports/render/templates.ts';
import { checkFilters, DATE_BASES } from '../../reports/report-filters.ts';
import { runReport } from '../../reports/report-session.ts';
import { statementMonth } from '../statements/make-statements.ts';
import { BEING_READ, type Checklist, type ClosingSources, checklistOf } from './checklist.ts';
import { closingOf, MonthError, recordMonth } from './month-journal.ts';
import { restatedSums } from './restated.ts';

const ADDRESS = '/close';
const MAX_POINTS = 8;
const MAX_CONSEQUENCES = 40;
const eta = templatesIn(new URL('./views', import.meta.url));

/** The fields of a form, or of the query of an address. */
type Chosen = Readonly<Record<string, string | undefined>>;

export function closePages(sources: ClosingSources): PluginPages {
  const monthOf = ({ period, by }: Chosen) => ({
    period: statementMonth(period === '' ? undefined : period, sources.now()),
    by: checkFilters({ by: by === '' ? undefined : by }).by,
  });

  async function show(query: Chosen, reply: FastifyReply, host: PluginHost): Promise<FastifyReply> {
    const waits = host.isForPrograms(reply.request);
    const list = await checklistOf(sources, { ...monthOf(query), waits });
    if (list.items.some(({ open }) => open.some(({ text }) => text === BEING_READ.text)))
      reply.header('refresh', '3');
    const { from, to } = parsePeriod(list.period);
    const closing = closingOf(list.entries, list.period);
    const html = eta.render('./close', {
      ...{ ...list, closing, answer: answerOf(list), bases: DATE_BASES, most: MAX_POINTS },
      ...{ before: shiftDay(from, -1).slice(0, 7), after: shiftDay(to, 1).slice(0, 7) },
      ...{ canAct: host.operators !== null, noOperator: host.noOperator },
      actions: [
        ['export', 'Export the reports'],
        ['close', closing === null ? 'Close the month' : 'Close it again'],
      ],
      ...{ money, grouped, instant: instantLabel },
      ofPartner: (partnerId: string | null) => ofPartner(list, partnerId),
    });
    const { entries: _, ...data } = list;
    return host.send(reply, { title: `Close ${daysName({ from, to })}`, html, data: { ...data, closing } });
  }

  async function offerClosing(form: Chosen): Promise<Offered> {
    const list = await checklistOf(sources, monthOf(form));
    const { period, by, totals, publication, restated } = list;
    const today = sources.now().toISOString().slice(0, 10);
    const { to } = parsePeriod(period);
    if (to >= today)
      throw new MonthError('month-refused', [
        `${period} is not over: its last day is ${to}, and today is ${today} (UTC)`,
      ]);
    const open = list.items.flatMap((item) =>
      item.open.map(({ name, text }) => `${item.title}: ${name}, ${text}`),
    );
    return {
      described: {
        title: `Close ${daysName(parsePeriod(period))}`,
        consequences: [
          ...totals.map(
            ({ partner_id, currency_code, lines, billed }) =>
              `${billed} ${currency_code}${ofPartner(list, partner_id)} in ${plural(lines, 'line')} are recorded as the month's total.`,
          ),
          ...restatedSums(restated).map(
            ({ period, partner_id, currency_code, difference }) =>
              `Restated after closing: ${period} by ${difference} ${currency_code}${ofPartner(list, partner_id)}.`,
          ),
          ...open.slice(0, MAX_CONSEQUENCES).map((text) => `Open: ${text}.`),
          ...(open.length > MAX_CONSEQUENCES
            ? [`And ${open.length - MAX_CONSEQUENCES} more open points.`]
            : []),
          'A later change of this month is listed in the next one, and raises an alert.',
        ],
        label: 'Close the month',
        reasonLabel: open.length > 0 ? 'Why it is closed with open points' : 'Note',
        isReasonOptional: open.length === 0,
        ...{ command: 'close', target: [period], back: `${ADDRESS}?${new URLSearchParams({ period, by })}` },
      },
      async perform(reason, who) {
        await recordMonth(sources.dataDir, {
          ...{ kind: 'closed', period, at: sources.now().toISOString(), by: who, reason, date_basis: by },
          ...{ publication, published_at: list.publishedAt, totals: [...totals], open },
          restated: restatedSums(restated),
        });
        return { detail: `${period} is closed.`, next: null };
      },
    };
  }

  /** Ticked gaps are answered; gaps that were answered before are open again. */
  async function offerGapDecision(form: URLSearchParams): Promise<Offered> {
    const { dataDir, databasePath, timeLimitMs } = sources;
    const { rows } = await runReport({
      ...{ databasePath, timeLimitMs, name: 'gaps', filters: { level: 'all' } },
    });
    const keys = form.getAll('row');
    const found = rows.filter((row) => keys.includes(gapKey(row)));
    const open = await openGaps(dataDir, found);
    if (found.length === 0 || (open.length > 0 && open.length < found.length))
      throw new MonthError('month-refused', ['Tick gaps that are all open, or all answered']);
    const kind = open.length > 0 ? 'answered' : 'reopened';
    const verb = kind === 'answered' ? 'Answer' : 'Reopen';
    return {
      described: {
        title: `${verb} ${plural(found.length, 'gap')}`,
        consequences: [
          ...found.map(({ finding }) => `${finding}.`),
          kind === 'answered'
            ? 'They are no longer open, in lists, alerts and when a month is closed, and can be reopened at any time.'
            : 'They are open again.',
        ],
        ...{ label: verb, reasonLabel: kind === 'answered' ? 'Why nothing is missing' : 'Note' },
        ...{ isReasonOptional: kind === 'reopened', command: `gaps ${verb.toLowerCase()}` },
        ...{ target: found.map(({ after_invoice: after }) => String(after)), back: '/reports/gaps' },
      },
      async perform(note, by) {
        const at = sources.now().toISOString();
        await recordGapDecision(dataDir, { kind, at, by, note, gaps: found.map(gapKey) });
        return { detail: `${plural(found.length, 'gap')} ${kind}.`, next: null };
      },
    };
  }

  async function exported(form: Chosen, by: string, reply: FastifyReply): Promise<FastifyReply> {
    const month = monthOf(form);
    const zip = new ZipFile();
    for (const { name } of listReports().filter(({ purpose }) => purpose === 'Month end')) {
      const { databasePath, timeLimitMs } = sources;
      const result = await runReport({ databasePath, timeLimitMs, name, filters: month });
      const { body, extension } = await renderReport(result, 'xlsx');
      zip.addBuffer(Buffer.from(body), fileNameOf(result, extension), { mtime: new Date(result.head.asOf) });
    }
    zip.end();
    const body = await buffer(zip.outputStream as NodeJS.ReadableStream & AsyncIterable<Uint8Array>);
    await recordMonth(sources.dataDir, {
      kind: 'exported',
      period: month.period,
      at: sources.now().toISOString(),
      by,
    });
    return reply
      .type('application/zip')
      .header('content-disposition', `attachment; filename="reports-${month.period}.zip"`)
      .send(Buffer.from(body));
  }

  function answered(host: PluginHost, reply: FastifyReply, answer: () => Promise<FastifyReply>) {
    const isRefusal = ({ exitCode }: BillsyncError) => exitCode === EXIT.usage;
    return host.answered(reply, { title: 'Close a month', isRefusal }, answer);
  }

  return {
    ...{ address: ADDRESS, label: 'Close a month', icon: 'checklist', group: 'Month end' },
    rows: {
      ...{ label: 'Answer or reopen the ticked gaps', action: `${ADDRESS}/gaps`, reports: ['gaps'] },
      keyOf: (_report, row) => gapKey(row),
      async notes() {
        const answers = await readGapAnswers(sources.dataDir);
        return (row) => {
          const answer = answers.get(gapKey(row));
          return answer === undefined ? null : `${answer.note} (${answer.by})`;
        };
      },
    },
    register(app, host) {
      app.get(ADDRESS, (request, reply) =>
        answered(host, reply, () => show(request.query as Chosen, reply, host)),
      );
      const { operators } = host;
      operators?.post(`${ADDRESS}/close`, (form, request, reply) =>
        operators.offer(reply, request.operator, () => offerClosing(Object.fromEntries(form))),
      );
      operators?.post(`${ADDRESS}/gaps`, (form, request, reply) =>
        operators.offer(reply, request.operator, () => offerGapDecision(form)),
      );
      operators?.post(`${ADDRESS}/export`, (form, request, reply) =>
        answered(host, reply, () => exported(Object.fromEntries(form), request.operator, reply)),
      );
    },
  };
}

/** Names the partner where the installation has several. */
function ofPartner({ totals }: Checklist, partnerId: string | null): string {
  const isAlone = new Set(totals.map(({ partner_id }) => partner_id)).size < 2;
  return isAlone ? '' : ` of partner ${partnerId ?? '(not known)'}`;
}

function answerOf({ items, period, entries }: Checklist): string {
  const done = items.filter(({ open }) => open.length === 0).length;
  const is = closingOf(entries, period) === null ? 'is open' : 'is closed';
  return `${daysName(parsePeriod(period))} ${is}: ${done} of ${items.length} points are done.`;
}
