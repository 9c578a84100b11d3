/** A void that only an event reported leaves every total at once; then the service confirms it (ADR 19). */

import { ApplicationFailure } from '@temporalio/common';
import { describe, expect, test } from 'vitest';
import type { LookUpInvoiceResult } from '../../workflows/activities.ts';
import type { InvoiceLedger } from '../../workflows/lifecycle.ts';
import { eventually } from '../support/eventually.ts';
import { anInvoiceRoute } from '../support/quick-route.ts';
import { anEvent } from './invoice-builders.ts';
import { aWorld, inTurn, unreachable, type World } from './scripted-world.ts';
import { openWorkflowFixture } from './workflow-fixture.ts';

const { play, settle, playUntilAttention } = openWorkflowFixture(anInvoiceRoute()).scenes;

const details = (status: 'voided' | 'finalized' | null): LookUpInvoiceResult => ({
  ...{ outcome: 'found', status, header: {} },
});
const requestsOf = ({ calls }: World) => calls.filter((name) => name === 'lookUpInvoice').length;

describe.concurrent('a void that only an event reported', () => {
  test('is confirmed with one request when the service agrees', async () => {
    const world = aWorld({ lookUpInvoice: async () => details('voided') });
    expect(await settle(world, [anEvent('invoice_voided')])).toMatchObject({ state: 'voided' });
    expect(world.calls).toEqual([
      ...['recordEvent', 'voidInvoice', 'fetchToken', 'lookUpInvoice', 'recordDetails'],
    ]);
    expect(world.attentions).toEqual([]);
  });

  test('ends when the service agrees later', async () => {
    const answers = [details('finalized'), details('finalized'), details('voided')];
    const world = aWorld({ lookUpInvoice: inTurn(...answers) });
    expect(await settle(world, [anEvent('invoice_voided')])).toMatchObject({ state: 'voided' });
    expect(requestsOf(world)).toBe(3);
    expect(world.attentions).toEqual([]);
  });

  test('waits for a person when the service keeps denying it', async () => {
    const world = aWorld({ lookUpInvoice: async () => details('finalized') });
    await playUntilAttention(world, [anEvent('invoice_voided')]);
    expect(requestsOf(world)).toBe(3);
    expect(world.attentions).toMatchObject([{ code: 'void-contradicted' }]);
  });

  test('is confirmed after its workflow was lost', async () => {
    const world = aWorld({ lookUpInvoice: async () => details('voided') });
    await play(world, async (underTest) => {
      world.ledger.set(underTest.invoiceId, { state: 'voided', loadedSha256: null });
      await underTest.watch();
      expect(await underTest.result()).toMatchObject({ state: 'voided' });
    });
    expect(requestsOf(world)).toBe(1);
  });

  test('is loaded after a person restores it, and stays so', async () => {
    const world = aWorld({ lookUpInvoice: async () => details('finalized') });
    const voided = anEvent('invoice_voided');
    const restored: InvoiceLedger = {
      ...{ state: 'finalized', loadedSha256: null, voidBasis: null },
      ...{ isRestored: true, failureCode: null },
    };
    world.activities.readLedger = async () => restored;
    await play(world, async (underTest) => {
      await underTest.send(voided, anEvent('invoice_finalized'));
      await underTest.until('needs_attention');
      world.ledger.set(underTest.invoiceId, { state: 'finalized', loadedSha256: null });
      world.activities.recordEvent = async () => ({
        ...restored,
        ...{ state: 'loaded', loadedSha256: 'a'.repeat(64) },
      });
      await underTest.lookUp();
      expect(await underTest.result()).toMatchObject({ state: 'loaded' });
      await underTest.send(voided);
      expect(await underTest.result()).toMatchObject({ state: 'loaded' });
    });
    expect(world.loads).toHaveLength(1);
  });

  test.each([
    ['the details answer 404', async () => ({ outcome: 'not-found' }) as const],
    [
      'its scope does not allow it',
      async () => {
        throw ApplicationFailure.create({ type: 'forbidden', message: 'details answered 403.' });
      },
    ],
    ['the details have no status', async () => details(null)],
  ])('stays, with a failure on the invoice, when %s', async (_why, lookUpInvoice) => {
    const world = aWorld({ lookUpInvoice });
    expect(await settle(world, [anEvent('invoice_voided')])).toMatchObject({ state: 'voided' });
    expect(world.failures).toEqual(['void-unconfirmed']);
  });
});

describe.concurrent('a continuing failure', () => {
  test('is stored on the invoice once', async () => {
    const away = { downloadCsv: unreachable, regenerateUrl: unreachable, exportCsv: unreachable };
    const world = aWorld({ ...away, fetchToken: unreachable });
    await play(
      world,
      async (underTest) => {
        await underTest.send(anEvent('invoice_finalized'));
        await eventually(() => world.calls.length > 25);
      },
      { attentionAfter: '1 h' },
    );
    expect(world.failures).toEqual(['unreachable']);
  });

  test('is reported after three failed requests, and the run ends', async () => {
    const world = aWorld({ lookUpInvoice: unreachable });
    await play(world, async (underTest) => {
      await underTest.send(anEvent('invoice_finalized'));
      await underTest.result();
      await underTest.lookUp();
      expect(await underTest.result()).toMatchObject({ state: 'loaded' });
    });
    expect(requestsOf(world)).toBe(9);
    expect(world.failures).toEqual(['recheck-unanswered']);
  });
});
