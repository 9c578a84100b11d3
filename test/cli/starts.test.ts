import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { testFolder } from '../support/folders.ts';
import { listen } from '../support/listen.ts';
import { billsync } from '../support/processes/billsync.ts';
import { runCommand } from '../support/processes/run-command.ts';

const folder = testFolder();
const service = {
  ...{ BILLSYNC_BASE_URL: 'https://127.0.0.1:9', BILLSYNC_AUTH_URL: 'https://127.0.0.1:9' },
  ...{ BILLSYNC_CLIENT_ID: 'a', BILLSYNC_CLIENT_SECRET: 'b', BILLSYNC_WEBHOOK_PORT: '0' },
};
const server = createServer();
const taken = String(await listen(server));
afterAll(() => {
  server.close();
});

const run = (name: string, ...args: string[]) => ({
  with: (env: Record<string, string>) =>
    (args[0] === 'doctor' ? runCommand : billsync)(args, {
      env: { BILLSYNC_DATA_DIR: join(folder, name), ...service, ...env },
      cwd: folder,
    }),
});

describe('a role', () => {
  test.each([
    ['up', { BILLSYNC_ADMIN_PORT: 'taken' }],
    ['up', { BILLSYNC_WEBHOOK_PORT: 'taken', BILLSYNC_ADMIN_PORT: '0' }],
    ['dashboard', { BILLSYNC_ADMIN_PORT: 'taken' }],
  ])(
    '%s ends with 8 when its port is taken, and names who holds it: %o',
    async (role, ports) => {
      const env = Object.fromEntries(
        Object.entries(ports).map(([name, port]) => [name, port === 'taken' ? taken : port]),
      );
      const name = `port-${Object.keys(ports).join('-')}-${role}`;
      const { exitCode, stderr } = await run(name, role).with(env);
      expect(stderr).toMatch(new RegExp(`port ${taken} is held by process ${process.pid} `));
      expect(exitCode).toBe(8);
    },
    90_000,
  );

  test.each([['up'], ['worker'], ['doctor']])(
    '%s ends with 2 when its data folder cannot be made',
    async (role) => {
      const env = { BILLSYNC_DATA_DIR: '/proc/billsync/data', BILLSYNC_ADMIN_PORT: '0' };
      const { exitCode, stdout, stderr } = await run('', role).with(env);
      expect(stdout + stderr).toMatch(/a folder cannot be made/);
      expect(exitCode).toBeGreaterThan(0);
    },
    90_000,
  );
});
