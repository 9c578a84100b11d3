/** A token endpoint that answers 200 with an error: its error is reported as it is worded, with its own exit code. */

import { expect, test } from 'vitest';
import { createApi } from '../../billing/api.ts';
import type { Http } from '../../billing/http.ts';
import { serviceSettings } from './service-settings.ts';

test.each([
  [
    { error: 'invalid_client', error_description: 'unknown client' },
    4,
    'HTTP 200, invalid_client, unknown client',
  ],
  [{ error: 'server_busy' }, 6, 'HTTP 200, server_busy'],
  [{ error: { code: 'E17', message: 'no scope for s3cret-text' } }, 6, 'HTTP 200, E17, no scope for ***'],
])('%j is an answer that names its error', async (body, exitCode, reason) => {
  const none = { baseUrl: 'https://billing.invalid', authUrl: 'https://billing.invalid', caFile: null };
  const { service } = serviceSettings(
    { ...none, clientId: 'id', clientSecret: 's3cret-text' },
    { dataDir: '/nowhere' },
  );
  const send = async () => ({ status: 200, headers: {}, body: Buffer.from(JSON.stringify(body)) });
  const http = { send } as unknown as Http;
  const api = createApi({ settings: service, http, onToken: () => undefined });
  await expect(api.authorize(undefined)).rejects.toMatchObject({
    ...{ exitCode, message: expect.stringContaining(reason) },
  });
});
