/** `/money-at-risk` in the dashboard: all findings in one list, from which claims are opened. */

import { filtersOf, one, type Query } from '../../../dashboard/address.ts';
import { periodMenu } from '../../../dashboard/filter-form.ts';
import type { GuestPages } from '../../../dashboard/guest-pages.ts';
import { shiftDay } from '../../../reports/period.ts';
import type { ReportFilters } from '../../../reports/report-filters.ts';
import { type AtRisk, type LineAtRisk, RISKS, type Risk } from '../at-risk.ts';
import { ClaimRefusedError, lineKey } from '../claim.ts';
import type { Disputes } from '../disputes.ts';
import { totalsOf } from '../totals.ts';
import { offerLines } from './offers.ts';
import { told } from './pages.ts';
import { render } from './render.ts';

const ADDRESS = '/money-at-risk';
const MAX_SHOWN = 300;
/** Carriers rarely take claims for longer. */
const USUAL_DAYS = 180;
const STATES = ['new', 'claimed', 'credited', 'dismissed'] as const;

export function atRiskPages(disputes: Disputes, now: () => Date = () => new Date()): GuestPages {
  return {
    address: ADDRESS,
    label: 'Money at risk',
    icon: 'credit-card',
    rows: null,
    register(app, host) {
      app.get(ADDRESS, (request, reply) =>
        told(host, reply, async () => {
          const query = withUsualDays(request.query as Query, now());
          const found = await disputes.atRisk(daysOf(query));
          const risk = one(query, 'risk');
          const state = one(query, 'state') ?? 'new';
          const chosen = found.lines.filter(
            (line) => (risk === undefined || line.risk === risk) && (state === 'all' || line.state === state),
          );
          const html = render('at-risk', {
            ...{ ...shownOf(found), ...periodMenu(query, ADDRESS), state, risk, states: STATES },
            ...{ shown: chosen.slice(0, MAX_SHOWN), found: chosen.length },
            ...{ risks: RISKS, canAct: host.operators !== null, key: lineKey },
          });
          const figures = { lines: chosen, notes: found.notes };
          return host.send(reply, { title: 'Money at risk', html, figures });
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
            throw new ClaimRefusedError('No row is ticked', {
              hint: 'go back and tick what is to be claimed',
            });
          return offerLines(disputes, chosen, 'money at risk');
        }),
      );
    },
  };
}

function withUsualDays(query: Query, now: Date): Query {
  if (['from', 'to', 'period'].some((name) => one(query, name) !== undefined)) return query;
  const today = now.toISOString().slice(0, 10);
  return { ...query, from: shiftDay(today, -USUAL_DAYS), to: today };
}

function daysOf(query: Query): ReportFilters {
  const { from, to } = filtersOf(query);
  return { from, to };
}

/** What can still be claimed, in all and by finding; amounts of two currencies or partners are never added. */
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
