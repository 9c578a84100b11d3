import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { startSandbox } from '../../../sandbox/service.ts';
import { testProgram } from '../../support/processes/test-program.ts';

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const root = join(import.meta.dirname, '..', '..', '..');
/** As `npm run conformance` starts it; compiling it each time would be most of these tests. */
const FROM_SOURCE = ['sandbox/conformance/main.ts'];
const BUILT = [testProgram('../sandbox/conformance/main.ts')];

const sandbox = await startSandbox();
const { baseUrl, clientId, clientSecret, caFile } = sandbox;
const account = [
  '--base-url',
  baseUrl,
  '--client-id',
  clientId,
  '--client-secret',
  clientSecret,
  '--ca-file',
  caFile,
];
afterAll(() => sandbox.close());

describe('npm run conformance', () => {
  test('starts the sandbox by itself and prints a row per rule', async () => {
    const { code, stdout } = await run(
      [
        ...['4.2', 'custom-headers', 'separate-environments'].flatMap((rule) => ['--only', rule]),
        ...['--json', '--quiet'],
      ],
      FROM_SOURCE,
    );
    const report = JSON.parse(stdout) as { rows: { id: string; verdict: string }[]; findings: object[] };
    expect(report.rows).toMatchObject([
      { id: 'custom-headers', verdict: 'pass' },
      { id: 'ping', verdict: 'pass' },
      { id: 'separate-environments', verdict: 'pass' },
    ]);
    expect(report.findings.length).toBeGreaterThan(10);
    expect(code).toBe(0);
  });

  test('checks a real account and lists the skipped rules', async () => {
    const { code, stdout } = await run([...account, '--only', '4.2', '--only', 'custom-headers']);
    expect(stdout).toMatch(/^pass {2}4\.2 {2}Ping answers status 1/m);
    expect(stdout).toMatch(/^skip {2}2\.3 .*register a webhook|^skip {2}2\.3 .*change data/m);
    expect(stdout).toContain('Questions that the specification leaves open');
    expect(stdout).toContain('2 rules: 1 hold, 0 broken, 1 skipped');
    expect(code).toBe(0);
  });

  test('exits 1 and names the rule when one is broken', async () => {
    const { faultId } = sandbox.faults.add({ name: 'unauthorized', target: { endpoint: 'ping' } });
    const { code, stdout, stderr } = await run([...account, '--only', 'ping']);
    sandbox.faults.clear(faultId);
    expect(stdout).toMatch(/^FAIL {2}4\.2 /m);
    expect(stderr).toMatch(/broken: 4\.2 Ping/);
    expect(code).toBe(1);
  });

  test.each([
    [
      'an address that is not https',
      ['--base-url', 'http://127.0.0.1:1', '--client-id', 'a', '--client-secret', 'b'],
    ],
    ['missing credentials', ['--base-url', 'https://127.0.0.1:1']],
    ['credentials without an address', ['--client-id', 'a']],
    ['an unknown rule', ['--only', '12.7']],
    ['an unknown option', ['--everything']],
  ])('exits 2 for %s', async (_, args) => {
    const { code, stderr } = await run(args);
    expect(stderr).not.toBe('');
    expect(code).toBe(2);
  });

  test('exits 4 when the credentials are refused, without printing them', async () => {
    const { baseUrl, caFile } = sandbox;
    const wrong = ['--client-id', 'unknown', '--client-secret', 'planted-secret', '--ca-file', caFile];
    const { code, stderr } = await run(['--base-url', baseUrl, ...wrong]);
    expect(stderr).toMatch(/401/);
    expect(stderr).not.toContain('planted-secret');
    expect(code).toBe(4);
  });

  test('exits 5 without an answer', async () => {
    const unreachable = ['--base-url', 'https://127.0.0.1:9', '--client-id', 'a', '--client-secret', 'b'];
    const { code, stderr } = await run(unreachable);
    expect(stderr).toContain('https://127.0.0.1:9 does not answer');
    expect(code).toBe(5);
  });
});

function run(args: readonly string[], program: readonly string[] = BUILT): Promise<Ended> {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('BILLSYNC_')),
  );
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [...program, ...args],
      { cwd: root, env, timeout: 60_000 },
      (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
      },
    );
  });
}
