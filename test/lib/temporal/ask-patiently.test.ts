/** Who watches a workflow outlives its worker: no answer is asked for again, a refusal is not. */

import { ServiceError } from '@temporalio/client';
import { describe, expect, test } from 'vitest';
import { askPatiently } from '../../../lib/temporal/ask-patiently.ts';

const away = (): never => {
  throw new ServiceError('Failed to query Workflow');
};

describe('askPatiently', () => {
  test('asks again until somebody answers', async () => {
    let asked = 0;
    const answer = await askPatiently(async () => {
      asked += 1;
      return asked === 1 ? away() : asked;
    });
    expect(answer).toBe(2);
  });

  test('passes on at once what is no absence', async () => {
    let asked = 0;
    const refused = askPatiently(async () => {
      asked += 1;
      throw new Error('there is no such query');
    });
    await expect(refused).rejects.toThrow('there is no such query');
    expect(asked).toBe(1);
  });

  test('stops when nobody wants the answer any more', async () => {
    const asking = askPatiently(async () => away(), AbortSignal.timeout(50));
    await expect(asking).rejects.toMatchObject({ name: 'TimeoutError' });
  });
});
