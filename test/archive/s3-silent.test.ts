import { createServer } from 'node:net';
import { expect, test, vi } from 'vitest';
import { openS3Bucket } from '../../archive/s3/bucket.ts';
import { listen } from '../support/listen.ts';

test('gives up on a silent S3 after three attempts', async () => {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.on('error', () => undefined).resume();
  });
  const endpoint = `http://127.0.0.1:${await listen(server)}`;
  for (const [name, value] of Object.entries({
    ...{ AWS_ENDPOINT_URL: endpoint, AWS_REGION: 'us-east-1' },
    ...{ AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' },
  })) {
    vi.stubEnv(name, value);
  }
  const bucket = openS3Bucket('s3://silent', { idleMs: 50 });
  try {
    await expect(bucket.has('a')).rejects.toMatchObject({ code: 's3-unreachable', exitCode: 5 });
    expect(connections).toBe(3);
  } finally {
    bucket.close();
    server.close();
    vi.unstubAllEnvs();
  }
});
