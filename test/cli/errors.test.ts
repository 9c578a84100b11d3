import { once } from 'node:events';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { BillingError, unreachable } from '../../billing/errors.ts';
import { CliError, describeError, EXIT } from '../../cli/errors.ts';
import { withFilterFlags } from '../../cli/report-output.ts';
import { Verb } from '../../cli/verb.ts';
import { TemporalError } from '../../lib/temporal/errors.ts';
import { asOtherVersion, ReportError } from '../../reports/errors.ts';
import { DataDirLockedError } from '../../sandbox/state/data-folder.ts';
import { WarehouseError, warehouseFatal, warehouseLocked } from '../../warehouse/errors.ts';

describe('describeError', () => {
  test.each([
    [new BillingError('credentials-refused', ['the token', 'HTTP 401']), EXIT.refused],
    [unreachable('api.example.com', 'ECONNREFUSED', null), EXIT.unreachable],
    [new BillingError('hash-mismatch', ['7f3a', 'a', 'b']), EXIT.rejected],
    [new ReportError('not-published', ['/x']), EXIT.nothingMatched],
    [
      asOtherVersion(new Error('Catalog Error: Table with name partners does not exist!'), '/x'),
      EXIT.nothingMatched,
    ],
    [new TemporalError('temporal-not-started'), EXIT.unreachable],
    [warehouseLocked('/x', { pid: 42, role: 'worker' }), EXIT.locked],
    [new WarehouseError('environment-mismatch', ['data folder /x', 'production', 'test', '']), EXIT.usage],
    [Object.assign(new Error('no such file'), { code: 'ENOENT' }), EXIT.usage],
    [new Error('listen', { cause: Object.assign(new Error('taken'), { code: 'EADDRINUSE' }) }), EXIT.locked],
    [new DataDirLockedError('/x', 42), EXIT.locked],
    [new CliError(EXIT.checkFailed, 'drift'), EXIT.checkFailed],
    [new TypeError('undefined is not a function'), EXIT.bug],
  ])('gives %s its exit code', (error, exitCode) => {
    expect(describeError(error).exitCode).toBe(exitCode);
  });

  test('names the file that the system refused, and the reason', () => {
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

  test('tells a full disk, no inodes, no hard links and a limit of file sizes apart', () => {
    const path = join(tmpdir(), 'some.file');
    const described = (more: object, message = 'refused') =>
      describeError(Object.assign(new Error(message), more));
    const inodes = vi
      .spyOn(fs, 'statfsSync')
      .mockReturnValue({ files: 60, ffree: 0, bavail: 1_000 } as fs.StatsFs);
    syncBuiltinESMExports();
    expect(described({ code: 'ENOSPC', path })).toMatchObject({
      exitCode: 1,
      what: expect.stringMatching(/no inode left/),
    });
    expect(described({}, `IO Error: Could not write file "${path}": No space left on device`).what).toMatch(
      /no inode left/,
    );
    inodes.mockRestore();
    syncBuiltinESMExports();
    expect(described({ code: 'ENOSPC', path }).what).toBe(`${path}: the disk is full`);
    for (const code of ['EPERM', 'EOPNOTSUPP', 'ENOSYS'])
      expect(described({ code, syscall: 'link', path })).toMatchObject({
        exitCode: 2,
        what: `${path}: its file system has no hard links`,
      });
    const tooLarge = `Could not write file "${path}": File too large`;
    for (const failure of [
      described({}, `IO Error: ${tooLarge}`),
      describeError(warehouseFatal(path, new Error(`FATAL Error: ${tooLarge}`))),
    ])
      expect(failure).toMatchObject({
        exitCode: 1,
        what: expect.stringMatching(/larger than the system allows/),
        hint: expect.stringContaining('ulimit -f'),
      });
    expect(warehouseFatal(path, new Error('FATAL Error: checksum'))).toMatchObject({
      code: 'warehouse-corrupt',
    });
  });

  test('reports a missing resource of the machine as such, not as a bug', async () => {
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
});

test('names the parameter when --by is no date', () => {
  const report = (): Verb =>
    withFilterFlags(new Verb('report').exitOverride().configureOutput({ writeErr: () => undefined }));
  expect(report().parse(['--by', 'invoice-date'], { from: 'user' }).opts()).toMatchObject({
    by: 'invoice-date',
  });
  expect(() => report().parse(['--by', 'service'], { from: 'user' })).toThrow('--param by=service');
});
