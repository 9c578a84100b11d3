import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { describeError } from '../../cli/errors.ts';
import { AdminPortTakenError } from '../../dashboard/probes.ts';
import { holderOf } from '../../lib/processes.ts';
import { listen } from '../support/listen.ts';

test('names the process that listens at a port', async () => {
  const server = createServer();
  const port = await listen(server);
  expect(holderOf(port)).toMatch(new RegExp(`^process ${process.pid} \\(`));
  const cause = Object.assign(new Error('listen EADDRINUSE'), { code: 'EADDRINUSE', port });
  const described = describeError(new AdminPortTakenError('127.0.0.1', port, { cause }));
  expect(described).toMatchObject({
    exitCode: 8,
    subject: expect.stringContaining(`process ${process.pid}`),
  });
  await new Promise((resolve) => server.close(resolve));
  expect(holderOf(port)).toBeNull();
});
