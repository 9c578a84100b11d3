/** The recipes for proxies repeat limits that the endpoint has. `npm run try:proxies` runs them for real. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { SETTING_DEFINITIONS } from '../../lib/config/setting-definitions.ts';
import { LIMITS } from '../../webhook/connections.ts';

const read = (name: string) => readFile(join(import.meta.dirname, '../../deploy/proxies', name), 'utf8');
const seconds = LIMITS.requestMs / 1_000;
const kibibytes = LIMITS.headerBytes / 1_024;
const portOf = (name: string) => SETTING_DEFINITIONS.find(({ variable }) => variable === name)?.default;

/** What each has to say, in its own words: body, headers, time, the way to the endpoint, the sender's address. */
const WORDS = {
  'nginx.conf': [
    `client_max_body_size ${LIMITS.bodyBytes / 1_024 ** 2}m;`,
    `large_client_header_buffers 4 ${kibibytes}k;`,
    `client_body_timeout ${seconds}s;`,
    'proxy_next_upstream off;',
    'proxy_set_header X-Forwarded-For $remote_addr;',
  ],
  Caddyfile: [
    `max_header_size ${kibibytes}KB`,
    `read_body ${seconds}s`,
    `max_size ${(2 * LIMITS.bodyBytes) / 1_024 ** 2}MiB`,
    'keepalive 8s',
  ],
  'haproxy.cfg': [
    `req.hdr_val(content-length) gt ${LIMITS.bodyBytes}`,
    `timeout http-request ${seconds}s`,
    'retries 0',
    'http-request del-header X-Forwarded-For',
  ],
} as const;

describe('the recipes for proxies', () => {
  test.each(Object.entries(WORDS))('%s has the limits of the endpoint', async (name, words) => {
    const text = await read(name);
    for (const word of words) expect(text).toContain(word);
    for (const variable of ['BILLSYNC_WEBHOOK_PORT', 'BILLSYNC_ADMIN_PORT'])
      expect(text).toContain(`127.0.0.1:${portOf(variable)}`);
    expect(text).toContain(portOf('BILLSYNC_WEBHOOK_PATH'));
    // What is kept open for less than the endpoint does, 10 s, meets no closing connection.
    expect(text).toMatch(/\b25s/);
  });
});
