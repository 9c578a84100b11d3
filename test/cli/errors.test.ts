/** Every failure has its exit code and says, in three lines at most, what to do. */

import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { BILLING_ERRORS, BillingError, unreachable } from '../../billing/errors.ts';
import { CliError, describeError, EXIT } from '../../cli/errors.ts';
import { withFilterFlags } from '../../cli/report-output.ts';
import { TemporalUnreachableError } from '../../lib/temporal/connect.ts';
import { asOtherVersion, NotPublishedError } from '../../reports/errors.ts';
import { WarehouseError, warehouseLocked } from '../../warehouse/errors.ts';

describe('describeError', () => {
  test.each([
    [new BillingError('credentials-refused', ['the token', 'HTTP 401']), EXIT.refused],
    [unreachable('api.example.com', 'ECONNREFUSED', null), EXIT.unreachable],
    [new BillingError('hash-mismatch', ['7f3a', 'a', 'b']), EXIT.rejected],
    [new NotPublishedError('/x'), EXIT.nothingMatched],
    [
      asOtherVersion(new Error('Catalog Error: Table with name partners does not exist!'), '/x'),
      EXIT.nothingMatched,
    ],
    [new TemporalUnreachableError(null), EXIT.unreachable],
    [warehouseLocked('/x', { pid: 42, role: 'worker' }), EXIT.locked],
    [new WarehouseError('environment-mismatch', ['data folder /x', 'production', 'test', '']), EXIT.usage],
    [Object.assign(new Error('no such file'), { code: 'ENOENT' }), EXIT.usage],
    [new Error('listen', { cause: Object.assign(new Error('taken'), { code: 'EADDRINUSE' }) }), EXIT.locked],
    [new CliError(EXIT.checkFailed, 'drift'), EXIT.checkFailed],
    [new TypeError('undefined is not a function'), EXIT.bug],
  ])('gives %s its exit code', (error, exitCode) => {
    expect(describeError(error).exitCode).toBe(exitCode);
  });

  test('says which file the system refused and why, whatever wrapped it', () => {
    const refused = Object.assign(new Error("EISDIR: illegal operation on a directory, open '/x'"), {
      code: 'EISDIR',
      path: '/x',
    });
    expect(describeError(refused)).toMatchObject({ exitCode: EXIT.usage, what: '/x: it is a folder' });
    const wrapped = new Error('The rates cannot be read.', { cause: refused });
    expect(describeError(wrapped)).toMatchObject({
      exitCode: EXIT.usage,
      what: 'The rates cannot be read. /x: it is a folder',
    });
    const full = Object.assign(new Error('write'), { code: 'ENOSPC' });
    expect(describeError(full)).toMatchObject({ exitCode: EXIT.checkFailed, what: 'the disk is full' });
  });

  test('says what a machine lacks, and takes nothing that it can cause for a fault of billsync', async () => {
    // An address for documentation, which no machine has.
    const listening = createServer().listen({ host: '192.0.2.1', port: 1 });
    const [refused] = (await once(listening, 'error')) as [Error];
    expect(describeError(refused)).toMatchObject({
      exitCode: EXIT.usage,
      what: '192.0.2.1:1: this machine has no such address',
      hint: expect.stringContaining('BILLSYNC_WEBHOOK_HOST'),
    });
    const privileged = { code: 'EACCES', syscall: 'listen', address: '::', port: 443 };
    expect(describeError(Object.assign(new Error('listen EACCES'), privileged))).toMatchObject({
      exitCode: EXIT.usage,
      what: '[::]:443: this user may not listen there',
    });
    const caused: readonly Partial<NodeJS.ErrnoException>[] = [
      { code: 'EAGAIN', syscall: 'spawn', errno: -11 },
      { code: 'ENOTRECOVERABLE', syscall: 'fsync', errno: -131 },
      { code: 'ERR_SYSTEM_ERROR' },
      { code: 'ERR_DLOPEN_FAILED' },
    ];
    for (const more of caused) {
      const described = describeError(Object.assign(new Error('refused'), more));
      expect(described.exitCode, more.code).toBe(EXIT.checkFailed);
      expect(described.hint).not.toMatch(/should not happen/);
    }
  });

  test('names the process that holds the warehouse', () => {
    expect(describeError(warehouseLocked('/x', { pid: 42, role: 'worker' })).what).toMatch(/42.*worker/);
  });
});

describe('errors of ours', () => {
  const folders = [
    ...['activities', 'archive', 'billing', 'cli', 'dashboard', 'finance', 'lib', 'reports', 'warehouse'],
    ...['webhook', 'worker'],
  ];
  const files = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => `${folder}/${path}`),
  );
  const texts = files.filter((file) => file.endsWith('.ts')).map((file) => readFileSync(file, 'utf8'));

  test('have codes in kebab-case', () => {
    const codes = texts
      .flatMap((text) => [
        ...text.matchAll(/readonly code = '([^']+)'|^ {2}'?([\w-]+)'?: \{(?=[^}]*\n? *message:)/gm),
      ])
      .map(([, own, listed]) => own ?? listed);
    expect(codes.length).toBeGreaterThan(20);
    expect(codes.filter((code) => !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(code ?? ''))).toEqual([]);
  });

  test('extend the base that has the exit code, except those that never reach a person', () => {
    const others = texts.flatMap((text) => [...text.matchAll(/class (\w+) extends \w*Error\b/g)]);
    const ownBase = others
      .filter(([found]) => /extends (?:Range)?Error$/.test(found))
      .map(([, name]) => name);
    expect(ownBase.sort()).toEqual([
      'BillsyncError',
      'CursorError',
      'NotJsonError',
      'Refusal',
      'SavedViewsBusyError',
      'WithoutSpend',
    ]);
  });

  test('of the billing service say what to do, unless their message does or nobody has to', () => {
    const silent = Object.entries(BILLING_ERRORS).flatMap(([code, kind]) => ('hint' in kind ? [] : [code]));
    expect(silent).toEqual(['host-not-allowed', 'not-modified']);
  });
});

test('--by is a date, and who means what a report groups by is told of its parameter', () => {
  const report = (): Command =>
    withFilterFlags(new Command('report').exitOverride().configureOutput({ writeErr: () => undefined }));
  expect(report().parse(['--by', 'invoice-date'], { from: 'user' }).opts()).toMatchObject({
    by: 'invoice-date',
  });
  expect(() => report().parse(['--by', 'service'], { from: 'user' })).toThrow('--param by=service');
});
