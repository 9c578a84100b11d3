/**
 * Sent statements, kept permanently beside the archive: a folder for each tenant with a folder for each statement, written
 * once. They are not in the archive, since no total and no rebuild needs them.
 *
 * A statement takes its number by an exclusive rename instead of a lock: of two processes, the second one reads the statement
 * of the first and composes its own again, so that no correction is made twice.
 */

import { createHash } from 'node:crypto';
import { mkdirSync, renameSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { dataFolder } from '../../lib/files/data-folder.ts';
import { createDurably, makeFolder, syncFolder, writeSynced } from '../../lib/files/durable-files.ts';
import { namesIn, sweepLeftBehind, temporaryName } from '../../lib/files/files.ts';
import { systemCode } from '../../lib/system-errors.ts';
import { DATE_BASES } from '../../reports/report-filters.ts';
import {
  keyOf,
  SentStatementError,
  type ShipmentLines,
  type Statement,
  type StatementTenant,
} from './statement.ts';

export interface SentStatements {
  /** Oldest first. @throws SentStatementError one of them cannot be read, or is missing */
  of(tenant: StatementTenant): Promise<readonly Statement[]>;
  /** The lines that were kept with the statement of that number, from 1; null: none were. @throws SentStatementError */
  shipmentsOf(tenant: StatementTenant, number: number): Promise<ShipmentLines | null>;
  /** @returns false when that number was taken meanwhile; nothing is kept then. Durable when true. */
  keep(statement: Statement, shipments: ShipmentLines | null, number: number): Promise<boolean>;
  /** The first month of which all tenants were sent statements at once; null: never. */
  allTenantsSince(): Promise<string | null>;
  recordAllTenants(period: string): Promise<void>;
}

const ALL_TENANTS = 'all-tenants';
const FILE = 'statement.json';
const LINES = 'shipments.json';

export function sentFolder(dataDir: string): string {
  return dataFolder(dataDir).sentStatements;
}

/** Key of a tenant for names of files and folders; 16 hex digits. */
export function shortKey(tenant: StatementTenant): string {
  return createHash('sha256').update(keyOf(tenant)).digest('hex').slice(0, 16);
}

/** @param folder it is made when something is kept */
export function openSentStatements(folder: string): SentStatements {
  const ofTenant = (tenant: StatementTenant): string => join(folder, shortKey(tenant));
  const place = (tenant: StatementTenant, number: number): string =>
    join(ofTenant(tenant), String(number).padStart(4, '0'));
  return {
    async of(tenant) {
      const names = (await namesIn(ofTenant(tenant))).filter((name) => /^\d{4,}$/.test(name)).sort();
      return Promise.all(names.map((_, index) => readStatement(place(tenant, index + 1), tenant)));
    },
    async shipmentsOf(tenant, number) {
      const statement = await readStatement(place(tenant, number), tenant);
      if (statement.shipments === null) return null;
      return (await readJson(join(place(tenant, number), LINES))) as ShipmentLines;
    },
    async keep(statement, shipments, number) {
      await makeFolder(ofTenant(statement));
      await sweepLeftBehind(ofTenant(statement));
      const draft = temporaryName(ofTenant(statement));
      mkdirSync(draft, { mode: 0o700 });
      try {
        await writeSynced(join(draft, FILE), `${JSON.stringify(statement)}\n`);
        if (shipments !== null) await writeSynced(join(draft, LINES), `${JSON.stringify(shipments)}\n`);
        await syncFolder(draft);
        // A folder that has files is not replaced.
        renameSync(draft, place(statement, number));
      } catch (error) {
        await rm(draft, { recursive: true, force: true });
        if (systemCode(error) === 'ENOTEMPTY' || systemCode(error) === 'EEXIST') return false;
        throw error;
      }
      await syncFolder(ofTenant(statement));
      return true;
    },
    async allTenantsSince() {
      const names = (await namesIn(join(folder, ALL_TENANTS))).filter((name) => /^\d{4}-\d\d$/.test(name));
      return names.sort()[0] ?? null;
    },
    async recordAllTenants(period) {
      await makeFolder(join(folder, ALL_TENANTS));
      await createDurably(join(folder, ALL_TENANTS, period), '');
    },
  };
}

const amount = z.string().regex(/^-?\d{1,34}\.\d{4}$/);
const names = {
  invoice_id: z.string(),
  invoice_number: z.string().nullable(),
  currency_code: z.string(),
};
/** The fields that corrections need; the others are shown as they are stored. */
const Kept = z.looseObject({
  ...{ tenant: z.string(), tenant_id: z.string().nullable(), partner_id: z.string().nullable() },
  ...{ period: z.string().regex(/^\d{4}-\d\d$/), by: z.enum(DATE_BASES), sent_at: z.string() },
  invoices: z.array(z.looseObject({ ...names, amount })),
  corrections: z.array(z.looseObject({ ...names, period: z.string(), difference: amount })),
  shipments: z.object({ lines: z.number(), sha256: z.string() }).nullable(),
});

async function readStatement(folder: string, tenant: StatementTenant): Promise<Statement> {
  const path = join(folder, FILE);
  const parsed = Kept.safeParse(await readJson(path));
  if (!parsed.success) throw damaged(path);
  // A moved folder, rather than two tenants with the same short key.
  if (keyOf(parsed.data) !== keyOf(tenant)) throw damaged(path);
  return parsed.data as unknown as Statement;
}

async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    throw damaged(path, error);
  }
}

function damaged(path: string, cause?: unknown): SentStatementError {
  return new SentStatementError('A statement that was sent cannot be read, so nothing is corrected by it', {
    ...{ subject: path, cause },
    hint: 'restore it from a backup; without it nobody can say what the tenant was told',
  });
}
