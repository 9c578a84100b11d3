import type { FastifyRequest } from 'fastify';
import type { Account } from '../account.ts';
import { API_KEY_HEADER, GRANTED_SCOPES } from '../choices.ts';
import { sameSecret } from '../security/tokens.ts';
import { type Answer, json, problem } from './answer.ts';

/** Spec 4.1; errors as in RFC 6749, 5.2. */
export function issueToken(account: Account, request: FastifyRequest): Answer {
  const type = request.headers['content-type']?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/x-www-form-urlencoded') {
    return problem(400, 'invalid_request', 'Content-Type has to be application/x-www-form-urlencoded');
  }
  if (!isClient(account, request.headers.authorization)) {
    return problem(401, 'invalid_client', 'Client ID or client secret is wrong', {
      'www-authenticate': 'Basic realm="oauth", charset="UTF-8"',
    });
  }
  const grants = new URLSearchParams(typeof request.body === 'string' ? request.body : '').getAll(
    'grant_type',
  );
  if (grants.length !== 1) return problem(400, 'invalid_request', 'grant_type is required, once');
  if (grants[0] !== 'client_credentials') {
    return problem(400, 'unsupported_grant_type', 'grant_type has to be client_credentials');
  }
  const { accessToken, expiresInSeconds } = account.tokens.issue();
  const { partnerId } = account.partner;
  return json(
    200,
    {
      access_token: accessToken,
      token_type: 'bearer',
      expires_in: expiresInSeconds,
      scope: GRANTED_SCOPES,
      partnerId,
      partnerIds: partnerId,
      userId: account.credentials.userId,
    },
    { 'cache-control': 'no-store' },
  );
}

function isClient({ credentials }: Account, authorization: string | undefined): boolean {
  const match = /^basic +([a-z0-9+/]+=*)$/i.exec(authorization ?? '');
  const pair = Buffer.from(match?.[1] ?? '', 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  if (colon < 0) return false;
  const isId = sameSecret(pair.slice(0, colon), credentials.clientId);
  return sameSecret(pair.slice(colon + 1), credentials.clientSecret) && isId;
}

export function guarded(account: Account, request: FastifyRequest, work: () => Answer | Promise<Answer>) {
  const refusal = refuseCaller(account, request);
  if (refusal === null) return work();
  return problem(401, 'invalid_token', refusal, {
    'www-authenticate': `Bearer error="invalid_token", error_description="${refusal}"`,
  });
}

function refuseCaller(account: Account, { headers }: FastifyRequest): string | null {
  const bearer = /^bearer +(.*)$/i.exec(headers.authorization ?? '')?.[1];
  if (bearer !== undefined) return account.tokens.check(bearer);
  const key = headers[API_KEY_HEADER];
  if (typeof key !== 'string') return 'An access token or an API key is required';
  return account.isActiveApiKey(key) ? null : 'The API key is unknown or deactivated';
}
