/** Attempts of a killed worker end by their missing heartbeats, so a running activity sends them. */

import { Context } from '@temporalio/activity';
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { heartbeatWhileRunning } from '../../worker/create-workers.ts';

describe('heartbeatWhileRunning', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test('sends heartbeats while an activity runs', async () => {
    expect(await heartbeatsOf('recordEvent', { heartbeatTimeoutMs: 15_000 })).toBe(3);
  });

  test('skips activities that send their progress themselves', async () => {
    expect(await heartbeatsOf('verifyWarehouse', { heartbeatTimeoutMs: 60_000 })).toBe(0);
  });

  test('skips activities without a heartbeat timeout', async () => {
    expect(await heartbeatsOf('publishSnapshot', {})).toBe(0);
  });
});

/** Heartbeats of an activity that takes ten seconds, and of the ten seconds after it. */
async function heartbeatsOf(
  activityType: string,
  info: { readonly heartbeatTimeoutMs?: number },
): Promise<number> {
  const environment = new MockActivityEnvironment({ activityType, ...info });
  let heartbeats = 0;
  environment.on('heartbeat', () => {
    heartbeats += 1;
  });
  const running = environment.run(async () => {
    const { inbound } = heartbeatWhileRunning(Context.current());
    const work = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, 10_000));
    return inbound?.execute === undefined ? work() : inbound.execute({ args: [], headers: {} }, work);
  });
  await vi.advanceTimersByTimeAsync(10_000);
  await running;
  await vi.advanceTimersByTimeAsync(10_000);
  return heartbeats;
}
