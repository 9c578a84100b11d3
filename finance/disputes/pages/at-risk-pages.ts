/** `/money-at-risk` in the dashboard: all findings in one list, from which claims are opened. */

import { z } from 'zod';
import type { PluginPages } from '../../../dashboard/plugin-pages.ts';
import { shiftDay } from '../../../reports/period.ts';
import { type AtRisk, type LineAtRisk, RISKS, type Risk } from '../at-risk.ts';
import { lineKey, refused } from '../claim.ts';
import { totalsOf } from '../claim-status.ts';
import type { Disputes } from '../disputes.ts';
import { offerLines } from './offers.ts';
import { told } from './pages.ts';
import { render } from './render.ts';

const ADDRESS = '/money-at-risk';
const MAX_SHOWN = 300;
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
        told(host, reply, async () => {
          const { risk, state, ...asked } = Asked.parse(request.query);
          const menu = host.periodMenu(withUsualDays(asked, now()), ADDRESS);
          const found = await disputes.atRisk({ from: menu.from, to: menu.to });
          const chosen = found.lines.filter(
            (line) => (risk === undefined || line.risk === risk) && (state === 'all' || line.state === state),
          );
          const html = render('at-risk', {
            ...{ ...shownOf(found), ...menu, state, risk, states: STATES, noOperator: host.noOperator },
            ...{ shown: chosen.slice(0, MAX_SHOWN), found: chosen.length },
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
const Asked = z.object({
  risk: z
    .enum(Object.keys(RISKS) as [Risk, ...Risk[]])
    .optional()
    .catch(undefined),
  state: z.enum([...STATES, 'all']).catch('new'),
  ...{ from: day, to: day, period: day },
});

function withUsualDays(asked: Omit<z.output<typeof Asked>, 'risk' | 'state'>, now: Date): typeof asked {
  if ((asked.from ?? asked.to ?? asked.period) !== undefined) return asked;
  const today = now.toISOString().slice(0, 10);
  return { ...asked, from: shiftDay(today, -USUAL_DAYS), to: today };
}

/** Claimable amounts in total and by finding; amounts of two currencies or partners are never added. */
function shownOf({ lines, notes }: AtRisk) {
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
