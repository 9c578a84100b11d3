import { ServiceError } from '@temporalio/client';
import { describe, expect, test } from 'vitest';
import { retryQuery } from '../../../workflows/client/backfill-client.ts';

const unavailable = (): never => {
  throw new ServiceError('Failed to query Workflow');
};

describe('retryQuery', () => {
  test('queries again until a worker answers', async () => {
    let queries = 0;
    const answer = await retryQuery(async () => {
      queries += 1;
      return queries === 1 ? unavailable() : queries;
    });
    expect(answer).toBe(2);
  });

  test('throws any other error at once', async () => {
    let queries = 0;
    const failed = retryQuery(async () => {
      queries += 1;
      throw new Error('there is no such query');
    });
    await expect(failed).rejects.toThrow('there is no such query');
    expect(queries).toBe(1);
  });

  test('ends when its signal aborts', async () => {
    const query = retryQuery(async () => unavailable(), AbortSignal.timeout(50));
    await expect(query).rejects.toMatchObject({ name: 'AbortError' });
  });
});
