/** That few new rows are looked up among marks changes nothing of what a publication notes, whatever became of the file of marks. */

import { existsSync } from 'node:fs';
import { cp, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Database } from '../../warehouse/duckdb/database.ts';
import { migrate } from '../../warehouse/duckdb/migrate.ts';
import { marksFolderOf } from '../../warehouse/paths.ts';
import { noteRepeats } from '../../warehouse/publish/note-repeats.ts';
import type { MarksPlace } from '../../warehouse/publish/tracking-marks.ts';
import { randomFrom } from '../support/reports/seeded-invoices.ts';

/** So many that a handful of new ones are few. */
const MANY = 4_000;

interface Load {
  readonly invoice: number;
  readonly numbers: readonly string[];
}

/** A warehouse, and what of it should be noted by plain arithmetic. */
class Story {
  readonly marks: string;
  /** Lower than those of a real warehouse. */
  limits: Partial<Pick<MarksPlace, 'rowsAtOnce' | 'mostFound'>> = {};
  readonly #database: Database;
  readonly #loads: Load[] = [];
  readonly #partners = new Set<number>();
  readonly #noted = new Set<string>();
  readonly #unlooked = new Set<number>();

  constructor(database: Database) {
    this.#database = database;
    this.marks = marksFolderOf(database.path);
  }

  get invoices(): number {
    return Math.max(0, ...this.#loads.map(({ invoice }) => invoice));
  }

  async load(load: Load): Promise<void> {
    this.#loads.push(load);
    this.#unlooked.add(this.#loads.length);
    const [load_id, invoice_id] = [this.#loads.length, idOf(load.invoice)];
    const numbers = JSON.stringify(load.numbers);
    await this.#run(INSERT_LOAD, { load_id, invoice_id, shipments: load.numbers.length });
    await this.#run(INSERT_INVOICE, { invoice_id });
    await this.#run(INSERT_ROWS, { load_id, numbers });
  }

  /** As the ledger does when it comes to know the level. */
  async changeLevel(invoice: number): Promise<void> {
    if (this.#partners.has(invoice)) return;
    this.#partners.add(invoice);
    this.#loads.forEach((load, index) => {
      if (load.invoice === invoice) this.#unlooked.add(index + 1);
    });
    await this.#run('update invoice_state set invoice_level = $level where invoice_id = $id::uuid', {
      ...{ level: 'partner', id: idOf(invoice) },
    });
    await this.#database.all('forget-package-loads', { invoice_ids: `[${idOf(invoice)}]` });
  }

  async publish(): Promise<void> {
    await this.#database.transaction((session) =>
      noteRepeats(session, { folder: this.marks, manyRows: MANY, ...this.limits }),
    );
    this.#note();
  }

  /** A process that dies after it wrote marks, before its transaction is committed. */
  async publishAndDie(): Promise<void> {
    await expect(
      this.#database.transaction(async (session) => {
        await noteRepeats(session, { folder: this.marks, manyRows: MANY, ...this.limits });
        throw new Error('died');
      }),
    ).rejects.toThrow('died');
  }

  async noted(): Promise<readonly string[]> {
    const rows = await this.#run("select load_id || '/' || row_number as row from repeated_rows");
    return rows.map(({ row }) => String(row)).sort();
  }

  expected(): readonly string[] {
    return [...this.#noted].sort();
  }

  async forgetVersion(): Promise<void> {
    await this.#run("update marked_rows set made_by = 'v0.0.1'");
  }

  async marked(): Promise<number> {
    const [line] = await this.#run('select sum(entries)::double as rows from marked_rows');
    return Number(line?.rows ?? 0);
  }

  /** Whoever shares a number with a row of a load that was not looked at, on its level and not as another version of its invoice. */
  #note(): void {
    const looked = new Set([...this.#unlooked].flatMap((id) => this.#loads[id - 1]?.numbers ?? []));
    const sharing = new Map<
      string,
      { readonly row: string; readonly load: number; readonly invoice: number }[]
    >();
    this.#loads.forEach(({ invoice, numbers }, index) => {
      numbers.forEach((number, nth) => {
        if (!looked.has(number)) return;
        const key = `${this.#partners.has(invoice)} ${number}`;
        sharing.set(key, [
          ...(sharing.get(key) ?? []),
          { row: `${index + 1}/${nth + 1}`, load: index, invoice },
        ]);
      });
    });
    for (const rows of sharing.values()) {
      for (const { row, load, invoice } of rows) {
        const isTwice = rows.filter((other) => other.load === load).length > 1;
        if (isTwice || rows.some((other) => other.invoice !== invoice)) this.#noted.add(row);
      }
    }
    this.#unlooked.clear();
  }

  #run(statement: string, values: Readonly<Record<string, string | number>> = {}) {
    return this.#database.use((session) => session.statement(statement, values));
  }
}

const idOf = (invoice: number): string => `00000000-0000-4000-8000-${`${invoice}`.padStart(12, '0')}`;

const INSERT_LOAD = `insert into loads by name select $load_id::integer as load_id, $invoice_id::uuid as invoice_id, 1 as version,
  'f' as file_sha256, 1 as file_size_bytes, 'import' as file_source, 'tenant' as tenant, $shipments::integer as shipments, 1 as billing_cost,
  'USD' as currency_code, 'USD' as currencies, true as ends_with_line_end, timestamp '2026-03-01' as loaded_at`;
const INSERT_INVOICE = `insert into invoice_state by name select i as invoice_id, 'loaded' as state, timestamp '2026-03-01' as state_since,
  timestamp '2026-03-01' as first_heard_at, 1 as versions from (select $invoice_id::uuid as i)
  where i not in (select invoice_id from invoice_state)`;
const INSERT_ROWS = `insert into shipment_rows by name select $load_id::integer as load_id, generate_subscripts(n, 1)::integer as row_number,
  'tenant' as tenant, date '2026-03-01' as invoice_generation_date, date '2026-02-01' as ship_date, 'USD' as currency_code,
  1 as billing_cost, unnest(n) as tracking_number, 'ups' as carrier from (select from_json($numbers, '["varchar"]') as n)`;

async function aStory(): Promise<Story> {
  const folder = await mkdtemp(join(tmpdir(), 'billsync-marks-'));
  const path = join(folder, 'warehouse.duckdb');
  const database = await Database.open({ path, folders: [], temporaryFolder: folder, memoryLimit: null });
  onTestFinished(async () => {
    database.close();
    await rm(folder, { recursive: true, force: true });
  });
  await migrate(database, new Date('2026-03-01T00:00:00Z'));
  const story = new Story(database);
  for (let invoice = 1; invoice <= 10; invoice += 1) {
    const numbers = Array.from({ length: MANY / 10 }, (_, nth) => `N${(invoice - 1) * (MANY / 10) + nth}`);
    await story.load({ invoice, numbers });
  }
  await story.publish();
  return story;
}

/** What may become of a file between two publications. */
const FATES: readonly ((path: string) => Promise<void>)[] = [
  (path) => rm(path, { force: true }),
  (path) => truncate(path, 1_000),
  async (path) => {
    const bytes = await readFile(path);
    await truncate(path, bytes.length - 2);
  },
  ...[0, 1_234, 4_092].map((place) => async (path: string) => {
    const bytes = await readFile(path);
    bytes[place] = (bytes[place] ?? 0) ^ 1;
    await writeFile(path, bytes);
  }),
  async (path) => {
    const bytes = await readFile(path);
    await writeFile(
      path,
      Buffer.concat([bytes.subarray(4_096, 8_192), bytes.subarray(0, 4_096), bytes.subarray(8_192)]),
    );
  },
];

test.each([1, 2, 3])(
  'what is looked up among marks is what plain arithmetic finds (seed %i)',
  async (seed) => {
    const below = randomFrom(seed);
    const story = await aStory();
    for (let step = 0; step < 12; step += 1) {
      for (let nth = below(3); nth >= 0; nth -= 1) {
        const isNext = below(3) > 0;
        const invoice = isNext ? story.invoices + 1 : 1 + below(story.invoices);
        const numbers = Array.from({ length: 1 + below(12) }, () =>
          below(10) < 4 ? `N${below(MANY)}` : `S${below(400)}`,
        );
        await story.load({ invoice, numbers });
      }
      if (below(4) === 0) await story.changeLevel(1 + below(story.invoices));
      if (below(3) === 0) await story.publishAndDie();
      if (below(2) === 0) await doOne(below, story.marks);
      await story.publish();
      expect(await story.noted()).toEqual(story.expected());
    }
    expect(story.expected().length).toBeGreaterThan(50);
    expect(await story.marked()).toBeGreaterThan(MANY);
  },
);

async function doOne(below: (limit: number) => number, folder: string): Promise<void> {
  const names = existsSync(folder) ? (await readdir(folder)).sort() : [];
  const name = names[below(Math.max(names.length, 1))];
  if (name !== undefined) await FATES[below(FATES.length)]?.(join(folder, name));
}

test('files of an earlier day, and those that another warehouse left, are not believed', async () => {
  const story = await aStory();
  await story.load({ invoice: 11, numbers: ['A', 'N7'] });
  await story.publish();
  const earlier = `${story.marks}.earlier`;
  await cp(story.marks, earlier, { recursive: true });
  await story.load({ invoice: 12, numbers: ['B', 'C'] });
  await story.publish();
  await rm(story.marks, { recursive: true });
  await cp(earlier, story.marks, { recursive: true });
  await writeFile(join(story.marks, 'left'), 'by another');
  await story.load({ invoice: 13, numbers: ['C', 'A', 'N3999'] });
  await story.publish();
  expect(await story.noted()).toEqual(story.expected());
  expect(story.expected()).toEqual(['1/8', '10/400', '11/1', '11/2', '12/2', '13/1', '13/2', '13/3']);
  expect(await readdir(story.marks)).not.toContain('left');
});

test('files that another version of DuckDB made, which may hash otherwise, are made again', async () => {
  const story = await aStory();
  await story.load({ invoice: 11, numbers: ['A', 'N7'] });
  await story.publish();
  const before = await readdir(story.marks);
  await story.forgetVersion();
  await story.load({ invoice: 12, numbers: ['A'] });
  await story.publish();
  expect(await story.noted()).toEqual(story.expected());
  expect((await readdir(story.marks)).filter((name) => before.includes(name))).toEqual([]);
  expect(await story.marked()).toBe(MANY + 3);
});

test('a warehouse from before is marked by one publication after the other', async () => {
  const story = await aStory();
  story.limits = { rowsAtOnce: 1_000 };
  const marked: number[] = [];
  for (let invoice = 11; invoice < 16; invoice += 1) {
    await story.load({ invoice, numbers: ['A', `N${invoice}`] });
    await story.publish();
    marked.push(await story.marked());
    expect(await story.noted()).toEqual(story.expected());
  }
  expect(marked).toEqual([1_200, 2_400, 3_600, MANY + 8, MANY + 10]);
});

test('a number that very many rows have is looked up without marks', async () => {
  const story = await aStory();
  story.limits = { mostFound: 5 };
  await story.load({ invoice: 11, numbers: ['ADJUSTMENT', 'ADJUSTMENT', 'ADJUSTMENT'] });
  await story.publish();
  await story.load({ invoice: 12, numbers: ['ADJUSTMENT', 'N9', 'ADJUSTMENT'] });
  await story.publish();
  expect(await story.noted()).toEqual(story.expected());
  expect(story.expected()).toHaveLength(7);
});

test('there are few files, however many publications there were', async () => {
  const story = await aStory();
  for (let invoice = 11; invoice < 51; invoice += 1) {
    await story.load({ invoice, numbers: [`X${invoice}`, 'N5'] });
    await story.publish();
  }
  expect(await story.noted()).toEqual(story.expected());
  expect((await readdir(story.marks)).length).toBeLessThan(10);
  expect(await story.marked()).toBe(MANY + 80);
});
