/** Spec 2.1, 4.1, 4.2, 5 and 7: tokens, keys, and every way in which a caller is refused. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Sandbox, startSandbox } from '../../sandbox/service.ts';
import { SpecClient } from './support.ts';

let sandbox: Sandbox;
let client: SpecClient;
let clock = Date.parse('2026-05-01T12:00:00Z');

beforeAll(async () => {
  sandbox = await startSandbox({ tokenLifetimeSeconds: 60, now: () => new Date(clock) });
  client = new SpecClient(sandbox);
});

afterAll(async () => {
  await client.close();
  await sandbox.close();
});

const errorOf = (text: string) => JSON.parse(text) as { error: string; error_description: string };

describe('access token', () => {
  test('spec 2.1: the token response has the seven fields', async () => {
    const { status, text, headers } = await client.requestToken();
    expect(status).toBe(200);
    expect(headers['content-type']).toContain('application/json');
    expect(JSON.parse(text)).toEqual({
      access_token: expect.stringMatching(/=$/),
      token_type: 'bearer',
      expires_in: 60,
      scope: expect.stringMatching(/^\S+( \S+)*$/),
      partnerId: sandbox.partnerId,
      partnerIds: sandbox.partnerId,
      userId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
  });

  test('spec 2.1: a token works verbatim, with its trailing =', async () => {
    const { status, text } = await client.ping({ authorization: `Bearer ${await client.token()}` });
    expect(status).toBe(200);
    expect(JSON.parse(text)).toEqual({ status: 1, info: 'pong' });
  });

  test('spec 4.1: the same call again gives another token, and the first one still works', async () => {
    const [first, second] = [await client.token(), await client.token()];
    expect(second).not.toBe(first);
    expect((await client.ping({ authorization: `Bearer ${first}` })).status).toBe(200);
  });

  test('spec 4.1: a charset beside the form content type is taken', async () => {
    const answer = await client.requestToken({
      'content-type': 'application/x-www-form-urlencoded; charset=utf-8',
    });
    expect(answer.status).toBe(200);
  });

  test.each([
    ['a wrong secret', () => client.basic(sandbox.clientId, 'wrong')],
    ['a wrong id', () => client.basic('nobody')],
    [
      'the production credentials',
      () => client.basic(sandbox.production.clientId, sandbox.production.clientSecret),
    ],
    ['no Basic at all', () => 'Bearer abc'],
  ])('spec 4.1: %s is refused with 401 invalid_client', async (_, authorization) => {
    const { status, text, headers } = await client.requestToken({ authorization: authorization() });
    expect(status).toBe(401);
    expect(errorOf(text).error).toBe('invalid_client');
    expect(headers['www-authenticate']).toContain('Basic');
  });

  test.each([
    ['grant_type=password', 'unsupported_grant_type'],
    ['', 'invalid_request'],
    ['grant_type=client_credentials&grant_type=client_credentials', 'invalid_request'],
  ])('spec 4.1: the body "%s" is refused with 400 %s', async (body, error) => {
    const { status, text } = await client.requestToken({}, body);
    expect(status).toBe(400);
    expect(errorOf(text).error).toBe(error);
  });

  test('spec 4.1: a JSON body is refused with 400 invalid_request', async () => {
    const body = '{"grant_type":"client_credentials"}';
    const { status, text } = await client.requestToken({ 'content-type': 'application/json' }, body);
    expect(status).toBe(400);
    expect(errorOf(text)).toMatchObject({ error: 'invalid_request' });
  });
});

describe('a call that is refused', () => {
  const refused = async (headers: Record<string, string>, description: RegExp) => {
    const { status, text, headers: answered } = await client.ping(headers);
    expect(status).toBe(401);
    expect(errorOf(text).error).toBe('invalid_token');
    expect(errorOf(text).error_description).toMatch(description);
    expect(answered['www-authenticate']).toContain('invalid_token');
  };

  test('spec 5: a token is valid until expires_in seconds have passed, then answers 401', async () => {
    const authorization = `Bearer ${await client.token()}`;
    clock += 59_999;
    expect((await client.ping({ authorization })).status).toBe(200);
    clock += 1;
    await refused({ authorization }, /expired/);
  });

  test('spec 5: a token without its trailing = is an invalid_token', async () => {
    await refused({ authorization: `Bearer ${(await client.token()).replace(/=+$/, '')}` }, /truncated/);
  });

  test('spec 7: a truncated token is an invalid_token', async () => {
    await refused({ authorization: `Bearer ${(await client.token()).slice(0, 20)}` }, /truncated/);
  });

  test('spec 7: a token that another service signed is an invalid_token', async () => {
    const other = await startSandbox();
    const stranger = new SpecClient(other);
    await refused({ authorization: `Bearer ${await stranger.token()}` }, /not issued/);
    await stranger.close();
    await other.close();
  });

  test('spec 7: no credentials at all are an invalid_token', async () => {
    await refused({}, /required/);
  });

  test('spec 7: a revoked token is an invalid_token, a later one works', async () => {
    const authorization = `Bearer ${await client.token()}`;
    sandbox.revokeTokens();
    await refused({ authorization }, /revoked/);
    clock += 1;
    expect((await client.ping({ authorization: `Bearer ${await client.token()}` })).status).toBe(200);
  });

  test('spec 7: every endpoint of the API refuses it alike', async () => {
    const { invoiceId } = await sandbox.createInvoice();
    const base = `${sandbox.baseUrl}/api/v1/billing/invoices/${invoiceId}`;
    const answers = await Promise.all([
      client.send(base),
      client.send(`${base}/export-csv`),
      client.send(`${base}/regenerate-presigned-url`, { method: 'POST' }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401]);
  });
});

describe('test and production', () => {
  test('spec 5: have separate client ids and secrets', () => {
    expect(sandbox.production.clientId).not.toBe(sandbox.clientId);
    expect(sandbox.production.clientSecret).not.toBe(sandbox.clientSecret);
  });

  test('spec 5: refuse each other’s tokens', async () => {
    const production = new SpecClient(sandbox.production);
    const [testToken, productionToken] = [await client.token(), await production.token()];
    const crossed = await client.ping({ authorization: `Bearer ${productionToken}` });
    expect(crossed.status).toBe(401);
    expect(errorOf(crossed.text).error_description).toMatch(/another environment/);
    expect((await production.ping({ authorization: `Bearer ${testToken}` })).status).toBe(401);
    expect((await production.ping({ authorization: `Bearer ${productionToken}` })).status).toBe(200);
    await production.close();
  });

  test('spec 5: do not see each other’s invoices', async () => {
    const { invoiceId } = await sandbox.createInvoice();
    const production = new SpecClient(sandbox.production);
    expect((await production.invoice(invoiceId, 'details')).status).toBe(404);
    await production.close();
  });
});

describe('API key', () => {
  test('spec 5: is valid without a token and does not expire', async () => {
    clock += 10 * 365 * 86_400_000;
    expect((await client.ping({ 'x-api-key': sandbox.apiKey })).status).toBe(200);
  });

  test('spec 5: works until it is deactivated', async () => {
    const { key, keyId } = sandbox.apiKeys.add('nightly');
    expect((await client.ping({ 'x-api-key': key })).status).toBe(200);
    sandbox.apiKeys.deactivate(keyId);
    expect((await client.ping({ 'x-api-key': key })).status).toBe(401);
    expect((await client.ping({ 'x-api-key': sandbox.apiKey })).status).toBe(200);
  });

  test('spec 5: of the other account is refused', async () => {
    expect((await client.ping({ 'x-api-key': sandbox.production.apiKey })).status).toBe(401);
  });
});
