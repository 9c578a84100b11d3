import { describe, expect, test } from 'vitest';
import { createApi, createTokenSource } from '../../billing/api.ts';
import type { Http } from '../../billing/http.ts';
import { serviceSettings } from './service-settings.ts';

function source({ lifeSeconds = 100 }: { readonly lifeSeconds?: number } = {}) {
  const world = { nowMs: 0, fetched: 0, fails: false };
  const fetch = async () => {
    world.fetched++;
    await Promise.resolve();
    // The life of a token counts from its request, not from the answer.
    world.nowMs += 1_000;
    if (world.fails) throw new Error('away');
    return { accessToken: `token-${world.fetched}==`, expiresInSeconds: lifeSeconds };
  };
  const tokens = createTokenSource(fetch, () => world.nowMs);
  return { world, tokens };
}

describe('createTokenSource', () => {
  test('requests one token for many callers and keeps it verbatim', async () => {
    const { world, tokens } = source();
    const texts = await Promise.all(Array.from({ length: 50 }, () => tokens.token()));
    expect(new Set(texts)).toEqual(new Set(['token-1==']));
    expect(world.fetched).toBe(1);
  });

  test.each([
    [100, 80_000],
    [3_600, 3_540_000],
    [3, 2_400],
  ])('renews a token of %i s when a fifth of its life or a minute is left, at %i ms', async (life, atMs) => {
    const { world, tokens } = source({ lifeSeconds: life });
    await tokens.token();
    expect(tokens.secondsLeft()).toBeCloseTo(life - 1, 5);
    world.nowMs = atMs - 1;
    expect(await tokens.token()).toBe('token-1==');
    world.nowMs = atMs;
    expect(await tokens.token()).toBe('token-2==');
    world.nowMs = 10 ** 9;
    expect(tokens.secondsLeft()).toBe(0);
  });

  test('drops a refused token once for many callers', async () => {
    const { world, tokens } = source();
    const refused = await tokens.token();
    tokens.drop(refused);
    const fresh = await tokens.token();
    tokens.drop(refused);
    expect(await tokens.token()).toBe(fresh);
    expect(world.fetched).toBe(2);
  });

  test('uses the old token until it expires while the service is away', async () => {
    const { world, tokens } = source();
    await tokens.token();
    world.fails = true;
    world.nowMs = 98_999;
    expect(await tokens.token()).toBe('token-1==');
    await expect(tokens.token()).rejects.toThrow('away');
    world.fails = false;
    expect(await tokens.token()).toBe('token-4==');
  });

  test('aborts one waiting caller, not the request', async () => {
    const { tokens } = source();
    const controller = new AbortController();
    const aborted = tokens.token(controller.signal);
    const other = tokens.token();
    controller.abort(new Error('mine'));
    await expect(aborted).rejects.toThrow('mine');
    expect(await other).toBe('token-1==');
  });
});

test.each([
  [
    { error: 'invalid_client', error_description: 'unknown client' },
    4,
    'HTTP 200, invalid_client, unknown client',
  ],
  [{ error: 'server_busy' }, 6, 'HTTP 200, server_busy'],
  [{ error: { code: 'E17', message: 'no scope for s3cret-text' } }, 6, 'HTTP 200, E17, no scope for ***'],
])('a token endpoint that answers 200 with %j is reported with its error', async (body, exitCode, reason) => {
  const none = { baseUrl: 'https://billing.invalid', authUrl: 'https://billing.invalid', caFile: null };
  const { service } = serviceSettings(
    { ...none, clientId: 'id', clientSecret: 's3cret-text' },
    { dataDir: '/nowhere' },
  );
  const send = async () => ({ status: 200, headers: {}, body: Buffer.from(JSON.stringify(body)) });
  const http = { send } as unknown as Http;
  const api = createApi(service, http, () => undefined);
  await expect(api.authorize(undefined)).rejects.toMatchObject({
    ...{ exitCode, message: expect.stringContaining(reason) },
  });
});
