import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import type { QuarantinedItem, RefusedItem } from '../../../lib/quarantine.ts';
import { openQuarantine } from '../../../webhook/inbox/quarantine.ts';
import { brokenRecord } from '../../archive/broken-records.ts';
import { testFolder } from '../../support/folders.ts';

let root: string;

beforeEach(async () => {
  root = join(testFolder(), 'quarantine');
});

const aFile = { kind: 'file', code: 'csv-rejected', sha256: 'a'.repeat(64) } as const;

function anItem(over: Partial<QuarantinedItem> = {}): RefusedItem {
  return {
    kind: 'delivery',
    at: '2026-03-01T00:00:00.000Z',
    code: 'not-json',
    reason: 'The body is no JSON.',
    invoiceId: null,
    eventId: null,
    sha256: null,
    findings: [],
    findingCount: 0,
    ...over,
  };
}

describe('quarantine', () => {
  test('keeps a delivery without its URL query, readable by its owner only', async () => {
    const quarantine = await openQuarantine(root);
    const raw = Buffer.concat([
      Buffer.from('{"url":"https:\\/\\/s.example\\/f.csv?X-Amz-Signature=topsecret\\u0026b=1","n":1.10} '),
      Buffer.from([0xff, 0xfe]),
    ]);
    const id = await quarantine.put(anItem(), raw);
    const found = await quarantine.show(id);
    expect(found?.item).toMatchObject({ code: 'not-json', quarantineId: id });
    expect(Buffer.from(found?.body ?? []).toString('latin1')).toBe(
      '{"url":"https:\\/\\/s.example\\/f.csv","n":1.10} \xff\xfe',
    );
    for (const name of await readdir(root)) {
      expect((await stat(join(root, name))).mode & 0o777).toBe(0o600);
      expect(await readFile(join(root, name), 'latin1')).not.toContain('topsecret');
    }
  });

  test('stores the same refusal once, visible to other processes', async () => {
    const quarantine = await openQuarantine(root);
    const other = await openQuarantine(root);
    const first = await quarantine.put(anItem(), Buffer.from('x'));
    expect(await quarantine.put(anItem({ at: '2026-03-02T00:00:00.000Z' }), Buffer.from('x'))).toBe(first);
    await quarantine.put(anItem(), Buffer.from('y'));
    expect(await other.list()).toHaveLength(2);
    await other.remove(first);
    expect(await quarantine.list()).toHaveLength(1);
    expect(await quarantine.show(first)).toBeNull();
  });

  test('does not count a large archived file against deliveries', async () => {
    const quarantine = await openQuarantine(root, { maxBytes: 1000 });
    await quarantine.put(anItem(), Buffer.from('x'));
    await quarantine.put(anItem({ ...aFile, sizeBytes: 1_000_000 }));
    expect(await quarantine.list()).toHaveLength(2);
  });

  test('drops the oldest invalid items first and spares what could be requeued', async () => {
    const dropped: string[] = [];
    const quarantine = await openQuarantine(root, {
      maxItems: 3,
      onDropped: (item) => dropped.push(item.quarantineId),
    });
    const put = (code: string, minute: number): Promise<string> =>
      quarantine.put(anItem({ code, eventId: `${minute}`, at: `2026-03-01T00:0${minute}:00.000Z` }));
    const foreign = await put('foreign-partner', 0);
    const oldest = await put('not-json', 1);
    const newer = await put('invalid-payload', 2);
    await put('not-json', 3);
    expect(dropped).toEqual([oldest]);
    await put('unknown-event-type', 4);
    expect(dropped).toEqual([oldest, newer]);
    expect((await quarantine.list()).map((item) => item.quarantineId)).toContain(foreign);
  });

  test('refuses an id that is a path', async () => {
    const quarantine = await openQuarantine(root);
    await expect(quarantine.show('../../etc/passwd')).rejects.toThrow(RangeError);
    await expect(quarantine.remove('x')).rejects.toThrow(RangeError);
  });
});

test('lists all items, whatever replaces a description', async () => {
  const quarantine = await openQuarantine(root);
  const whole = await quarantine.put(anItem({ eventId: 'a' }), Buffer.from('one'));
  const broken = await quarantine.put(anItem({ eventId: 'b' }), Buffer.from('two'));
  const path = join(root, broken);
  const [json = '', body = ''] = (await readFile(path, 'utf8')).split('\n');
  await fc.assert(
    fc.asyncProperty(brokenRecord(json), async (bytes) => {
      await writeFile(path, Buffer.concat([bytes, Buffer.from(`\n${body}`)]));
      const again = await openQuarantine(root);
      const listed = await again.list();
      expect(listed.map(({ quarantineId }) => quarantineId).sort()).toEqual([whole, broken].sort());
      const found = await again.show(broken);
      expect(Buffer.from(found?.body ?? []).toString()).toBe('two');
      await again.put(anItem({ eventId: 'a' }), Buffer.from('one'));
    }),
    { numRuns: 60 },
  );
  await writeFile(path, 'nonsense');
  const again = await openQuarantine(root);
  expect((await again.show(broken))?.item).toMatchObject({ code: 'description-damaged', kind: 'delivery' });
  await again.remove(broken);
  expect(await again.list()).toHaveLength(1);
});
