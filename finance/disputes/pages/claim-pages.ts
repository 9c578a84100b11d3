import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import type { PluginHost, PluginPages } from '../../../dashboard/plugin-pages.ts';
import type { BillsyncError } from '../../../lib/errors.ts';
import { money, stateBadge } from '../../../reports/render/html-cells.ts';
import { grouped, instantLabel } from '../../../reports/render/labels.ts';
import { XLSX_TYPE } from '../../../reports/render/render-report.ts';
import { escapeAttribute, templatesIn } from '../../../reports/render/templates.ts';
import { CLAIM_STATES, ClaimError, chosenOf, NEXT_STATES } from '../claim.ts';
import { claimJson, totalsOf } from '../claim-status.ts';
import type { Disputes } from '../disputes.ts';
import { FINDINGS } from '../finding-kinds.ts';
import { rowKey } from '../findings.ts';
import { CLAIM_FORMATS, claimFile } from '../workbook.ts';
import { offerChange, offerClaims } from './offers.ts';

const ADDRESS = '/disputes';
const eta = templatesIn(new URL('../views', import.meta.url));
const MAX_LISTED = 500;

interface Named {
  readonly Params: { readonly id: string };
}

export function disputePages(disputes: Disputes, now: () => Date = () => new Date()): PluginPages {
  return {
    address: ADDRESS,
    label: 'Disputes',
    icon: 'law',
    group: 'Findings',
    rows: {
      ...{ label: 'Claim the ticked rows', action: `${ADDRESS}/choose` },
      ...{ reports: Object.keys(FINDINGS), keyOf: rowKey },
    },
    async countWaiting() {
      const { claims } = await disputes.list();
      return claims.filter(({ state, concerns }) => state === 'open' || concerns.length > 0).length;
    },
    async find(text) {
      const { claims } = await disputes.list();
      return claims
        .filter(({ id, tracking_number }) =>
          [id.toLowerCase(), tracking_number.toLowerCase()].includes(text.toLowerCase()),
        )
        .map(({ id, tracking_number, state }) => ({
          ...{ kind: 'claim', name: id, more: `${tracking_number}, ${state}`, address: `${ADDRESS}/${id}` },
        }));
    },
    register(app, host) {
      registerPages(app, host, { disputes, now });
      if (host.operators !== null) registerForms(host.operators, disputes);
    },
  };
}

function registerPages(
  app: FastifyInstance,
  host: PluginHost,
  { disputes, now }: { readonly disputes: Disputes; readonly now: () => Date },
): void {
  app.get(ADDRESS, (request, reply) =>
    answered(host, reply, async () => {
      const { claims, problems } = await disputes.list();
      const query = Query.parse(request.query);
      const chosen = chosenOf(claims, query);
      const totals = totalsOf(chosen);
      const carriers = [...Map.groupBy(claims, ({ carrier }) => carrier.toLowerCase()).values()]
        .map(([of]) => of?.carrier ?? '')
        .sort();
      const listed = chosen.slice(0, MAX_LISTED);
      const html = render('claims', {
        ...{ query, problems, totals, carriers, claims: listed, states: CLAIM_STATES },
        ...{
          left: chosen.length - listed.length,
          canAct: host.operators !== null,
          noOperator: host.noOperator,
        },
        next: query.state === null ? BY_USE : NEXT_STATES[query.state],
        files: CLAIM_FORMATS,
      });
      const data = { claims: chosen.map(claimJson), totals, problems };
      return host.send(reply, { title: 'Disputes', html, data });
    }),
  );
  app.get(`${ADDRESS}/export`, (request, reply) =>
    answered(host, reply, async () => {
      const query = Query.parse(request.query);
      const chosen = [...chosenOf((await disputes.list()).claims, query)].reverse();
      const { body } = await claimFile(chosen, query.format, { now: now(), dataDir: disputes.dataDir });
      const name = `claims-${query.carrier?.replace(/[^\w-]+/g, '-') ?? 'all'}.${query.format}`;
      return reply
        .type(TYPES[query.format])
        .header('content-disposition', `attachment; filename="${name}"`)
        .send(typeof body === 'string' ? body : Buffer.from(body));
    }),
  );
  app.get<Named>(`${ADDRESS}/:id`, (request, reply) =>
    answered(host, reply, async () => {
      const { claims, problems } = await disputes.list();
      const claim = claims.find(({ id }) => id === request.params.id);
      if (claim === undefined) {
        reply.callNotFound();
        return reply;
      }
      const html = render('claim', {
        ...{ claim, problems, next: NEXT_STATES[claim.state], canAct: host.operators !== null },
        noOperator: host.noOperator,
      });
      return host.send(reply, { title: `Claim ${claim.id}`, html, data: claim });
    }),
  );
}

const TYPES = { csv: 'text/csv; charset=utf-8; header=present', xlsx: XLSX_TYPE, pdf: 'application/pdf' };
const BY_USE = ['sent', 'credited', 'rejected', 'closed', 'open'] as const;

function registerForms(operators: NonNullable<PluginHost['operators']>, disputes: Disputes): void {
  operators.post(`${ADDRESS}/choose`, (form, request, reply) =>
    operators.offer(reply, request.operator, () => offerClaims(disputes, form)),
  );
  operators.post(`${ADDRESS}/change`, (form, request, reply) =>
    operators.offer(reply, request.operator, () => offerChange(disputes, form)),
  );
}

const Query = z.object({
  state: z.enum(CLAIM_STATES).nullable().catch(null),
  carrier: z.string().min(1).nullable().catch(null),
  format: z.enum(CLAIM_FORMATS).catch('xlsx'),
});

export function answered(
  host: PluginHost,
  reply: FastifyReply,
  answer: () => Promise<FastifyReply>,
): Promise<FastifyReply> {
  const isRefusal = (error: BillsyncError) => error instanceof ClaimError;
  return host.answered(reply, { title: 'Disputes', isRefusal }, answer);
}

export function render(
  view: 'claims' | 'claim' | 'at-risk' | 'at-risk-reading',
  values: Readonly<Record<string, unknown>>,
): string {
  return eta.render(`./${view}`, {
    ...{ ...values, grouped, attribute: escapeAttribute, instant: instantLabel },
    ...{ money, stateBadge },
  });
}
