/** Tells how far the activities of a workflow are, by what they said with their last heartbeat. */

import type { Client } from '@temporalio/client';
import { arrayFromPayloads } from '@temporalio/common';

export type OnProgress = (done: number, of: number) => void;

const LOOK_EVERY_MS = 1_000;

/** Asks every second until `stop`; that it cannot be asked just now is no failure of the work. */
export function watchProgress(client: Client, workflowId: string, onProgress: OnProgress): { stop(): void } {
  let isLooking = false;
  let isStopped = false;
  async function look(): Promise<void> {
    if (isLooking) return;
    isLooking = true;
    const progress = await progressOf(client, workflowId).catch(() => null);
    isLooking = false;
    if (progress !== null && !isStopped) onProgress(progress.done, progress.of);
  }
  const timer = setInterval(() => void look(), LOOK_EVERY_MS).unref();
  return {
    stop() {
      isStopped = true;
      clearInterval(timer);
    },
  };
}

interface HowFar {
  readonly done: number;
  readonly of: number;
}

async function progressOf(client: Client, workflowId: string): Promise<HowFar | null> {
  const { raw } = await client.workflow.getHandle(workflowId).describe();
  const { payloadCodecs, payloadConverter } = client.options.loadedDataConverter;
  for (const { heartbeatDetails } of raw.pendingActivities ?? []) {
    let payloads = heartbeatDetails?.payloads ?? [];
    for (const codec of payloadCodecs.toReversed()) payloads = await codec.decode(payloads);
    const [said] = arrayFromPayloads(payloadConverter, payloads) ?? [];
    if (isHowFar(said)) return said;
  }
  return null;
}

function isHowFar(said: unknown): said is HowFar {
  if (typeof said !== 'object' || said === null) return false;
  const { done, of } = said as Partial<Record<keyof HowFar, unknown>>;
  return typeof done === 'number' && typeof of === 'number';
}
