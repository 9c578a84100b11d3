import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, digitsOf, excerpt, jsonObject, textOf } from '../http.ts';
import { breakRule, type Rule, requireNoComplaint, requireThat, rule, UUID } from '../rule.ts';
import { basic, type Service, UNKNOWN_INVOICE } from '../service.ts';
import { type SuiteContext, skip } from '../suite-context.ts';

/** Headers in which an API key may be sent, since the specification does not show one (spec 5). */
export const API_KEY_HEADERS: readonly ((key: string) => Readonly<Record<string, string>>)[] = [
  (key) => ({ 'x-api-key': key }),
  (key) => ({ authorization: `ApiKey ${key}` }),
  (key) => ({ authorization: `Bearer ${key}` }),
  (key) => ({ 'api-key': key }),
  (key) => ({ authorization: key }),
];

export const authorizationRules: readonly Rule[] = [
  rule(
    '2.1',
    'token-fields',
    'The token answer has its seven fields, each of its type',
    async ({ service }) => {
      const body = jsonObject((await service.requestToken()).body) ?? breakRule('no JSON object');
      const wrong = ['access_token', 'scope', 'partnerIds', 'userId'].filter(
        (name) => textOf(body[name]) === null,
      );
      if (textOf(body.token_type)?.toLowerCase() !== 'bearer') wrong.push('token_type');
      if (!/^[1-9]\d*$/.test(digitsOf(body.expires_in) ?? '')) wrong.push('expires_in');
      if (!UUID.test(textOf(body.partnerId) ?? '')) wrong.push('partnerId');
      requireNoComplaint(wrong.map((name) => `${name} is ${JSON.stringify(body[name]) ?? 'missing'}`));
      return `scope "${String(body.scope)}", expires_in ${String(body.expires_in)}`;
    },
  ),
  rule(
    '4.1',
    'token-call',
    'POST /oauth/token with Basic credentials and a form answers a JSON object',
    async ({ service }) => {
      const { status, headers } = await service.requestToken();
      requireThat(
        status === 200 && /json/.test(headers['content-type'] ?? ''),
        `${status} ${headers['content-type']}`,
      );
      return `${status} ${headers['content-type']}`;
    },
  ),
  refusedToken('wrong-grant', 'A grant_type other than client_credentials is refused', {
    body: 'grant_type=password',
  }),
  refusedToken('missing-grant', 'grant_type is required', { body: '' }),
  refusedToken('json-token-request', 'The body has to be a form', {
    contentType: 'application/json',
    body: '{"grant_type":"client_credentials"}',
  }),
  refusedToken('missing-credentials', 'Without Basic credentials there is no token', { authorization: null }),
  refusedToken('wrong-credentials', 'With wrong Basic credentials there is no token', {
    authorization: basic('unknown', 'wrong'),
  }),
  rule('4.1', 'token-refresh', 'The same call repeated answers a token that works', async ({ service }) => {
    await service.requestToken();
    const token = tokenOf(await service.requestToken());
    return pingWorks(service, { authorization: `Bearer ${token}` });
  }),
  rule('4.2', 'ping', 'Ping answers status 1 and info pong', async ({ service }) => pingWorks(service)),
  rule('5', 'verbatim-token', 'The token is used verbatim, with any trailing =', async ({ service }) => {
    const token = tokenOf(await service.requestToken());
    await pingWorks(service, { authorization: `Bearer ${token}` });
    return `a token of ${token.length} characters ending in "${token.slice(-1)}" is accepted`;
  }),
  rule(
    '5',
    'separate-environments',
    'Test and production use separate credentials',
    async ({ service, otherEnvironment }) => {
      const other = otherEnvironment ?? skip('no address of the other environment was given');
      const token = await service.token();
      const forToken = await other.requestToken();
      const forCall = await other.ping({ authorization: `Bearer ${token}` });
      requireThat(
        forToken.status === 401 && forCall.status === 401,
        `${forToken.status} for a token, ${forCall.status} for a call`,
      );
      return '401 for these credentials and for their token in the other environment';
    },
  ),
  rule('5', 'api-key', 'An API key is accepted in place of a token', async ({ service }) => {
    const key = service.apiKey ?? skip('no API key was given');
    return `accepted as ${await findApiKeyHeader(service, key)}`;
  }),
  rule(
    '5',
    'api-key-deactivated',
    'An API key stays valid until it is deactivated',
    async ({ service, application }) => {
      const { keyId, key } = await application.addApiKey();
      const header = await findApiKeyHeader(service, key);
      await application.deactivateApiKey(keyId);
      const after = await service.ping(
        API_KEY_HEADERS.map((make) => make(key)).find((one) => nameOf(one) === header) ?? {},
      );
      requireThat(after.status === 401, `${after.status} after deactivation`);
      return 'accepted before, 401 after deactivation';
    },
  ),
  ...(['ping', 'regenerate', 'details', 'export-csv'] as const).map(
    (endpoint): Rule =>
      rule(
        '7',
        `unauthorized-${endpoint}`,
        `A call of ${endpoint} without a token is answered with 401`,
        async ({ service }) => {
          const { status } = await callEndpoint(service, endpoint, {});
          requireThat(status === 401, String(status));
          return '401';
        },
      ),
  ),
  refusedBearer('truncated-token', 'A truncated token yields 401 and invalid_token', (token) =>
    token.slice(0, -1),
  ),
  refusedBearer(
    'foreign-token',
    'A token of another issuer yields 401 and invalid_token',
    () => 'bm90IGEgdG9rZW4=',
  ),
  rule(
    '7',
    'expired-token',
    'After expires_in seconds calls fail with 401; a new token works',
    async ({ shortLived: { service } }) => {
      const answer = await service.requestToken();
      const authorization = `Bearer ${tokenOf(answer)}`;
      const seconds = Number(digitsOf(jsonObject(answer.body)?.expires_in));
      requireThat((await service.ping({ authorization })).status === 200, 'a fresh token is refused');
      await sleep(seconds * 1_000 + 100);
      const late = await service.ping({ authorization });
      requireThat(late.status === 401, `${late.status} after ${seconds} s`);
      await pingWorks(service, { authorization: `Bearer ${tokenOf(await service.requestToken())}` });
      return `401 after ${seconds} s, ${describeError(late)}`;
    },
  ),
  rule('9', 'version-segment', 'Endpoint paths carry v1', async ({ service }) => {
    const v1 = await service.ping();
    const v2 = await service.call({ path: '/api/v2/deliveryexperience/ping' });
    requireThat(v1.status === 200 && v2.status === 404, `v1 ${v1.status}, v2 ${v2.status}`);
    return 'v1 answers, v2 is 404';
  }),
];

export async function findApiKeyHeader(service: Service, key: string): Promise<string> {
  const statuses: string[] = [];
  for (const make of API_KEY_HEADERS) {
    const headers = make(key);
    const { status } = await service.ping(headers);
    if (status === 200) return nameOf(headers);
    statuses.push(`${nameOf(headers)} ${status}`);
  }
  return breakRule(statuses.join(', '));
}

function nameOf(headers: Readonly<Record<string, string>>): string {
  return Object.entries(headers)
    .map(([name, value]) => (value.includes(' ') ? `${name}: ${value.split(' ')[0]}` : name))
    .join();
}

function refusedToken(id: string, text: string, request: Parameters<Service['requestToken']>[0]): Rule {
  return rule('4.1', id, text, async ({ service }) => {
    const answer = await service.requestToken(request);
    requireThat(
      answer.status === 400 || answer.status === 401 || answer.status === 415,
      String(answer.status),
    );
    requireThat(
      textOf(jsonObject(answer.body)?.access_token) === null,
      `${answer.status} with a token all the same`,
    );
    return `${answer.status} ${describeError(answer)}`;
  });
}

function refusedBearer(id: string, text: string, change: (token: string) => string): Rule {
  return rule('7', id, text, async ({ service }: SuiteContext) => {
    const answer = await service.ping({ authorization: `Bearer ${change(await service.token())}` });
    const body = jsonObject(answer.body);
    requireThat(answer.status === 401, String(answer.status));
    requireThat(
      textOf(body?.error) === 'invalid_token',
      `error is ${JSON.stringify(body?.error) ?? 'missing'}`,
    );
    requireThat(textOf(body?.error_description) !== null, 'error_description is missing');
    return `401 ${describeError(answer)}`;
  });
}

function callEndpoint(
  service: Service,
  endpoint: string,
  headers: Readonly<Record<string, string>>,
): Promise<Answer> {
  if (endpoint === 'ping') return service.ping(headers);
  if (endpoint === 'regenerate') return service.regenerate(UNKNOWN_INVOICE, headers);
  return endpoint === 'details'
    ? service.details(UNKNOWN_INVOICE, headers)
    : service.exportCsv(UNKNOWN_INVOICE, headers);
}

async function pingWorks(service: Service, headers?: Readonly<Record<string, string>>): Promise<string> {
  const answer = await service.ping(headers);
  const body = jsonObject(answer.body);
  requireThat(
    answer.status === 200 && digitsOf(body?.status) === '1' && body?.info === 'pong',
    `${answer.status} ${excerpt(answer.body)}`,
  );
  return `${answer.status} ${excerpt(answer.body)}`;
}

function tokenOf({ status, body }: Answer): string {
  return textOf(jsonObject(body)?.access_token) ?? breakRule(`the token call was answered with ${status}`);
}

function describeError({ body }: Answer): string {
  const object = jsonObject(body);
  const description = textOf(object?.error_description);
  return `${textOf(object?.error) ?? ''}${description === null ? '' : ` (${description})`}`.trim();
}
