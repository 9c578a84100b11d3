import { afterAll, expect, test } from 'vitest';
import { anInvoice, aShipment, reportsFixture } from '../support/reports-fixture.ts';

const fixture = await reportsFixture(
  ['acme', 'ACME'].map((tenant, at) =>
    anInvoice([aShipment({ tenant, carrier: tenant })], { tenantId: `tenant-${at}` }),
  ),
);
afterAll(() => fixture.remove());

test('an exact spelling of a tenant matches only itself, any other spelling matches all; carriers match in any', async () => {
  const found = async (report: string, filters: object) =>
    (await fixture.run(report, filters)).rows.map((row) => row.tenant ?? row.carrier).sort();
  expect(await found('tenants', { tenants: ['ACME'] })).toEqual(['ACME']);
  expect(await found('tenants', { tenants: ['Acme'] })).toEqual(['ACME', 'acme']);
  expect(await found('carriers', { carriers: ['acme'] })).toEqual(['ACME', 'acme']);
});
