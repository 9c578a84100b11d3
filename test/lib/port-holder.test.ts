import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { describeError } from '../../cli/errors.ts';
import { AdminPortTakenError } from '../../dashboard/probes.ts';
import { holderOf } from '../../lib/processes.ts';

test('names the process that listens at a port', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
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
