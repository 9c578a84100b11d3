import { afterAll, expect, test } from 'vitest';
import { GIVEN_FILES } from '../../finance/given-files/given-files.ts';
import { anInvoice, aShipment, reportsFixture } from '../support/reports-fixture.ts';

const fixture = await reportsFixture([anInvoice([aShipment()])]);
afterAll(fixture.remove);

test.each(GIVEN_FILES.filter(({ template }) => template !== null))(
  'the template of $path passes its check, although no other file is given',
  async (file) => {
    const bytes = Buffer.from(file.template ?? '');
    expect(await file.check({ path: file.name, bytes }, fixture.path)).toHaveLength(1);
  },
);
