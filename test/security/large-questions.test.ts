import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAssistantServer } from '../../finance/assistants/assistant-server.ts';
import { attackEach } from '../support/attack.ts';
import { anInvoice, aShipment, reportsFixture } from '../support/reports-fixture.ts';

const fixture = await reportsFixture([anInvoice([aShipment({ tracking: '1Z1', carrier: 'ups' })])]);
const client = new Client({ name: 'test', version: '1.0.0' });
let blocked: Promise<never> | null = null;
const server = createAssistantServer({
  ...{ databasePath: fixture.path, version: '0', timeLimitMs: 3_000 },
  explain: () => {
    blocked ??= new Promise<never>(() => undefined);
    return blocked;
  },
});

beforeAll(async () => {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(theirs), client.connect(ours)]);
});
afterAll(async () => {
  await client.close();
  await fixture.remove();
});

const call = (name: string, input: Record<string, unknown>) => client.callTool({ name, arguments: input });
const many = (count: number) => Array.from({ length: count }, (_, index) => `value ${index}`);

test('limits lists and texts, and answers within the limits in time', async () => {
  const tooLarge = [
    { conditions: { tracking: many(1_001) } },
    { conditions: { is_carrier: many(100_000) } },
    { conditions: { service: ['x'.repeat(501)] } },
    { conditions: Object.fromEntries(many(31).map((name) => [name, ['x']])) },
    { tenant: many(1_001) },
    { sort: 'x'.repeat(501) },
    { columns: many(1_001) },
    { after: 'x'.repeat(5_001) },
  ];
  await attackEach('requests of an assistant that are too large', tooLarge, async (input) => {
    const { isError } = await call('search_shipments', input).catch(() => ({ isError: true }));
    return isError === true;
  });
  const values = many(990);
  for (const conditions of [
    { tracking: ['1Z1', ...values] },
    { tracking: ['1Z*', ...values.map((value) => `${value}*`)] },
    { is_carrier: ['ups', ...values], is_tracking_number: ['1Z1', '', ...values] },
    { cost_from: ['1', ...Array.from({ length: 999 }, (_, index) => `${100 + index}`)] },
    { invoice: values, service: ['ground', ...values] },
  ]) {
    const { structuredContent, content, isError } = await call('search_shipments', { conditions });
    expect(isError ?? false, JSON.stringify(content)).toBe(false);
    const { rows } = structuredContent as { rows: readonly unknown[] };
    expect(rows).toHaveLength('invoice' in conditions ? 0 : 1);
  }
});

test('ends a query at its limit, and answers the next one', async () => {
  const [hanging, next] = await Promise.all([
    call('explain_shipment', { tracking_number: '1Z1' }),
    call('search_shipments', {}),
  ]);
  expect(hanging).toMatchObject({ isError: true });
  expect(next.isError ?? false).toBe(false);
});
