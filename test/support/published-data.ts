import { copyFile, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import type { ForeignRow } from './foreign-billing.ts';
import { runCommand } from './processes/run-command.ts';

export function billedSums(
  rows: readonly Pick<ForeignRow, 'tenant' | 'currencyCode' | 'billingCost'>[],
): ReadonlyMap<string, Sum> {
  const sums = new Map<string, Sum>();
  for (const row of rows) addTo(sums, `${row.tenant}/${row.currencyCode}`, row.billingCost);
  return sums;
}

/** @throws Error with the output of a failed command */
export async function reportedSums(env: Readonly<Record<string, string>>): Promise<ReadonlyMap<string, Sum>> {
  const rows = await runJson<ReportedTenant[]>(['report', 'tenants'], env);
  return new Map(
    rows.map((row) => [
      `${row.tenant}/${row.currency_code}`,
      { rows: Number(row.shipments), tenThousandths: exact(row.billing_cost) },
    ]),
  );
}

interface ReportedTenant {
  readonly tenant: string;
  readonly currency_code: string;
  readonly billing_cost: string;
  readonly shipments: number | string;
}

export async function runJson<T>(args: readonly string[], env: Readonly<Record<string, string>>): Promise<T> {
  const { exitCode, stdout, stderr } = await runCommand([...args, '--json'], { env });
  if (exitCode !== 0) throw new Error(`${args.join(' ')}: ${exitCode} ${stderr}`);
  return JSON.parse(stdout) as T;
}

export interface Sum {
  readonly rows: number;
  readonly tenThousandths: bigint;
}

export function addTo(sums: Map<string, Sum>, name: string, cost: string): void {
  const { rows, tenThousandths } = sums.get(name) ?? { rows: 0, tenThousandths: 0n };
  sums.set(name, { rows: rows + 1, tenThousandths: tenThousandths + exact(cost) });
}

export function differences(
  expected: ReadonlyMap<string, Sum>,
  found: ReadonlyMap<string, Sum>,
): readonly string[] {
  return [...new Set([...expected.keys(), ...found.keys()])].flatMap((name) => {
    const [should, is] = [describeSum(expected.get(name)), describeSum(found.get(name))];
    return should === is ? [] : [`${name}: ${should} billed, ${is} found`];
  });
}

export function describeSum(sum: Sum | undefined): string {
  return sum === undefined ? 'nothing' : `${sum.rows} rows of ${sum.tenThousandths} ten-thousandths`;
}

/** Decimal text in ten-thousandths. @throws SyntaxError for more than four decimals, or another text */
export function exact(decimal: string): bigint {
  const match = /^(-?)(\d+)(?:\.(\d{0,4})0*)?$/.exec(decimal.trim());
  if (match === null) throw new SyntaxError(`"${decimal}" is no amount.`);
  const amount = BigInt(`${match[2]}${(match[3] ?? '').padEnd(4, '0')}`);
  return match[1] === '-' ? -amount : amount;
}

export type PublishedStates = ReadonlyMap<string, string>;

const known = new Map<string, { readonly file: string; readonly states: PublishedStates }>();

/** Invoice id to state; empty before the first publication. Each publication is a new file, so one that was read is cached. */
export async function publishedStates(dataDir: string): Promise<PublishedStates> {
  const path = join(dataDir, 'reports.duckdb');
  try {
    const { ino, mtimeNs, size } = await stat(path, { bigint: true });
    const file = `${ino} ${mtimeNs} ${size}`;
    const last = known.get(path);
    if (last?.file === file) return last.states;
    const states = await readStates(path);
    known.set(path, { file, states });
    return states;
  } catch {
    return new Map();
  }
}

async function readStates(path: string): Promise<PublishedStates> {
  const instance = await DuckDBInstance.create(path, { access_mode: 'READ_ONLY' });
  try {
    const connection = await instance.connect();
    const reader = await connection.runAndReadAll('select invoice_id::varchar, state from invoices');
    connection.closeSync();
    return new Map(reader.getRows().map(([invoiceId, state]) => [String(invoiceId), String(state)]));
  } finally {
    instance.closeSync();
  }
}

export type Query = (sql: string) => Promise<readonly Readonly<Record<string, string | null>>[]>;

/** Queries a copy of a file that no process writes. Every value is text, so that no number passes through a float. */
export async function queryCopy<T>(path: string, work: (query: Query) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'invariants-'));
  try {
    const copy = join(folder, 'copy.duckdb');
    await copyFile(path, copy);
    await copyFile(`${path}.wal`, `${copy}.wal`).catch(() => undefined);
    const instance = await DuckDBInstance.create(copy);
    const connection = await instance.connect();
    try {
      return await work(async (sql) => {
        const reader = await connection.runAndReadAll(sql);
        return reader.getRowObjects().map(asText);
      });
    } finally {
      connection.closeSync();
      instance.closeSync();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function asText(row: Readonly<Record<string, unknown>>): Readonly<Record<string, string | null>> {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, value === null ? null : String(value)]),
  );
}
