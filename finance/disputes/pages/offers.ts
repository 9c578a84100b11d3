import { z } from 'zod';
import type { Offered } from '../../../dashboard/plugin-pages.ts';
import { jsonOrNull } from '../../../lib/text.ts';
import type { LineAtRisk } from '../at-risk.ts';
import { CLAIM_STATES, changedText, checkNext, claimRefused, findingKey } from '../claim.ts';
import { totalsOf } from '../claim-status.ts';
import type { Disputes } from '../disputes.ts';
import { FINDING_NAMES } from '../finding-kinds.ts';
import type { Claimable } from '../findings.ts';

const MAX_NAMED = 100;

const ReportQuery = z.object({
  filters: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
  parameters: z.record(z.string(), z.string()),
});

export async function offerClaims(disputes: Disputes, form: URLSearchParams): Promise<Offered> {
  const finding = FINDING_NAMES.find((name) => name === form.get('report'));
  const query = ReportQuery.safeParse(jsonOrNull(form.get('query') ?? ''));
  if (finding === undefined || !query.success) throw claimRefused('The form is not one of ours');
  const rows = new Set(form.getAll('row'));
  if (rows.size === 0) throw claimRefused('No row is ticked', 'go back and tick what is to be claimed');
  const { lines: found } = await disputes.find({ finding, ...query.data, rows, trackingNumbers: null });
  return offerLines(disputes, found, finding);
}

/** @param from the page that had the form, for the audit log @throws ClaimError no line can be claimed */
export function offerLines(disputes: Disputes, found: readonly Claimable[], from: string): Offered {
  const lines = found.filter(({ hindrance }) => hindrance === null);
  const passed = found.filter(({ hindrance }) => hindrance !== null);
  if (lines.length === 0)
    throw claimRefused(
      'Nothing can be claimed',
      passed
        .slice(0, 3)
        .map((line) => lineText(line).replace(/\.$/, ''))
        .join('; ') || 'no line of these rows was billed too high',
    );
  const named = [...lines, ...passed].slice(0, MAX_NAMED);
  const rest = found.length - named.length;
  return {
    described: {
      title: `Open ${lines.length === 1 ? 'a claim' : `${lines.length} claims`}: ${sumOf(lines)}`,
      consequences: [
        ...named.map(lineText),
        ...(rest > 0 ? [`And ${rest} more.`] : []),
        'Each line becomes a claim that is open; nothing is sent, and no report is changed.',
      ],
      label: 'Open',
      reasonLabel: 'Note, for yourselves',
      isReasonOptional: true,
      command: 'disputes open',
      target: [from, ...lines.slice(0, MAX_NAMED).map(({ tracking_number }) => tracking_number)],
      back: '/disputes',
    },
    async perform(note, by) {
      const ids = (await disputes.open(lines, { note, by })).map(({ id }) => id);
      return {
        detail: `Opened ${ids.join(', ')}.`,
        next: { path: `/disputes/${ids[0]}`, label: `Claim ${ids[0]}` },
      };
    },
  };
}

/** @throws ClaimError no line is in the state that this changes */
export function offerDismissal(disputes: Disputes, found: readonly LineAtRisk[], isUndone: boolean): Offered {
  const lines = found.filter(({ state }) => state === (isUndone ? 'dismissed' : 'new'));
  if (lines.length === 0) throw claimRefused(`No ticked row can be ${isUndone ? 'restored' : 'dismissed'}`);
  const verb = isUndone ? 'Restore' : 'Dismiss';
  return {
    described: {
      title: `${verb} ${lines.length === 1 ? 'a finding' : `${lines.length} findings`}: ${sumOf(lines)}`,
      consequences: [
        ...lines.slice(0, MAX_NAMED).map(lineText),
        ...(lines.length > MAX_NAMED ? [`And ${lines.length - MAX_NAMED} more.`] : []),
        isUndone ? 'They are new again.' : 'They are no longer new, and can be restored at any time.',
      ],
      ...{ label: verb, reasonLabel: isUndone ? 'Note' : 'Why', isReasonOptional: isUndone },
      command: `disputes ${verb.toLowerCase()}`,
      target: lines.slice(0, MAX_NAMED).map(({ tracking_number }) => tracking_number),
      back: '/money-at-risk',
    },
    async perform(note, by) {
      await disputes.dismiss(lines.map(findingKey), { note, by, isUndone });
      return { detail: `${isUndone ? 'Restored' : 'Dismissed'} ${lines.length}.`, next: null };
    },
  };
}

/** Changes a claim only if it still has the version of the form. @throws BillsyncError the change is not allowed */
export async function offerChange(disputes: Disputes, form: URLSearchParams): Promise<Offered> {
  const name = form.get('state') ?? '';
  const state = CLAIM_STATES.find((each) => each === name) ?? null;
  if (state === null && name !== '') throw claimRefused('There is no such state');
  const seen = form.getAll('claim').map((text) => {
    const [id = '', version = ''] = text.split(':');
    return { id, version: Number(version) };
  });
  if (seen.length === 0) throw claimRefused('No claim is ticked');
  const { claims } = await disputes.list();
  const found = seen.map(({ id }) => {
    const claim = claims.find((each) => each.id === id);
    if (claim === undefined) throw claimRefused('There is no such claim');
    if (state !== null) checkNext(claim, state);
    return claim;
  });
  const ids = found.map(({ id }) => id);
  const named = ids.length <= 3 ? ids.join(', ') : `${ids.length} claims`;
  return {
    described: {
      title:
        state === null ? `Note on ${named}` : `${named} ${ids.length === 1 ? 'becomes' : 'become'} ${state}`,
      consequences: found
        .slice(0, MAX_NAMED)
        .map(
          ({ id, state: now, tracking_number, outstanding, recovered, currency_code }) =>
            `${id} is ${now}: ${tracking_number}, claimed ${outstanding} ${currency_code}, recovered ${recovered} ${currency_code}.`,
        ),
      label: state === null ? 'Add the note' : 'Change',
      reasonLabel: 'Note, for yourselves',
      isReasonOptional: state !== null,
      command: state === null ? 'disputes note' : 'disputes state',
      target: [...(state === null ? [] : [state]), ...ids],
      back: ids.length === 1 ? `/disputes/${ids[0]}` : '/disputes',
    },
    async perform(note, by) {
      const changed = await disputes.change({ claims: seen, state, note, by });
      return { detail: changedText(changed), next: null };
    },
  };
}

function lineText(line: Claimable): string {
  const { tracking_number, invoice_number, invoice_id, billed, expected, claimed, currency_code, hindrance } =
    line;
  const which = `${tracking_number} on invoice ${invoice_number ?? invoice_id}`;
  if (hindrance !== null) return `${which} is skipped: ${hindrance}.`;
  return `${which}: billed ${billed}, expected ${expected}, claimed ${claimed} ${currency_code}.`;
}

function sumOf(lines: readonly Claimable[]): string {
  const summed = lines.map((line) => ({ ...line, outstanding: line.claimed, recovered: '0' }));
  return totalsOf(summed)
    .map(({ claimed, currency_code }) => `${claimed} ${currency_code}`)
    .join(', ');
}
