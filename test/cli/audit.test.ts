import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openQuarantine } from '../../webhook/inbox/quarantine.ts';
import { testFolder } from '../support/folders.ts';
import { runCommand } from '../support/processes/run-command.ts';

const root = testFolder();
const dataDir = join(root, 'data');
const env = { BILLSYNC_DATA_DIR: dataDir };

test('records a discard with user, reason and result, and detects a change of the log', async () => {
  const quarantine = await openQuarantine(join(dataDir, 'inbox', 'quarantine'));
  const id = await quarantine.put(
    {
      ...{ kind: 'delivery', at: '2026-03-01T00:00:00Z', code: 'not-json', reason: 'No JSON.' },
      ...{ invoiceId: null, eventId: null, sha256: null, findings: [], findingCount: 0 },
    },
    Buffer.from('{'),
  );
  await runCommand(['quarantine', 'discard', id, '--dry-run'], { env });
  await runCommand(['quarantine', 'list'], { env });
  expect(existsSync(join(dataDir, 'user', 'audit'))).toBe(false);
  // Without a confirmation.
  expect(
    (await runCommand(['quarantine', 'discard', id, '--note', 'a test of ours'], { env })).exitCode,
  ).toBe(2);
  expect(
    (await runCommand(['quarantine', 'discard', id, '--note', 'rubbish', '--yes'], { env })).exitCode,
  ).toBe(0);
  const { stdout } = await runCommand(['audit', 'list', '--json'], { env });
  const same = { via: 'command', action: 'quarantine discard', target: [id] };
  expect(JSON.parse(stdout)).toMatchObject([
    { ...same, number: 4, outcome: 'done', reason: 'rubbish', began: 3 },
    { ...same, number: 3, outcome: 'begun', reason: 'rubbish' },
    { ...same, number: 2, outcome: 'failed', detail: 'Discard 1 refused item(s)?', began: 1 },
    { ...same, number: 1, outcome: 'begun', reason: 'a test of ours' },
  ]);
  const whole = await runCommand(['audit', 'verify', '--json'], { env });
  expect(whole.exitCode).toBe(0);
  const { head, entries } = JSON.parse(whole.stdout) as { head: string; entries: number };
  expect(entries).toBe(4);
  expect((await runCommand(['audit', 'verify', '--known', head], { env })).exitCode).toBe(0);
  const path = join(dataDir, 'user', 'audit', 'log.ndjson');
  writeFileSync(path, readFileSync(path, 'utf8').replace('rubbish', 'a must'));
  const changed = await runCommand(['audit', 'verify'], { env });
  expect(changed.exitCode).toBe(1);
  expect(changed.stdout).toContain('Entry 4 does not follow entry 3');
});
