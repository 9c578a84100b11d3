/** A killed worker's attempts end by their missing heartbeats, so what is alive has to beat. */

import { Context } from '@temporalio/activity';
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { heartbeatWhileRunning } from '../../worker/create-workers.ts';

describe('heartbeatWhileRunning', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test('heartbeats during a long activity and stops when it ends', async () => {
    expect(await heartbeatsOf('recordEvent', { heartbeatTimeoutMs: 15_000 })).toBe(3);
  });

  test('leaves activities that report their progress alone', async () => {
    expect(await heartbeatsOf('verifyWarehouse', { heartbeatTimeoutMs: 60_000 })).toBe(0);
  });
});

/** Heartbeats of an activity that takes ten seconds, and of the ten seconds after it. */
async function heartbeatsOf(
  activityType: string,
  info: { readonly heartbeatTimeoutMs?: number },
): Promise<number> {
  const environment = new MockActivityEnvironment({ activityType, ...info });
  let beats = 0;
  environment.on('heartbeat', () => {
    beats += 1;
  });
  const running = environment.run(async () => {
    const { inbound } = heartbeatWhileRunning(Context.current());
    const work = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, 10_000));
    return inbound?.execute === undefined ? work() : inbound.execute({ args: [], headers: {} }, work);
  });
  await vi.advanceTimersByTimeAsync(10_000);
  await running;
  await vi.advanceTimersByTimeAsync(10_000);
  return beats;
}
