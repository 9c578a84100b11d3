import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { statementText } from '../../reports/statement-text.ts';

test('reads a statement again after a failure', async () => {
  const path = join(await mkdtemp(join(tmpdir(), 'statement-')), 'rows.sql');
  const file = pathToFileURL(path);
  await expect(statementText(file)).rejects.toThrow('ENOENT');
  await writeFile(path, 'select 1');
  await expect(statementText(file)).resolves.toBe('select 1');
});

test('reads a statement once for concurrent requests', async () => {
  const path = join(await mkdtemp(join(tmpdir(), 'statement-')), 'rows.sql');
  await writeFile(path, 'select 1');
  const [one, other] = [statementText(pathToFileURL(path)), statementText(pathToFileURL(path))];
  expect(one).toBe(other);
});
