import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { PluginPages } from '../../../dashboard/plugin-pages.ts';
import { shiftDay } from '../../../reports/period.ts';
import { DATE_BASES } from '../../../reports/report-filters.ts';
import { type AtRisk, type LineAtRisk, RISKS, type Risk } from '../at-risk.ts';
import { claimRefused, findingKey } from '../claim.ts';
import { totalsOf } from '../claim-status.ts';
import type { Disputes } from '../disputes.ts';
import { answered, render } from './claim-pages.ts';
import { offerDismissal, offerLines } from './offers.ts';

const ADDRESS = '/money-at-risk';
const ROWS_ON_A_PAGE = 100;
const USUAL_DAYS = 180;
const STATES = ['new', 'claimed', 'credited', 'dismissed'] as const;

export function atRiskPages(disputes: Disputes, now: () => Date = () => new Date()): PluginPages {
  return {
    address: ADDRESS,
    label: 'Money at risk',
    icon: 'credit-card',
    group: 'Findings',
    rows: null,
    async countWaiting() {
      const { lines } = await disputes.atRisk({ ...withUsualDays({}, now()), by: 'ship-date' });
      return lines.filter(({ state }) => state === 'new').length;
    },
    register(app, host) {
      app.get(ADDRESS, (request, reply) =>
        answered(host, reply, async () => {
          const { risk, state, page, min, ...query } = Query.parse(request.query);
          const menu = host.periodMenu(withUsualDays(query, now()), ADDRESS);
          const { by } = query;
          const finding = disputes.atRisk({ from: menu.from, to: menu.to, by }, min ?? null);
          const found = host.isForPrograms(request) ? await finding : await resultWithinPatience(finding);
          if (found === null) {
            reply.header('refresh', '3');
            const html = render('at-risk-reading', {});
            return host.send(reply, { title: 'Money at risk', html, data: null });
          }
          const chosen = found.lines.filter(
            (line) => (risk === undefined || line.risk === risk) && (state === 'all' || line.state === state),
          );
          const to = (number: number): string => {
            const place = {
              from: menu.from ?? '',
              to: menu.to ?? '',
              by,
              state,
              risk: risk ?? '',
              min: min ?? '',
            };
            return `${ADDRESS}?${new URLSearchParams({ ...place, page: String(number) })}`;
          };
          const html = render('at-risk', {
            ...{
              ...summaryOf(found),
              ...{ ...menu, by },
              state,
              risk,
              states: STATES,
              noOperator: host.noOperator,
              min,
            },
            ...{ found: chosen.length, first: (page - 1) * ROWS_ON_A_PAGE + 1 },
            lines: chosen.slice((page - 1) * ROWS_ON_A_PAGE, page * ROWS_ON_A_PAGE),
            newCount: found.lines.filter((line) => isChosen(line, risk)).length,
            previous: page > 1 ? to(page - 1) : null,
            next: page * ROWS_ON_A_PAGE < chosen.length ? to(page + 1) : null,
            ...{ risks: RISKS, canAct: host.operators !== null, key: tickedKey },
          });
          const data = { lines: chosen, notes: found.notes, unchecked: found.unchecked };
          return host.send(reply, { title: 'Money at risk', html, data });
        }),
      );
      const { operators } = host;
      operators?.post(`${ADDRESS}/claim`, (form, request, reply) =>
        operators.offer(reply, request.operator, async () => {
          const [from, to] = [form.get('from') ?? undefined, form.get('to') ?? undefined];
          const { risk, by } = Query.parse({ risk: form.get('risk'), by: form.get('by') });
          const { lines } = await disputes.atRisk({ from, to, by }, form.get('min') || null);
          const keys = new Set(form.getAll('line'));
          const act = form.get('do') ?? '';
          const isAll = form.get('all') === 'yes' || act === 'dismiss-all';
          const chosen = lines.filter((line) => (isAll && isChosen(line, risk)) || keys.has(tickedKey(line)));
          if (chosen.length === 0)
            throw claimRefused('No row is ticked', 'go back and tick what is to be claimed');
          if (act !== '') return offerDismissal(disputes, chosen, act === 'restore');
          return offerLines(disputes, chosen, 'money at risk');
        }),
      );
    },
  };
}

/** A value for a form: a tracking number may have characters that a page writes out. */
function tickedKey(line: LineAtRisk): string {
  return hash('sha256', findingKey(line), 'hex');
}

const day = z.string().min(1).optional().catch(undefined);
const Query = z.object({
  risk: z
    .enum(Object.keys(RISKS) as [Risk, ...Risk[]])
    .optional()
    .catch(undefined),
  state: z.enum([...STATES, 'all']).catch('new'),
  ...{ from: day, to: day, period: day, by: z.enum(DATE_BASES).catch('ship-date') },
  min: z
    .string()
    .regex(/^\d{1,12}(\.\d{1,4})?$/)
    .optional()
    .catch(undefined),
  page: z.coerce.number().int().min(1).catch(1),
});

const PATIENCE_MS = 1_000;

/** Waits a moment for the result; null when the work goes on, so that a later request receives it. @throws the error of the work */
export function resultWithinPatience<T>(work: Promise<T>): Promise<T | null> {
  work.catch(() => undefined);
  return Promise.race([work, sleep(PATIENCE_MS, null, { ref: false })]);
}

/** Whether "Claim all" claims the line. */
function isChosen(line: LineAtRisk, risk: Risk | undefined): boolean {
  return line.state === 'new' && (risk === undefined || line.risk === risk);
}

function withUsualDays<T extends Pick<Partial<z.output<typeof Query>>, 'from' | 'to' | 'period'>>(
  query: T,
  now: Date,
): T {
  if ((query.from ?? query.to ?? query.period) !== undefined) return query;
  const today = now.toISOString().slice(0, 10);
  return { ...query, from: shiftDay(today, -USUAL_DAYS), to: today };
}

/** Amounts of two currencies or partners are never added. */
function summaryOf({ lines, notes, unchecked }: AtRisk) {
  const open = lines.filter(({ state }) => state === 'new');
  const byRisk = Map.groupBy(open, ({ risk }) => risk);
  const claimed = lines.filter(({ state }) => state === 'claimed');
  return {
    notes,
    unchecked: unchecked.map((risk) => RISKS[risk]),
    totals: sumsOf(open),
    claimed: { count: claimed.length, totals: sumsOf(claimed) },
    cards: (Object.keys(RISKS) as Risk[]).map((risk) => ({
      ...{ risk, label: RISKS[risk], count: byRisk.get(risk)?.length ?? 0 },
      isChecked: !unchecked.includes(risk),
      totals: sumsOf(byRisk.get(risk) ?? []),
    })),
  };
}

function sumsOf(lines: readonly LineAtRisk[]) {
  const sums = totalsOf(lines.map((line) => ({ ...line, outstanding: line.claimed, recovered: '0.0000' })));
  return [...sums].sort((one, other) => other.claims - one.claims);
}
