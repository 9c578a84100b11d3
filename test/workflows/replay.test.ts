import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger, Worker } from '@temporalio/worker';
import { pino } from 'pino';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { installRuntime } from '../../worker/runtime.ts';
import type { CarriedInvoice } from '../../workflows/messages.ts';

const folder = join(import.meta.dirname, '..', 'histories');
const recordings = readdirSync(folder)
  .filter((name) => name.endsWith('.json'))
  .map((name) => name.replace(/\.json$/, ''));

interface RecordedEvent {
  readonly workflowExecutionStartedEventAttributes?: {
    workflowId: string;
    input?: { payloads?: readonly { readonly data: string }[] };
  };
  readonly activityTaskScheduledEventAttributes?: { activityType: { name: string } };
}

interface Recorded {
  readonly events: readonly RecordedEvent[];
}

async function recorded(name: string): Promise<Recorded> {
  return JSON.parse(await readFile(join(folder, `${name}.json`), 'utf8'));
}

async function replay(
  histories: Readonly<Record<string, Recorded>>,
  workflowBundle: { codePath: string } | { code: string } = { codePath: inject('workflowBundlePath') },
): Promise<Record<string, Error>> {
  const names = new Map<string, string>();
  const items = Object.entries(histories).map(([name, json]) => {
    // Workflows name their children after themselves, so the id belongs to the history.
    const workflowId = json.events[0]?.workflowExecutionStartedEventAttributes?.workflowId ?? name;
    names.set(workflowId, name);
    return { workflowId, history: json };
  });
  const failures: Record<string, Error> = {};
  for await (const { workflowId, error } of Worker.runReplayHistories({ workflowBundle }, items)) {
    if (error !== undefined) failures[names.get(workflowId) ?? workflowId] = error;
  }
  return failures;
}

beforeAll(() => installRuntime(pino({ level: 'fatal' })));

describe('recorded histories', () => {
  test('replays every recorded history', async () => {
    const histories = await Promise.all(
      recordings.map(async (name) => [name, await recorded(name)] as const),
    );
    expect(await replay(Object.fromEntries(histories))).toEqual({});
  });

  test('keeps the repair count of a file in a run that continues as new', async () => {
    const { events } = await recorded('rejected-then-repaired-2');
    const [input] = events[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
    const { carried } = JSON.parse(Buffer.from(input?.data ?? '', 'base64').toString()) as {
      readonly carried?: CarriedInvoice;
    };
    expect(carried?.rejected?.sha256).toBe('c'.repeat(64));
    expect(carried?.attempts.repairChecks).toBeGreaterThan(1);
  });

  test('detects an order of activities that the code does not have', async () => {
    const history = await recorded('loaded-at-once');
    const changed = history.events.map((event) => {
      const scheduled = event.activityTaskScheduledEventAttributes;
      if (scheduled?.activityType.name !== 'downloadCsv') return event;
      const activityType = { name: 'exportCsv' };
      return { ...event, activityTaskScheduledEventAttributes: { ...scheduled, activityType } };
    });
    const { injected } = await replay({ injected: { events: changed } });
    expect(injected?.name).toBe('DeterminismViolationError');
  });

  test('replays on code that was changed behind `patched`', async () => {
    const workflowBundle = await bundleWorkflowCode({
      workflowsPath: join(import.meta.dirname, 'patched-invoice.ts'),
      logger: new DefaultLogger('WARN'),
    });
    expect(await replay({ recorded: await recorded('loaded-at-once') }, workflowBundle)).toEqual({});
  });
});
