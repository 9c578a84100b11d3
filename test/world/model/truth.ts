/**
 * Which invoice counts, with which file, as of an instant: from the history alone, in the order in which it was recorded.
 *
 * Of the loaded files that one counts which the last ruling names: an answer of the service, or a person's choice, which stands until
 * the service names a file that it had not named before. Without a ruling the newest announced one, else the newest (ADR 17). A void leaves every total until a person restores the invoice (ADR 19).
 */

import {
  csvOf,
  type Deed,
  type Header,
  type History,
  type Invoice,
  type Row,
  type Status,
  type Step,
  type Timed,
} from '../history.ts';
import { compareText, parse, parsed, sum } from './exact.ts';

export type State = 'draft' | 'finalized' | 'loaded' | 'voided' | 'needs_attention';

/** Cells of a line with the values that they have; null: an empty cell. */
export interface Line {
  readonly invoice: KnownInvoice;
  /** In its file, from 1. */
  readonly row: number;
  readonly tenant: string;
  readonly invoiceDate: string;
  readonly shipDate: string;
  readonly origin: string | null;
  readonly currency: string;
  readonly cost: bigint;
  readonly weight: bigint | null;
  readonly unit: string | null;
  readonly tracking: string;
  readonly carrier: string;
  readonly zone: string | null;
  readonly carrierInvoiceDate: string | null;
  readonly service: string | null;
}

export interface Version {
  readonly file: number;
  readonly version: number;
  readonly loadedAt: string;
  readonly rows: readonly Row[];
  readonly lines: readonly Line[];
}

export interface KnownInvoice {
  readonly id: string;
  readonly number: string | null;
  readonly partnerId: string | null;
  readonly tenantId: string | null;
  readonly partnerTenantId: string | null;
  readonly level: 'tenant' | 'partner' | 'unknown';
  readonly state: State;
  readonly stateSince: string;
  readonly reason: string | null;
  readonly serviceStatus: Status | null;
  readonly start: string | null;
  readonly end: string | null;
  readonly date: string | null;
  readonly due: string | null;
  readonly statedCurrency: string | null;
  readonly statedTotal: bigint | null;
  readonly statedText: string | null;
  readonly statedShipments: number | null;
  readonly firstSeenAt: string;
  readonly voidedAt: string | null;
  readonly proof: Proof | null;
  /** The currency of the invoice's own amount: the stated one if the file has it, else that of most lines. */
  readonly currency: string | null;
  readonly rules: readonly string[];
  readonly current: Version | null;
  readonly versions: readonly Version[];
}

interface Evidence {
  readonly order: number;
  readonly at: string;
  readonly rank: 0 | 1 | 2 | 3;
  readonly status: Status | null;
  readonly header: Header;
  readonly partnerId: string | null;
  readonly isEvent: boolean;
  /** null: of an answer. */
  readonly eventId: string | null;
  /** By the sender's clock, at most two minutes after the receipt; of an answer, when it was recorded. */
  readonly sentAt: string;
  readonly announced: number | null;
}

interface Load {
  readonly order: number;
  readonly at: string;
  readonly file: number;
  readonly version: number;
  /** Imported although the service had named another file; it counts only if something names it. */
  readonly isDenied: boolean;
}

interface Mark {
  readonly order: number;
  readonly at: string;
  readonly kind: 'named' | 'chosen' | 'restored' | 'attention' | 'resolved' | 'excluded' | 'included';
  readonly file: number | null;
}

/** What the ledger holds of an invoice at an instant. */
interface Ledger {
  readonly invoice: Invoice;
  readonly evidence: Evidence[];
  readonly loads: Load[];
  readonly marks: Mark[];
}

const MAX_SKEW_MS = 120_000;
const shifted = (at: string, ms: number): string => new Date(Date.parse(at) + ms).toISOString();

const earlier = (one: string, other: string): string => (one < other ? one : other);

const RANK = { draft: 1, pending: 1, finalized: 2, voided: 3 } as const;
const STATUS_OF = {
  invoice_created: 'draft',
  invoice_finalized: 'finalized',
  invoice_voided: 'voided',
} as const;

/** @param until ISO 8601 UTC; records after it are not read; undefined: all */
export class World {
  readonly #ledgers = new Map<string, Ledger>();
  #order = 0;

  /** @returns the outcome of the step, which decides what the player expects */
  take(step: Step, at: string): string {
    if (step.do === 'act') return 'done';
    const { invoice } = step;
    const ledger = this.#ledgers.get(invoice.id) ?? { invoice, evidence: [], loads: [], marks: [] };
    this.#ledgers.set(invoice.id, ledger);
    this.#order += 1;
    return record(ledger, step, { at, order: this.#order, clockMs: step.clockMs ?? 0 });
  }

  /** Invoices as the ledger knows them; those of which it knows nothing (test events alone) are missing. */
  invoices(): readonly KnownInvoice[] {
    return [...this.#ledgers.values()].flatMap((ledger) => known(ledger) ?? []);
  }

  /** The versions that counted at an instant, with the names and levels of now. @param instant null: now */
  countedAt(instant: string | null): readonly Version[] {
    return [...this.#ledgers.values()].flatMap((ledger) => {
      const now = known(ledger);
      const then = until(ledger, instant);
      const load = countingLoad(then);
      if (now === null || load === null || voidOf(then) !== null) return [];
      return now.versions.filter(({ version }) => version === load.version);
    });
  }

  /** Versions that did not count at an instant because their invoice was void then. */
  voidedAt(instant: string | null): readonly { readonly version: Version; readonly voidedAt: string }[] {
    return [...this.#ledgers.values()].flatMap((ledger) => {
      const now = known(ledger);
      const then = until(ledger, instant);
      const [load, voided] = [countingLoad(then), voidOf(then)];
      if (now === null || load === null || voided === null) return [];
      return now.versions.flatMap((version) =>
        version.version === load.version ? [{ version, voidedAt: voided }] : [],
      );
    });
  }
}

function until(ledger: Ledger, instant: string | null): Ledger {
  if (instant === null) return ledger;
  const isBefore = ({ at }: { readonly at: string }) => at <= instant;
  return {
    ...ledger,
    evidence: ledger.evidence.filter(isBefore),
    loads: ledger.loads.filter(isBefore),
    marks: ledger.marks.filter(isBefore),
  };
}

/** By our clock. */
export function instantOf({ begins }: History, { atMs, clockMs = 0 }: Timed): string {
  return shifted(begins, atMs + clockMs);
}

interface When {
  readonly at: string;
  readonly order: number;
  readonly clockMs: number;
}

function record(ledger: Ledger, deed: Deed, when: When): string {
  const { evidence, loads, marks } = ledger;
  switch (deed.do) {
    case 'event': {
      if (deed.isTest) return 'test';
      // An event that comes again, whatever its body, is the first one.
      if (evidence.some(({ eventId }) => eventId === deed.eventId)) return 'accepted';
      const status = STATUS_OF[deed.type];
      evidence.push({
        ...when,
        ...{ status, rank: RANK[status], header: deed.header, partnerId: deed.partnerId, isEvent: true },
        eventId: deed.eventId,
        announced: deed.file,
        sentAt: earlier(shifted(when.at, deed.sentMs - when.clockMs), shifted(when.at, MAX_SKEW_MS)),
      });
      return 'accepted';
    }
    case 'details': {
      const { status, header } = deed;
      evidence.push({
        ...when,
        ...{ status, rank: status === null ? 0 : RANK[status], header },
        ...{ partnerId: deed.partnerId, isEvent: false, eventId: null, announced: null, sentAt: when.at },
      });
      return 'recorded';
    }
    case 'fetch': {
      if (deed.by === 'event' && !evidence.some(({ announced }) => same(ledger, announced, deed.file)))
        return 'impossible';
      const named = lastNamed(ledger);
      if (deed.by === 'regenerate' && named !== null && !same(ledger, named, deed.file)) return 'impossible';
      const outcome = load(ledger, deed.file, { ...when, isNamed: deed.by !== 'export', isImport: false });
      if (deed.by === 'regenerate' && outcome !== 'voided')
        marks.push({ ...when, kind: 'named', file: deed.file });
      return outcome;
    }
    case 'import':
      return load(ledger, deed.file, { ...when, isNamed: false, isImport: true });
    case 'name':
      marks.push({ ...when, kind: 'named', file: deed.file });
      return 'recorded';
    case 'exclude':
      marks.push({ ...when, kind: 'excluded', file: null });
      return 'done';
    case 'include':
      marks.push({ ...when, kind: 'included', file: null });
      return 'done';
    case 'restore':
      if (known(ledger) === null) return 'unknown-invoice';
      if (voidOf(ledger) === null) return 'not-voided';
      if (openVoids(ledger).some(({ isEvent }) => !isEvent)) return 'voided-by-service';
      marks.push({ ...when, kind: 'restored', file: null });
      return 'done';
    case 'choose': {
      if (known(ledger) === null) return 'unknown-invoice';
      const chosen = loads.find(({ version }) => version === deed.version);
      if (chosen === undefined) return 'no-such-version';
      if (countingLoad(ledger) === chosen) return 'counts-already';
      marks.push({ ...when, kind: 'chosen', file: chosen.file });
      return 'done';
    }
    case 'attention':
      marks.push({ ...when, kind: 'attention', file: null });
      return 'recorded';
    case 'resolve':
      if (known(ledger)?.state !== 'needs_attention') return 'nothing';
      marks.push({ ...when, kind: 'resolved', file: null });
      return 'recorded';
  }
}

interface Loading {
  readonly at: string;
  readonly order: number;
  readonly isNamed: boolean;
  readonly isImport: boolean;
}

function load(ledger: Ledger, file: number, { at, order, isNamed, isImport }: Loading): string {
  if (voidOf(ledger) !== null) return 'voided';
  const before = ledger.loads.find((one) => same(ledger, one.file, file));
  if (before !== undefined) return 'already_loaded';
  const isProved = isNamed || isNamedOrChosen(ledger, file);
  const rows = ledger.invoice.files[file] ?? [];
  const header = headerOf(ledger);
  // Several currencies contradict a stated one; without one nothing is contradicted.
  const against = contradictions(header, rows).filter(
    (rule) => rule !== 'currency' || typeof header.currencyCode === 'string',
  );
  if (!isProved && against.length > 0) return 'contradicted';
  if (isImport && !isProved && looksLikeSpreadsheet(rows)) return 'rejected';
  ledger.loads.push({
    ...{ order, at, file, version: ledger.loads.length + 1 },
    isDenied: isImport && !isProved && lastNamed(ledger) !== null,
  });
  return 'loaded';
}

/** An import that shows these signs is refused; see `docs/csv-files.md`. */
function looksLikeSpreadsheet(rows: readonly Row[]): boolean {
  const isShort = (row: Row): boolean => /^[0-9]{3,4}$/.test(row.origin);
  return (
    rows.some((row) =>
      [row.tenant, row.origin, row.tracking, row.zone, row.service].some((cell) =>
        /^[0-9](\.[0-9]+)?[eE]\+[0-9]+$/.test(cell),
      ),
    ) ||
    rows.some((row) => isShort(row) && row.currency === 'USD') ||
    (rows.some(isShort) && rows.some((row) => /^[0-9]{5}$/.test(row.origin)))
  );
}

/** Files are the same if their bytes are. */
function same({ invoice }: Ledger, one: number | null, other: number | null): boolean {
  if (one === null || other === null) return false;
  return one === other || JSON.stringify(invoice.files[one]) === JSON.stringify(invoice.files[other]);
}

interface Ruling {
  readonly file: number;
  /** Files that the service had named when a person chose another one; null: an answer of the service. */
  readonly overruled: readonly number[] | null;
}

function rulingsOf(ledger: Ledger): readonly Ruling[] {
  const rulings: Ruling[] = [];
  for (const { kind, file, order } of ledger.marks) {
    if (file === null) continue;
    if (kind === 'chosen') rulings.push({ file, overruled: namedBefore(ledger, order) });
    else if (!rulings.at(-1)?.overruled?.some((one) => same(ledger, one, file)))
      rulings.push({ file, overruled: null });
  }
  return rulings;
}

function namedBefore({ evidence, marks }: Ledger, order: number): readonly number[] {
  const named = [
    ...evidence.filter((one) => one.order < order).map(({ announced }) => announced),
    ...marks.filter((one) => one.order < order && one.kind === 'named').map(({ file }) => file),
  ];
  return named.filter((file) => file !== null);
}

/** Of announcements the newest by the sender's clock, which counts up to two minutes after the receipt. */
function newestFirst(evidence: readonly Evidence[]): Evidence[] {
  return evidence.toSorted((one, other) => compareText(other.sentAt, one.sentAt) || other.order - one.order);
}

/** The file that the service named last: in its last answer, else in the newest announcement. */
function lastNamed(ledger: Ledger): number | null {
  const answered = rulingsOf(ledger).findLast(({ overruled }) => overruled === null);
  const announced = newestFirst(ledger.evidence.filter((one) => one.announced !== null))[0];
  return answered?.file ?? announced?.announced ?? null;
}

function isNamedOrChosen(ledger: Ledger, file: number): boolean {
  return (
    ledger.evidence.some(({ announced }) => same(ledger, announced, file)) ||
    ledger.marks.some((mark) => same(ledger, mark.file, file))
  );
}

function countingLoad(ledger: Ledger): Load | null {
  const { loads, evidence } = ledger;
  const loadOf = (file: number | null): Load | undefined =>
    loads.findLast((load) => same(ledger, load.file, file));
  for (const { file } of rulingsOf(ledger).toReversed()) {
    const load = loadOf(file);
    if (load !== undefined) return load;
  }
  for (const { announced } of newestFirst(evidence)) {
    const load = loadOf(announced);
    if (load !== undefined) return load;
  }
  return loads.findLast(({ isDenied }) => !isDenied) ?? null;
}

function openVoids({ evidence, marks }: Ledger): readonly Evidence[] {
  const restored = marks.findLast(({ kind }) => kind === 'restored')?.order ?? 0;
  return evidence.filter(({ status, order }) => status === 'voided' && order > restored);
}

interface Span {
  readonly since: string;
  readonly until: string | null;
}

/** @returns since when it is out of every total without a break; null: it is in them */
function voidOf(ledger: Ledger): string | null {
  const { evidence, marks } = ledger;
  const endOf = (order: number, ...kinds: readonly Mark['kind'][]): string | null =>
    marks.find((mark) => mark.order > order && kinds.includes(mark.kind))?.at ?? null;
  const spans = [
    ...evidence
      .filter(({ status }) => status === 'voided')
      .map(({ at, order }) => ({ since: at, until: endOf(order, 'restored') })),
    ...marks
      .filter(({ kind }) => kind === 'excluded')
      .map(({ at, order }) => ({ since: at, until: endOf(order, 'restored', 'included') })),
  ].sort((one, other) => compareText(one.since, other.since));
  let out: Span | null = null;
  for (const { since, until } of spans) {
    if (out === null || (out.until !== null && out.until < since)) out = { since, until };
    else if (out.until !== null && (until === null || until > out.until)) out = { since: out.since, until };
  }
  return out !== null && out.until === null ? out.since : null;
}

/** The header of the finalized invoice counts, then that of a void, then that of a draft; of equal ones the latest. */
function headerOf({ evidence }: Ledger): Header & { readonly partnerId: string | null } {
  const places = { 0: 0, 1: 1, 2: 3, 3: 2 } as const;
  const unranked = Math.max(0, ...evidence.filter(({ rank }) => rank !== 3).map(({ rank }) => places[rank]));
  const placeOf = ({ rank }: Evidence): number => (rank === 0 ? unranked : places[rank]);
  const sorted = evidence.toSorted(
    (one, other) =>
      placeOf(other) - placeOf(one) ||
      // An answer of the service precedes what events state.
      Number(one.isEvent) - Number(other.isEvent) ||
      (one.isEvent ? compareText(other.sentAt, one.sentAt) : 0) ||
      other.order - one.order,
  );
  const stated = <Name extends keyof Header>(name: Name): Exclude<Header[Name], undefined> | null =>
    (sorted.map(({ header }) => header[name]).find((value) => value !== undefined && value !== null) ??
      null) as Exclude<Header[Name], undefined> | null;
  const [tenantId] = sorted.map(({ header }) => header.tenantId).filter((id) => id !== undefined);
  // Null states a partner-level invoice (spec 2.9). A missing field states nothing, unless no record names a tenant.
  const isSilent = stated('partnerTenantId') === null && sorted.some(({ isEvent }) => isEvent);
  return {
    ...(tenantId === undefined ? (isSilent ? { tenantId: null } : {}) : { tenantId }),
    partnerTenantId: stated('partnerTenantId') ?? null,
    invoiceNumber: stated('invoiceNumber') ?? null,
    invoiceStartDate: stated('invoiceStartDate')?.slice(0, 10) ?? null,
    invoiceEndDate: stated('invoiceEndDate')?.slice(0, 10) ?? null,
    invoiceDate: stated('invoiceDate')?.slice(0, 10) ?? null,
    invoiceDueDate: stated('invoiceDueDate')?.slice(0, 10) ?? null,
    currencyCode: stated('currencyCode') ?? null,
    invoiceTotalAmount: stated('invoiceTotalAmount') ?? null,
    totalTransactionCount: stated('totalTransactionCount') ?? null,
    partnerId: sorted.find(({ partnerId }) => partnerId !== null)?.partnerId ?? null,
  };
}

function ownCurrency(stated: string | null | undefined, rows: readonly Row[]): string | null {
  const counts = new Map<string, number>();
  for (const { currency } of rows) counts.set(currency, (counts.get(currency) ?? 0) + 1);
  if (stated !== null && stated !== undefined && (counts.has(stated) || counts.size === 0)) return stated;
  const [most] = [...counts].sort(([one, n], [other, m]) => m - n || compareText(one, other));
  return most?.[0] ?? null;
}

function contradictions(header: Header, rows: readonly Row[]): string[] {
  const {
    currencyCode: stated = null,
    totalTransactionCount: count = null,
    invoiceTotalAmount: total = null,
  } = header;
  const own = ownCurrency(stated, rows);
  const cost = sum(rows.filter(({ currency }) => currency === own).map((row) => parsed(row.cost)));
  const currencies = new Set(rows.map(({ currency }) => currency));
  const found: string[] = [];
  if (stated === null ? currencies.size > 1 : rows.some(({ currency }) => currency !== stated))
    found.push('currency');
  if (count !== null && count !== rows.length) found.push('shipment-count');
  // With all its digits: 10.00005 is not 10.0001.
  if (total !== null && parse(total, 12) !== cost * 10n ** 8n) found.push('total-amount');
  return found;
}

function linesOf(rows: readonly Row[], invoice: KnownInvoice): Line[] {
  const orNull = (cell: string): string | null => (cell === '' ? null : cell);
  return rows.map((row, at) => ({
    ...{ invoice, row: at + 1, tenant: row.tenant, invoiceDate: row.invoiceDate, shipDate: row.shipDate },
    ...{ origin: orNull(row.origin), currency: row.currency, cost: parsed(row.cost) },
    ...{
      weight: row.weight === '' ? null : parsed(row.weight),
      unit: orNull(row.unit),
      tracking: row.tracking,
    },
    ...{ carrier: row.carrier, zone: orNull(row.zone), carrierInvoiceDate: orNull(row.carrierInvoiceDate) },
    service: orNull(row.service),
  }));
}

function known(ledger: Ledger): KnownInvoice | null {
  const { invoice, evidence, loads, marks } = ledger;
  // Records of what a person did to an invoice that nothing else names make it known.
  const seen = [...evidence, ...loads, ...marks].map(({ at }) => at);
  if (seen.length === 0) return null;
  const header = headerOf(ledger);
  const counting = countingLoad(ledger);
  const rows = counting === null ? [] : (invoice.files[counting.file] ?? []);
  const voidedAt = voidOf(ledger);
  const versions: Version[] = [];
  const { tenantId } = header;
  const isPartnerLevel = tenantId === null;
  const itself: KnownInvoice = {
    ...{ id: invoice.id, number: header.invoiceNumber ?? null, partnerId: header.partnerId },
    ...{
      tenantId: tenantId ?? null,
      partnerTenantId: isPartnerLevel ? null : (header.partnerTenantId ?? null),
    },
    level: tenantId === undefined ? 'unknown' : isPartnerLevel ? 'partner' : 'tenant',
    ...stateOf(ledger, counting, voidedAt),
    serviceStatus:
      evidence
        .filter(({ status }) => status !== null)
        .sort(
          (one, other) =>
            other.rank - one.rank || compareText(other.sentAt, one.sentAt) || other.order - one.order,
        )[0]?.status ?? null,
    ...{ start: header.invoiceStartDate ?? null, end: header.invoiceEndDate ?? null },
    ...{ date: header.invoiceDate ?? null, due: header.invoiceDueDate ?? null },
    statedCurrency: header.currencyCode ?? null,
    statedTotal: parse(header.invoiceTotalAmount ?? ''),
    statedText: header.invoiceTotalAmount ?? null,
    statedShipments: header.totalTransactionCount ?? null,
    ...{ firstSeenAt: seen.reduce((one, other) => (other < one ? other : one)), voidedAt },
    proof: counting === null ? null : proofOf(ledger, counting, header),
    currency: ownCurrency(header.currencyCode, rows),
    rules: counting === null ? [] : rulesOf(ledger, counting, header),
    get current() {
      return versions.find(({ version }) => version === counting?.version) ?? null;
    },
    versions,
  };
  for (const { file, version, at } of loads) {
    const rows = invoice.files[file] ?? [];
    versions.push({ file, version, loadedAt: at, rows, lines: linesOf(rows, itself) });
  }
  return itself;
}

type Proof = 'hash' | 'announced' | 'header' | 'unproved';

/** Only an answer of the service makes a hash its word; an event is the word of its sender. */
function proofOf(ledger: Ledger, load: Load, header: Header): Proof {
  const { evidence, marks } = ledger;
  if (marks.some((mark) => mark.kind === 'named' && same(ledger, mark.file, load.file))) return 'hash';
  if (evidence.some(({ announced }) => same(ledger, announced, load.file))) return 'announced';
  const isStated =
    typeof header.totalTransactionCount === 'number' && typeof header.invoiceTotalAmount === 'string';
  return isStated && contradictions(header, ledger.invoice.files[load.file] ?? []).length === 0
    ? 'header'
    : 'unproved';
}

function rulesOf(ledger: Ledger, load: Load, header: Header): readonly string[] {
  const rows = ledger.invoice.files[load.file] ?? [];
  const found = contradictions(header, rows);
  const days = rows.map(({ shipDate }) => shipDate).sort();
  const [first = '', last = ''] = [days[0], days.at(-1)];
  const { invoiceStartDate: start = null, invoiceEndDate: end = null } = header;
  if ((start !== null && first < start) || (end !== null && last > end)) found.push('period');
  const newest = newestFirst(ledger.evidence.filter((one) => one.announced !== null))[0];
  const isUnheeded =
    newest !== undefined && newest.at > load.at && !same(ledger, newest.announced, load.file);
  const named = isUnheeded ? newest.announced : lastNamed(ledger);
  if (named !== null && !same(ledger, named, load.file)) {
    found.push('announced-hash');
    const sizeOf = (file: number): number =>
      Buffer.byteLength(csvOf(ledger.invoice.files[file] ?? [], ledger.invoice.id));
    // Only an event states a size that is compared.
    if (ledger.evidence.some(({ announced }) => announced !== null) && sizeOf(named) !== sizeOf(load.file))
      found.push('announced-size');
  }
  return found;
}

function stateOf(
  ledger: Ledger,
  counting: Load | null,
  voidedAt: string | null,
): Pick<KnownInvoice, 'state' | 'stateSince' | 'reason'> {
  const { evidence, loads, marks } = ledger;
  const excluded = marks.findLast(({ kind }) => kind === 'excluded');
  if (openVoids(ledger).length > 0 && voidedAt !== null)
    return { state: 'voided', stateSince: voidedAt, reason: null };
  if (voidedAt !== null && excluded !== undefined)
    return { state: 'needs_attention', stateSince: excluded.at, reason: 'It is not ours.' };
  const closed = Math.max(
    counting?.order ?? 0,
    marks.findLast(({ kind }) => kind === 'resolved')?.order ?? 0,
  );
  const open = marks.findLast(({ kind, order }) => kind === 'attention' && order > closed);
  if (open !== undefined)
    return { state: 'needs_attention', stateSince: open.at, reason: 'A file is rejected.' };
  const restoredAt = marks.findLast(({ kind }) => kind === 'restored')?.at ?? '';
  const since = (at: string): string => (at > restoredAt ? at : restoredAt);
  if (counting !== null) return { state: 'loaded', stateSince: since(counting.at), reason: null };
  const firstOf = (rank: number): string | undefined => evidence.find((one) => one.rank === rank)?.at;
  const finalizedAt = firstOf(2);
  if (finalizedAt !== undefined) return { state: 'finalized', stateSince: since(finalizedAt), reason: null };
  const first = [...evidence, ...loads, ...marks].sort((one, other) => one.order - other.order)[0]?.at ?? '';
  return { state: 'draft', stateSince: since(firstOf(1) ?? first), reason: null };
}
