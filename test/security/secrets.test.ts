import { writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { inspect } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { openFolderArchive } from '../../archive/folder-archive.ts';
import { createBillingService } from '../../billing/client.ts';
import { loadSettings } from '../../lib/config/load-settings.ts';
import { SETTING_DEFINITIONS } from '../../lib/config/setting-definitions.ts';
import { createScrub } from '../../lib/log/scrub.ts';
import { serviceSettings } from '../billing/service-settings.ts';
import { attackEach, attackResult } from '../support/attack.ts';
import { findSecrets } from '../support/find-secrets.ts';
import { testFolder } from '../support/folders.ts';
import { makeCertificates } from '../support/foreign-billing.ts';
import { listen } from '../support/listen.ts';
import { billsync } from '../support/processes/billsync.ts';
import { alertSettings, testSettings } from '../webhook/a-delivery.ts';

const folder = testFolder();

const settings = {
  ...testSettings(folder, {
    credentials: { basicAuth: [{ user: 'hook', password: 'hook "pass" & <mark>' }], headers: [] },
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
  'hook "pass" & <mark>',
  'in&the+query',
  '/services/T0/B0/chat-secret',
  'otlp-password',
  'temporal-api-key',
  'aws/secret+key',
  'proxy-password',
  'otlp-token',
];

/** For each secret setting a text that it may have, and the part that must never be printed. */
const IN_SETTINGS: Readonly<Record<string, { readonly text: string; readonly secret: string }>> = {
  BILLSYNC_CLIENT_SECRET: { text: 'client-secret-7', secret: 'client-secret-7' },
  BILLSYNC_API_KEY: { text: 'api-key-7', secret: 'api-key-7' },
  HTTPS_PROXY: { text: 'http://user:proxy-secret-7@proxy.example:3128', secret: 'proxy-secret-7' },
  HTTP_PROXY: { text: 'http://user:proxy-secret-8@proxy.example:3128', secret: 'proxy-secret-8' },
  BILLSYNC_WEBHOOK_BASIC_AUTH: { text: 'hook:hook-secret-7', secret: 'hook-secret-7' },
  BILLSYNC_WEBHOOK_HEADERS: { text: 'X-Key: header-secret-7', secret: 'header-secret-7' },
  BILLSYNC_ADMIN_BASIC_AUTH: { text: 'reader:reader-secret-7', secret: 'reader-secret-7' },
  BILLSYNC_OPERATOR_BASIC_AUTH: { text: 'ann:operator-secret-7', secret: 'operator-secret-7' },
  BILLSYNC_ENCRYPTION_KEY: { text: `k1:${'A7'.repeat(21)}A=`, secret: `${'A7'.repeat(21)}A=` },
  BILLSYNC_WAREHOUSE: { text: 'ducklake:postgres:password=lake-secret-7', secret: 'lake-secret-7' },
  BILLSYNC_ALERT_WEBHOOK_URL: { text: 'https://chat.example/hooks/T7/key', secret: '/hooks/T7/key' },
};

describe('the scrubber', () => {
  test.each(SETTING_DEFINITIONS.filter((setting) => setting.secret).map(({ variable }) => variable))(
    'removes the value of %s',
    (variable) => {
      const sample = IN_SETTINGS[variable];
      if (sample === undefined) throw new Error(`Give ${variable} a sample in IN_SETTINGS.`);
      const { text, secret } = sample;
      const needed = { BILLSYNC_PARTNER_ID: 'partner-1', BILLSYNC_LAKE_DATA: '/lake' };
      const loaded = loadSettings({ cwd: folder, env: { ...needed, [variable]: text } });
      expect(createScrub(loaded, { env: {} })(`before ${secret} after`)).toBe('before *** after');
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
    return attackEach(
      'secrets: spellings at the scrubber',
      spellings,
      (spelling) => findSecrets(Buffer.from(scrub(`before ${spelling} after`)), [secret]).length === 0,
    );
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

describe('an access token and a presigned URL', () => {
  const token = 'eyJ0b2tlbiI6+9abc/DEF-ghi_123456789~xyz==';
  const signature = 'f00dfeed1234abcd/5678+90AB=';
  const spellings = (secret: string): readonly string[] => [
    ...[secret, secret.replace(/=+$/, ''), secret.slice(0, 18), secret.slice(-18), secret.toLowerCase()],
    ...[
      encodeURIComponent(secret),
      encodeURIComponent(secret).toLowerCase(),
      encodeURIComponent(encodeURIComponent(secret)),
    ],
    Buffer.from(secret).toString('hex'),
    ...['', 'a', 'ab'].flatMap((before) =>
      (['base64', 'base64url'] as const).map((form) => Buffer.from(`${before}${secret}z`).toString(form)),
    ),
    Buffer.from(encodeURIComponent(secret)).toString('base64'),
  ];
  const wordsOf = (text: string) => text.match(/[\w+/=%.~-]{12,}/g) ?? [];

  test('are removed from errors, logs and spans in whatever spelling an answer repeats them', async () => {
    const { caPem, certPem, keyPem } = await makeCertificates();
    const caFile = join(folder, 'passing-ca.pem');
    writeFileSync(caFile, caPem);
    let repeated = '';
    const server = createServer({ cert: certPem, key: keyPem }, (request, answer) => {
      const isToken = request.url === '/oauth/token';
      answer.writeHead(isToken ? 200 : 400, { 'content-type': 'application/json' });
      answer.end(
        JSON.stringify(
          isToken
            ? { access_token: token, expires_in: 300 }
            : { error: 'bad', error_description: `you sent ${repeated} here` },
        ),
      );
    });
    const url = `https://127.0.0.1:${await listen(server)}`;
    const archive = await openFolderArchive(join(folder, 'passing'));
    const service = {
      baseUrl: url,
      authUrl: url,
      clientId: 'someone',
      clientSecret: 'secret-of-client',
      caFile,
    };
    const billing = createBillingService({
      settings: serviceSettings(service, { dataDir: folder }),
      archive,
    });
    const id = '11111111-1111-4111-8111-111111111111';
    const presignedUrl = `${url}/file-${id}.csv?X-Date=20261005T101112Z&id=${id}&X-Sig=${encodeURIComponent(signature)}`;
    const location = {
      presignedUrl,
      presignedUrlExpiresAt: '2099-01-01T00:00:00Z',
      fileHashSha256: 'a'.repeat(64),
      fileSizeBytes: 9,
    };
    const calls: readonly (readonly [string, () => Promise<unknown>])[] = [
      [token, () => billing.regenerateUrl(id)],
      [signature, () => billing.downloadCsv({ invoiceId: id, location, source: 'regenerate' })],
    ];
    const log = createScrub(settings, { env });
    for (const [secret, call] of calls) {
      await attackEach('secrets: repeated by the service', spellings(secret), async (spelling) => {
        repeated = spelling;
        const message = await call().then(
          () => '',
          (error: Error) => error.message,
        );
        const words = wordsOf(spelling);
        const isClean = (text: string) =>
          words.every((word) => !text.toLowerCase().includes(word.toLowerCase()));
        return message.includes('you sent') && isClean(message) && isClean(log(`a span: ${spelling}`));
      });
    }
    await billing.close();
    await archive.close();
    server.close();
    const kept = `invoice ${id} of 20261005T101112Z, file-${id}.csv`;
    expect(log(kept)).toBe(kept);
  });
});

describe('a command', () => {
  const secret = 'client+secret/with "marks"';
  const caFile = join(folder, 'ca.pem');
  let pair: { readonly cert: string; readonly key: string };

  beforeAll(async () => {
    const { caPem, certPem, keyPem } = await makeCertificates();
    pair = { cert: certPem, key: keyPem };
    writeFileSync(caFile, caPem);
  });

  /** An authorization server that answers with what it was sent, as some do. */
  async function echo(): Promise<{ readonly url: string; close(): void }> {
    const server = createServer(pair, async (request, answer) => {
      const body = await text(request);
      const basic = String(request.headers.authorization).replace(/^Basic /, '');
      const sent = `${Buffer.from(basic, 'base64')} ${basic} ${body}`;
      answer.writeHead(401, { 'content-type': 'application/json' });
      answer.end(JSON.stringify({ error: 'invalid_client', error_description: `no such client: ${sent}` }));
    });
    return { url: `https://127.0.0.1:${await listen(server)}`, close: () => server.close() };
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
    attackResult(
      'secrets: in a stored reason',
      [secret],
      findSecrets(Buffer.from(inspect(refused)), [secret]),
    );
  });

  test.each([['doctor'], ['config', 'show'], ['config', 'show', '--json'], ['verify'], ['rebuild']])(
    '%s %s prints none, on stdout or stderr, with --verbose',
    async (...args) => {
      const service = await echo();
      const config = join(folder, `${args.join('-')}.yaml`);
      const lakePassword = 'lake%2Fpassword';
      writeFileSync(
        config,
        [
          `data_dir: ${join(folder, args.join('-'))}`,
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
      const all = [...args, ...(args[0] === 'config' ? [] : ['--verbose']), '--config', config];
      const { stdout, stderr } = await billsync(all, {
        env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'https://user:url-password@127.0.0.1:9/' },
        cwd: folder,
      });
      service.close();
      const seen = Buffer.from(stdout + stderr);
      expect(seen.length).toBeGreaterThan(0);
      if (args[0] === 'doctor') expect(stdout).toContain('no such client: ');
      const secrets = [secret, lakePassword, 'lake/password', 'webhook-password', 'url-password'];
      attackResult('secrets: printed by a command', secrets, findSecrets(seen, secrets));
    },
  );
});
