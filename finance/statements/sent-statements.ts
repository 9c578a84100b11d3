/**
 * Sent statements in the user store: a folder for each tenant, a file for each statement, written once.
 * Creating the file takes the number: of two processes the second one composes its statement again, so that
 * no correction is made twice.
 */

import { createHash } from 'node:crypto';
import { z } from 'zod';
import { createUserFile, USER_FILES, userStore } from '../../lib/user-store.ts';
import { DATE_BASES } from '../../reports/report-filters.ts';
import {
  keyOf,
  type ShipmentLines,
  type Statement,
  StatementError,
  type StatementTenant,
} from './statement.ts';

export type SentStatements = Awaited<ReturnType<typeof openSentStatements>>;

const ALL_TENANTS = `${USER_FILES.sentStatements}/all-tenants`;

export function shortKey(tenant: StatementTenant): string {
  return createHash('sha256').update(keyOf(tenant)).digest('hex').slice(0, 16);
}

export async function openSentStatements(dataDir: string) {
  const store = await userStore(dataDir);
  const folderOf = (tenant: StatementTenant): string => `${USER_FILES.sentStatements}/${shortKey(tenant)}`;
  const pathOf = (tenant: StatementTenant, number: number): string =>
    `${folderOf(tenant)}/${String(number).padStart(4, '0')}.json`;
  const linesPath = (tenant: StatementTenant, sha256: string): string =>
    `${folderOf(tenant)}/lines-${sha256}.json`;

  async function readJson(path: string): Promise<unknown> {
    try {
      return JSON.parse(String(await store.read(path)));
    } catch (error) {
      if (error instanceof SyntaxError) throw damaged(store.place(path), error);
      throw error;
    }
  }

  async function readStatement(tenant: StatementTenant, number: number): Promise<Statement> {
    const path = pathOf(tenant, number);
    const parsed = Kept.safeParse(await readJson(path));
    // The statement of another tenant means that the file was moved.
    if (!parsed.success || keyOf(parsed.data) !== keyOf(tenant)) throw damaged(store.place(path));
    return parsed.data as unknown as Statement;
  }

  async function statementsIn(tenant: StatementTenant): Promise<readonly Statement[]> {
    const numbers = (await store.list(folderOf(tenant))).filter((path) => /\/\d{4,}\.json$/.test(path));
    return Promise.all(numbers.map((_, index) => readStatement(tenant, index + 1)));
  }

  return {
    /**
     * Oldest first, with those sent to the tenant before its partner or id was known.
     * @param present keys of the publication's tenants, whose own statements these are not
     * @throws StatementError one cannot be read, or is missing
     */
    async of(tenant: StatementTenant, present: ReadonlySet<string>): Promise<readonly Statement[]> {
      const before = formerNamesOf(tenant).filter((former) => !present.has(keyOf(former)));
      return (await Promise.all([...before, tenant].map(statementsIn))).flat();
    },
    /** Returns null when no lines were kept with the statement. @throws StatementError */
    async shipmentsOf(statement: Statement): Promise<ShipmentLines | null> {
      const { shipments } = statement;
      if (shipments === null) return null;
      return (await readJson(linesPath(statement, shipments.sha256))) as ShipmentLines;
    },
    /**
     * The statement is durable when the call returns true; false means that another one was sent meanwhile, and nothing is kept.
     * @param before all statements that were sent until then
     */
    async keep(
      statement: Statement,
      shipments: ShipmentLines | null,
      before: readonly Statement[],
    ): Promise<boolean> {
      const number = nextNumber(before, statement);
      // Lines are written before the statement, so that a statement is never without them.
      if (shipments !== null && statement.shipments !== null) {
        await createUserFile(
          store,
          linesPath(statement, statement.shipments.sha256),
          `${JSON.stringify(shipments)}\n`,
        );
      }
      return createUserFile(store, pathOf(statement, number), `${JSON.stringify(statement)}\n`);
    },
    /** Returns the months that were sent to all tenants at once, also to those of which nothing was billed then. */
    async allTenantsMonths(): Promise<readonly string[]> {
      return (await store.list(ALL_TENANTS)).map((path) => path.slice(-'YYYY-MM'.length));
    },
    async recordAllTenants(period: string): Promise<void> {
      await createUserFile(store, `${ALL_TENANTS}/${period}`, '');
    },
  };
}

export function nextNumber(sent: readonly Statement[], tenant: StatementTenant): number {
  return sent.filter((each) => keyOf(each) === keyOf(tenant)).length + 1;
}

/** Returns the statements that count: a replaced one no longer states anything. */
export function withoutReplaced(sent: readonly Statement[]): readonly Statement[] {
  return sent.filter(
    (each) =>
      !sent.some(
        ({ period, replaces }) =>
          period === each.period && replaces?.number === each.number && replaces?.sent_at === each.sent_at,
      ),
  );
}

/** Returns the tenant as it was known without its partner, without its id, or without both. */
function formerNamesOf({ tenant, tenant_id: id, partner_id }: StatementTenant): readonly StatementTenant[] {
  const plain = id === null ? tenant : tenant.replace(` (${id})`, '');
  const partners = [...new Set([null, partner_id])];
  return [
    ...(id === null
      ? []
      : partners.map((partner) => ({ tenant: plain, tenant_id: null, partner_id: partner }))),
    ...(partner_id === null ? [] : [{ tenant, tenant_id: id, partner_id: null }]),
  ];
}

const amount = z.string().regex(/^-?\d{1,34}\.\d{4}$/);
const names = {
  invoice_id: z.string(),
  invoice_number: z.string().nullable(),
  currency_code: z.string(),
};
/** The fields that corrections need; the others are not validated. */
const Kept = z.looseObject({
  ...{ tenant: z.string(), tenant_id: z.string().nullable(), partner_id: z.string().nullable() },
  ...{ period: z.string().regex(/^\d{4}-\d\d$/), by: z.enum(DATE_BASES), sent_at: z.string() },
  invoices: z.array(z.looseObject({ ...names, amount })),
  corrections: z.array(z.looseObject({ ...names, period: z.string(), difference: amount })),
  shipments: z.object({ lines: z.number(), sha256: z.string() }).nullable(),
});

function damaged(place: string, cause?: unknown): StatementError {
  return new StatementError('sent-statement-damaged', [], { subject: place, cause });
}
