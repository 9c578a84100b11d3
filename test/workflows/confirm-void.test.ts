/** A void that only an event reported: out of every total at once, then the service is asked (ADR 19). */

import { ApplicationFailure } from '@temporalio/common';
import { describe, expect, test } from 'vitest';
import type { LookUpInvoiceResult } from '../../workflows/activities.ts';
import type { InvoiceLedger } from '../../workflows/lifecycle.ts';
import { eventually } from '../support/eventually.ts';
import { anInvoiceRoute } from '../support/quick-route.ts';
import { anEvent } from './invoice-builders.ts';
import { aWorld, inTurn, unreachable } from './scripted-world.ts';
import { openWorkflowFixture } from './workflow-fixture.ts';

const { play } = openWorkflowFixture(anInvoiceRoute()).scenes;

const says = (status: 'voided' | 'finalized' | null): LookUpInvoiceResult => ({
  ...{ outcome: 'found', status, header: {} },
});
const asked = (calls: readonly string[]) => calls.filter((name) => name === 'lookUpInvoice').length;

describe.concurrent('a void that only an event reported', () => {
  test('is confirmed with one request when the service agrees', async () => {
    const world = aWorld({ lookUpInvoice: async () => says('voided') });
    await play(world, async (underTest) => {
      await underTest.send(anEvent('invoice_voided'));
      expect(await underTest.result()).toMatchObject({ state: 'voided' });
    });
    expect(world.calls).toEqual([
      'recordEvent',
      'voidInvoice',
      'fetchToken',
      'lookUpInvoice',
      'recordDetails',
    ]);
    expect(world.parked).toEqual([]);
  });

  test('ends when the service agrees later', async () => {
    const world = aWorld({ lookUpInvoice: inTurn(says('finalized'), says('finalized'), says('voided')) });
    await play(world, async (underTest) => {
      await underTest.send(anEvent('invoice_voided'));
      expect(await underTest.result()).toMatchObject({ state: 'voided' });
    });
    expect(asked(world.calls)).toBe(3);
    expect(world.parked).toEqual([]);
  });

  test('waits for a person when the service keeps denying it', async () => {
    const world = aWorld({ lookUpInvoice: async () => says('finalized') });
    await play(world, async (underTest) => {
      await underTest.send(anEvent('invoice_voided'));
      await underTest.until('needs_attention');
    });
    expect(asked(world.calls)).toBe(3);
    expect(world.parked).toMatchObject([{ code: 'void-contradicted' }]);
  });

  test('is confirmed after its workflow was lost', async () => {
    const world = aWorld({ lookUpInvoice: async () => says('voided') });
    await play(world, async (underTest) => {
      world.ledger.set(underTest.invoiceId, { state: 'voided', loadedSha256: null });
      await underTest.watch();
      expect(await underTest.result()).toMatchObject({ state: 'voided' });
    });
    expect(asked(world.calls)).toBe(1);
  });

  test('is loaded after a person restores it, and stays so', async () => {
    const world = aWorld({ lookUpInvoice: async () => says('finalized') });
    const voided = anEvent('invoice_voided');
    const restored: InvoiceLedger = {
      ...{ state: 'finalized', loadedSha256: null, voidBasis: null },
      ...{ isRestored: true, failureCode: null },
    };
    world.activities.readLedger = async () => restored;
    await play(world, async (underTest) => {
      await underTest.send(voided, anEvent('invoice_finalized'));
      await underTest.until('needs_attention');
      const { invoiceId } = underTest;
      world.ledger.set(invoiceId, { state: 'finalized', loadedSha256: null });
      world.activities.recordEvent = async () => ({
        ...restored,
        ...{ verdict: 'duplicate', state: 'loaded', loadedSha256: 'a'.repeat(64) },
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
    ['no status is named', async () => says(null)],
  ])('stands with a note when %s', async (_why, lookUpInvoice) => {
    const world = aWorld({ lookUpInvoice });
    await play(world, async (underTest) => {
      await underTest.send(anEvent('invoice_voided'));
      expect(await underTest.result()).toMatchObject({ state: 'voided' });
    });
    expect(world.noted).toEqual(['void-unconfirmed']);
  });
});

describe.concurrent('what keeps failing', () => {
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
    expect(world.noted).toEqual(['unreachable']);
  });

  test('is reported after three failed requests, and the run ends', async () => {
    const world = aWorld({ lookUpInvoice: unreachable });
    await play(world, async (underTest) => {
      await underTest.send(anEvent('invoice_finalized'));
      await underTest.result();
      await underTest.lookUp();
      expect(await underTest.result()).toMatchObject({ state: 'loaded' });
    });
    expect(asked(world.calls)).toBe(9);
    expect(world.noted).toEqual(['recheck-unanswered']);
  });
});
