import { expect, test } from 'vitest';
import type { Settings } from '../../lib/config/settings.ts';
import { createEndpointPaths } from '../../webhook/authentication.ts';

const basicAuth = [{ user: 'service', password: 'secret' }];
const headers = [{ name: 'X-Key', value: 'value' }];
const authorization = `Basic ${Buffer.from('service:secret').toString('base64')}`;

function pathsOf(webhook: Pick<Settings['webhook'], 'credentials' | 'paths'>) {
  return createEndpointPaths({ path: '/hooks', ...webhook } as Settings['webhook']);
}

test('requires a password and a header where both are set', () => {
  const authorize = pathsOf({ credentials: { basicAuth, headers }, paths: [] }).find('/hooks');
  expect(authorize?.({ authorization, 'x-key': 'value' })).toBe(true);
  for (const given of [{}, { authorization }, { 'x-key': 'value' }, { authorization, 'x-key': 'other' }])
    expect(authorize?.(given), JSON.stringify(given)).toBe(false);
});

test('requires the credentials of the longest path, and knows no path that only begins like one', () => {
  const own = { basicAuth: [], headers };
  const paths = pathsOf({
    credentials: { basicAuth, headers: [] },
    paths: [{ path: '/tenant', credentials: own }],
  });
  expect(paths.find('/hooks/tenant/')?.({ 'x-key': 'value' })).toBe(true);
  expect(paths.find('/hooks/tenant/a')?.({ authorization })).toBe(false);
  expect(paths.find('/hooks/tenants')?.({ authorization })).toBe(true);
  expect(paths.find('/hooksaw')).toBeNull();
});
