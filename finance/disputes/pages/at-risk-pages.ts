/** `/money-at-risk` in the dashboard: all findings in one list, from which claims are opened. */

import { z } from 'zod';
import type { PluginPages } from '../../../dashboard/plugin-pages.ts';
import { shiftDay } from '../../../reports/period.ts';
import { type AtRisk, type LineAtRisk, RISKS, type Risk } from '../at-risk.ts';
import { lineKey, refused } from '../claim.ts';
import { totalsOf } from '../claim-status.ts';
import type { Disputes } from '../disputes.ts';
import { offerLines } from './offers.ts';
import { answered } from './pages.ts';
import { render } from './render.ts';

const ADDRESS = '/money-at-risk';
const MAX_LISTED = 300;
/** Carriers rarely take claims for longer. */
const USUAL_DAYS = 180;
const STATES = ['new', 'claimed', 'credited', 'dismissed'] as const;

export function atRiskPages(disputes: Disputes, now: () => Date = () => new Date()): PluginPages {
  return {
    address: ADDRESS,
    label: 'Money at risk',
    icon: 'credit-card',
    rows: null,
    register(app, host) {
      app.get(ADDRESS, (request, reply) =>
        answered(host, reply, async () => {
          const { risk, state, ...query } = Query.parse(request.query);
          const menu = host.periodMenu(withUsualDays(query, now()), ADDRESS);
          const found = await disputes.atRisk({ from: menu.from, to: menu.to });
          const chosen = found.lines.filter(
            (line) => (risk === undefined || line.risk === risk) && (state === 'all' || line.state === state),
          );
          const html = render('at-risk', {
            ...{ ...summaryOf(found), ...menu, state, risk, states: STATES, noOperator: host.noOperator },
            ...{ lines: chosen.slice(0, MAX_LISTED), found: chosen.length },
            ...{ risks: RISKS, canAct: host.operators !== null, key: lineKey },
          });
          const data = { lines: chosen, notes: found.notes };
          return host.send(reply, { title: 'Money at risk', html, data });
        }),
      );
      const { operators } = host;
      operators?.post(`${ADDRESS}/claim`, (form, request, reply) =>
        operators.offer(reply, request.operator, async () => {
          const [from, to] = [form.get('from') ?? undefined, form.get('to') ?? undefined];
          const { lines } = await disputes.atRisk({ from, to });
          const keys = new Set(form.getAll('line'));
          const isAll = form.get('all') === 'yes';
          const chosen = lines.filter((line) => (isAll && line.state === 'new') || keys.has(lineKey(line)));
          if (chosen.length === 0)
            throw refused('No row is ticked', 'go back and tick what is to be claimed');
          return offerLines(disputes, chosen, 'money at risk');
        }),
      );
    },
  };
}

const day = z.string().min(1).optional().catch(undefined);
const Query = z.object({
  risk: z
    .enum(Object.keys(RISKS) as [Risk, ...Risk[]])
    .optional()
    .catch(undefined),
  state: z.enum([...STATES, 'all']).catch('new'),
  ...{ from: day, to: day, period: day },
});

function withUsualDays(query: Omit<z.output<typeof Query>, 'risk' | 'state'>, now: Date): typeof query {
  if ((query.from ?? query.to ?? query.period) !== undefined) return query;
  const today = now.toISOString().slice(0, 10);
  return { ...query, from: shiftDay(today, -USUAL_DAYS), to: today };
}

/** Claimable amounts in total and by finding; amounts of two currencies or partners are never added. */
function summaryOf({ lines, notes }: AtRisk) {
  const open = lines.filter(({ state }) => state === 'new');
  const byRisk = Map.groupBy(open, ({ risk }) => risk);
  const claimed = lines.filter(({ state }) => state === 'claimed');
  return {
    notes,
    totals: sumsOf(open),
    claimed: { count: claimed.length, totals: sumsOf(claimed) },
    cards: (Object.keys(RISKS) as Risk[]).map((risk) => ({
      ...{ risk, label: RISKS[risk], count: byRisk.get(risk)?.length ?? 0 },
      totals: sumsOf(byRisk.get(risk) ?? []),
    })),
  };
}

function sumsOf(lines: readonly LineAtRisk[]) {
  const sums = totalsOf(lines.map((line) => ({ ...line, outstanding: line.claimed, recovered: '0.0000' })));
  return [...sums].sort((one, other) => other.claims - one.claims);
}
