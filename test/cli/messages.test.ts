/**
 * Unusable arguments, settings and files: the message has the reason, and no failure ends as a bug. Files that the operating
 * system refuses are in refused-files.test.ts.
 */

import { execFile } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generate } from 'selfsigned';
import { afterAll, describe, expect, test } from 'vitest';
import { testFolder } from '../support/folders.ts';
import { BILLSYNC, cleanEnvironment } from '../support/processes/billsync.ts';
import { runCommand } from '../support/processes/run-command.ts';
import { anInvoice, aShipment, reportsFixture } from '../support/reports-fixture.ts';

const folder = testFolder();
const named = (name: string): string => join(folder, name);

writeFileSync(named('empty'), '');
for (const name of ['one', 'other']) {
  const made = await generate([{ name: 'commonName', value: name }], {
    notAfterDate: new Date('2020-01-01'),
    notBeforeDate: new Date('2019-01-01'),
  });
  writeFileSync(named(`${name}.crt`), made.cert);
  writeFileSync(named(`${name}.key`), made.private);
}
const fixture = await reportsFixture([anInvoice([aShipment()])]);
afterAll(() => fixture.remove());

const SERVICE = {
  BILLSYNC_BASE_URL: 'https://127.0.0.1:9',
  BILLSYNC_AUTH_URL: 'https://127.0.0.1:9',
  BILLSYNC_CLIENT_ID: 'a',
  BILLSYNC_CLIENT_SECRET: 'b',
};

function client(cert: string, key: string): Readonly<Record<string, string>> {
  return { BILLSYNC_CLIENT_CERT: named(cert), BILLSYNC_CLIENT_KEY: named(key) };
}

interface Wrong {
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly exitCode: number;
  readonly message: RegExp;
}

const WRONG: Readonly<Record<string, Wrong>> = {
  'a day that no month has, before which all would be removed': {
    args: ['purge', '--before', '2019-02-29', '--dry-run'],
    exitCode: 2,
    message: /2019-02-29.*a day such as 2026-03-08, or an instant such as/s,
  },
  'a day that no month has, for an instant': {
    args: ['events', 'list', '--since', '2026-04-31'],
    exitCode: 2,
    message: /2026-04-31.*a day such as 2026-03-08, or an instant such as/s,
  },
  'a setting that is none': {
    args: ['invoices', 'list', '--setting', 'a=b'],
    exitCode: 2,
    message: /There is no setting "a"/,
  },
  'a URL in quotation marks': {
    args: ['config', 'show'],
    env: { BILLSYNC_BASE_URL: '"https://api.example.com"' },
    exitCode: 2,
    message: /BILLSYNC_BASE_URL must be a URL .* not <"https:\/\/api\.example\.com">/,
  },
  'a client certificate that is none': {
    args: ['doctor'],
    env: client('empty', 'one.key'),
    exitCode: 2,
    message: /BILLSYNC_CLIENT_CERT must name a PEM file with a certificate; .*empty holds none/,
  },
  'a client key that is none': {
    args: ['doctor'],
    env: client('one.crt', 'empty'),
    exitCode: 2,
    message: /BILLSYNC_CLIENT_KEY must name a PEM file with a private key/,
  },
  'a client key of another certificate': {
    args: ['doctor'],
    env: client('one.crt', 'other.key'),
    exitCode: 2,
    message: /BILLSYNC_CLIENT_KEY .*other\.key is not the key of the certificate in BILLSYNC_CLIENT_CERT/,
  },
  'a client certificate that has expired': {
    args: ['doctor'],
    env: client('one.crt', 'one.key'),
    exitCode: 1,
    message: /client certificate .*has expired: it was valid until 2020-01-01/,
  },
  'a CA file that is none': {
    args: ['doctor'],
    env: { ...SERVICE, BILLSYNC_CA_FILE: named('empty') },
    exitCode: 2,
    message: /BILLSYNC_CA_FILE must name a PEM file with a certificate/,
  },
  'a dry run that writes nothing anyway': {
    args: ['report', 'tenants', '--dry-run'],
    exitCode: 2,
    message: /--dry-run needs --output or --schedule/,
  },
  'a certificate and a key of two pairs': {
    args: ['webhook', '--setting', `webhook_tls_cert=${named('one.crt')}`],
    env: { BILLSYNC_WEBHOOK_TLS_KEY: named('other.key'), BILLSYNC_WEBHOOK_PORT: '0' },
    exitCode: 2,
    message: /BILLSYNC_WEBHOOK_TLS_KEY .*is not the key of the certificate in BILLSYNC_WEBHOOK_TLS_CERT/,
  },
};

describe('billsync', () => {
  test.each(Object.entries(WRONG))('reports %s', async (_, { args, env = {}, exitCode, message }) => {
    const finished = await runCommand(args, { env: { BILLSYNC_DATA_DIR: fixture.folder, ...env } });
    // doctor's findings are its result.
    expect(args[0] === 'doctor' ? finished.stdout : finished.stderr).toMatch(message);
    expect(finished.stderr.trim().split('\n').length).toBeLessThanOrEqual(8);
    expect(finished.exitCode).toBe(exitCode);
  });

  test('writes nothing in a dry run and reports what it would write', async () => {
    const plan = (...more: readonly string[]) =>
      runCommand(['report', 'tenants', '--dry-run', '--format', 'csv', ...more], {
        env: { BILLSYNC_DATA_DIR: fixture.folder },
      });
    const [once, always] = await Promise.all([
      plan('--output', named('new.csv')),
      plan('--schedule', 'daily', '--output', named('reports')),
    ]);
    expect(once).toMatchObject({ exitCode: 0, stdout: '' });
    expect(once.stderr).toMatch(/Would write 1 row as csv \(\d+ bytes\) to .*new\.csv\.\n$/);
    expect(existsSync(named('new.csv'))).toBe(false);
    expect(always).toMatchObject({ exitCode: 0, stdout: '' });
    expect(always.stderr).toMatch(
      /^Would write tenants as csv daily at 05:00 UTC into .*reports, on the worker/,
    );
  });

  test('reports a full disk of the output without a stack', async () => {
    const env = cleanEnvironment({ BILLSYNC_DATA_DIR: fixture.folder });
    const finished = await new Promise<{ code: unknown; stderr: string }>((done) => {
      execFile('sh', ['-c', `${BILLSYNC} report tenants --quiet > /dev/full`], { env }, (error, _, stderr) =>
        done({ code: error?.code, stderr }),
      );
    });
    expect(finished.stderr).toBe('billsync: The output cannot be written: the disk is full\n');
    expect(finished.code).toBe(1);
  });
});
