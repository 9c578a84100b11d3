/** A file is read as far as it was announced and no further. */

import { mkdtemp, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { beforeEach, expect, test } from 'vitest';
import type { HttpStream } from '../../billing/http.ts';
import { DOWNLOAD_LIMITS, receiveFile } from '../../billing/receive-file.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'billsync-receive-'));
});

function receive(chunks: Iterable<Buffer>): Promise<never> {
  const body = Readable.from(chunks);
  return receiveFile(
    {
      ...{ url: 'https://storage.example/a.csv', endpoint: 'storage.example', folder, signal: undefined },
      ...{ expectedBytes: 1_000, limits: DOWNLOAD_LIMITS },
      open: async () => ({ status: 200, headers: {}, body }) as unknown as HttpStream,
      tooLong: (bytes) => new Error(`${bytes} bytes instead of 1000`),
    },
    async () => expect.unreachable(),
  );
}

test('ends a download that goes on behind its announced size', async () => {
  let sentBytes = 0;
  function* endless(): Generator<Buffer> {
    for (;;) {
      sentBytes += 1_000;
      yield Buffer.alloc(1_000, 'a');
    }
  }
  await expect(receive(endless())).rejects.toThrow('2000 bytes instead of 1000');
  expect(sentBytes).toBeLessThan(100_000);
  expect(await readdir(folder)).toEqual([]);
});

test('refuses a page in the place of a file', async () => {
  await expect(receive([Buffer.from('<html><body>Sign in</body></html>')])).rejects.toMatchObject({
    code: 'not-csv',
  });
  expect(await readdir(folder)).toEqual([]);
});
