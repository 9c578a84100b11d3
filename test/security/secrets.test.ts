/** No secret of the settings or of the environment is read anywhere: not on a terminal, in a log, or on a page. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { generate } from 'selfsigned';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openFolderArchive } from '../../archive/folder-archive.ts';
import { createBillingService } from '../../billing/client.ts';
import { loadSettings } from '../../lib/config/load-settings.ts';
import { SETTING_DEFINITIONS } from '../../lib/config/setting-definitions.ts';
import { createScrub } from '../../lib/log/scrub.ts';
import { serviceSettings } from '../billing/service-settings.ts';
import { attack } from '../support/attack.ts';
import { findSecrets } from '../support/find-secrets.ts';
import { billsync } from '../support/processes/billsync.ts';
import { alertSettings, testSettings } from '../webhook/a-delivery.ts';

const folder = mkdtempSync(join(tmpdir(), 'billsync-secrets-'));
afterAll(() => rmSync(folder, { recursive: true }));

const settings = {
  ...testSettings(folder, {
    credentials: { basicAuth: [{ user: 'hook', password: 'hook "pass" & <word>' }], headers: [] },
  }),
  warehouse: {
    kind: 'ducklake',
    catalog: 'postgres://sync@db/lake?password=in%26the%2Bquery',
    dataPath: '/lake',
  },
  alerts: alertSettings({ webhookUrl: 'https://chat.example/services/T0/B0/chat-secret' }),
  otlpEndpoint: 'https://tracer:otlp-password@otlp.example/',
} as const;
const env = {
  TEMPORAL_API_KEY: 'temporal-api-key',
  AWS_SECRET_ACCESS_KEY: 'aws/secret+key',
  HTTPS_PROXY: 'http://proxy:proxy-password@proxy:3128',
  OTEL_EXPORTER_OTLP_HEADERS: 'authorization=otlp-token,x=y',
};
const SECRETS = [
  'hook "pass" & <word>',
  'in&the+query',
  '/services/T0/B0/chat-secret',
  'otlp-password',
  'temporal-api-key',
  'aws/secret+key',
  'proxy-password',
  'otlp-token',
];

/** For each secret setting a text that it may have, and what of it must never be read. */
const IN_SETTINGS: Readonly<Record<string, { readonly text: string; readonly secret: string }>> = {
  BILLSYNC_CLIENT_SECRET: { text: 'client-secret-7', secret: 'client-secret-7' },
  BILLSYNC_API_KEY: { text: 'api-key-7', secret: 'api-key-7' },
  HTTPS_PROXY: { text: 'http://user:proxy-word-7@proxy.example:3128', secret: 'proxy-word-7' },
  HTTP_PROXY: { text: 'http://user:proxy-word-8@proxy.example:3128', secret: 'proxy-word-8' },
  BILLSYNC_WEBHOOK_BASIC_AUTH: { text: 'hook:hook-word-7', secret: 'hook-word-7' },
  BILLSYNC_WEBHOOK_HEADERS: { text: 'X-Key: header-word-7', secret: 'header-word-7' },
  BILLSYNC_ADMIN_BASIC_AUTH: { text: 'reader:reader-word-7', secret: 'reader-word-7' },
  BILLSYNC_OPERATOR_BASIC_AUTH: { text: 'ann:operator-word-7', secret: 'operator-word-7' },
  BILLSYNC_ENCRYPTION_KEY: { text: `k1:${'A7'.repeat(21)}A=`, secret: `${'A7'.repeat(21)}A=` },
  BILLSYNC_WAREHOUSE: { text: 'ducklake:postgres:password=lake-word-7', secret: 'lake-word-7' },
  BILLSYNC_ALERT_WEBHOOK_URL: { text: 'https://chat.example/hooks/T7/key', secret: '/hooks/T7/key' },
};

describe('the scrubber', () => {
  test.each(SETTING_DEFINITIONS.filter((setting) => setting.secret).map(({ variable }) => variable))(
    'takes out what %s holds',
    (variable) => {
      const sample = IN_SETTINGS[variable];
      if (sample === undefined) throw new Error(`Give ${variable} a sample in IN_SETTINGS.`);
      const { text, secret } = sample;
      const needed = { BILLSYNC_PARTNER_ID: 'partner-1', BILLSYNC_LAKE_DATA: '/lake' };
      const loaded = loadSettings({ cwd: folder, env: { ...needed, [variable]: text } });
      expect(createScrub(loaded, { env: {} })(`what ${secret} says`)).toBe('what *** says');
    },
  );

  const scrub = createScrub(settings, { env });

  test.each(SECRETS)('removes %s in every spelling', (secret) => {
    const spellings = [
      secret,
      JSON.stringify(secret),
      JSON.stringify(JSON.stringify({ secret })).replaceAll('\\\\', '\\'),
      encodeURIComponent(secret),
      new URLSearchParams({ secret }).toString(),
      ...['', 'a', 'ab'].flatMap((before) =>
        ['', 'z', 'zz'].flatMap((after) =>
          (['base64', 'base64url'] as const).map((form) =>
            Buffer.from(`${before}${secret}${after}`).toString(form),
          ),
        ),
      ),
    ];
    const shown = spellings.filter(
      (spelling) => findSecrets(Buffer.from(scrub(`what ${spelling} says`)), [secret]).length > 0,
    );
    expect(shown).toEqual([]);
    attack('secrets: spellings at the scrubber', {
      tries: spellings.length,
      held: spellings.length - shown.length,
    });
  });

  test('changes no number on stdout, for any password', () => {
    const weak = {
      ...settings,
      admin: { ...settings.admin, basicAuth: { user: 'a', password: '1234.5000' } },
    };
    expect(createScrub(weak, { env, keepNumbers: true })('"billing_cost": "1234.5000"')).toContain(
      '1234.5000',
    );
    expect(createScrub(weak, { env })('password 1234.5000')).not.toContain('1234.5000');
  });
});

describe('a command', () => {
  const secret = 'client+secret/with "marks"';
  const caFile = join(folder, 'ca.pem');
  let pair: { readonly cert: string; readonly key: string };

  beforeAll(async () => {
    const made = await generate([{ name: 'commonName', value: '127.0.0.1' }], {
      extensions: [{ name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] }],
    });
    pair = { cert: made.cert, key: made.private };
    writeFileSync(caFile, made.cert);
  });

  /** An authorization server that answers with what it was sent, as some do. */
  async function echo(): Promise<{ readonly url: string; close(): void }> {
    const server = createServer(pair, async (request, answer) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const basic = String(request.headers.authorization).replace(/^Basic /, '');
      const sent = `${Buffer.from(basic, 'base64')} ${basic} ${Buffer.concat(chunks)}`;
      answer.writeHead(401, { 'content-type': 'application/json' });
      answer.end(JSON.stringify({ error: 'invalid_client', error_description: `no such client: ${sent}` }));
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    const { port } = server.address() as AddressInfo;
    return { url: `https://127.0.0.1:${port}`, close: () => server.close() };
  }

  test('keeps no secret in the reason of a refusal', async () => {
    const service = await echo();
    const archive = await openFolderArchive(join(folder, 'reasons'));
    const billing = createBillingService({
      settings: serviceSettings(
        {
          ...{ baseUrl: service.url, authUrl: service.url, clientId: 'someone', clientSecret: secret },
          caFile,
        },
        { dataDir: folder },
      ),
      archive,
    });
    const refused = await billing.fetchToken().catch((error: unknown) => error);
    await billing.close();
    await archive.close();
    service.close();
    expect(String(refused)).toContain('no such client: ');
    const found = findSecrets(Buffer.from(inspect(refused)), [secret]);
    attack('secrets: in a reason that is kept', { tries: 1, held: 1 - found.length });
  });

  test.each([['doctor'], ['config', 'show'], ['config', 'show', '--json'], ['verify'], ['rebuild']])(
    '%s %s prints none, on stdout or stderr, with --verbose',
    async (...words) => {
      const service = await echo();
      const config = join(folder, `${words.join('-')}.yaml`);
      const lakePassword = 'lake%2Fpassword';
      writeFileSync(
        config,
        [
          `data_dir: ${join(folder, words.join('-'))}`,
          `base_url: ${service.url}`,
          'temporal_ui: https://user:url-password@temporal.example/namespaces/default',
          `auth_url: ${service.url}`,
          'client_id: someone',
          `client_secret: ${JSON.stringify(secret)}`,
          'webhook_basic_auth: hook:webhook-password',
          `ca_file: ${caFile}`,
          'allow_private_hosts: true',
          'warehouse: ducklake:postgres://sync@127.0.0.1:9/lake?password=lake%2Fpassword',
          `lake_data: ${folder}`,
          '',
        ].join('\n'),
      );
      const args = [...words, ...(words[0] === 'config' ? [] : ['--verbose']), '--config', config];
      const { stdout, stderr } = await billsync(args, {
        env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'https://user:url-password@127.0.0.1:9/' },
        cwd: folder,
      });
      service.close();
      const seen = Buffer.from(stdout + stderr);
      expect(seen.length).toBeGreaterThan(0);
      if (words[0] === 'doctor') expect(stdout).toContain('no such client: ');
      const secrets = [secret, lakePassword, 'lake/password', 'webhook-password', 'url-password'];
      const found = findSecrets(seen, secrets);
      expect(found).toEqual([]);
      attack('secrets: printed by a command', { tries: secrets.length, held: secrets.length - found.length });
    },
  );
});
