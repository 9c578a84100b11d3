/** 1,000 workflows with six signals around the end of each: all are processed and no handler is left unfinished. */

import { pino } from 'pino';
import { createScenes } from '../workflows/invoice-scenes.ts';
import { sendSignalsAroundTheEnd } from '../workflows/signals-at-the-end.ts';
import { startRealWorkers } from './real-workers.ts';

export const summary = '1,000 workflows with six signals around their end (signals-at-the-end [workflows])';

export async function main([count = '1000']: readonly string[]): Promise<void> {
  const lines: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
  const scenes = createScenes();
  const { billing, warehouse } = scenes;
  const workers = await startRealWorkers(log, { billing, warehouse });
  const { client, route } = workers;
  try {
    const began = performance.now();
    const workflows = Number(count);
    const counts = await sendSignalsAroundTheEnd(scenes, { client, route, workflows });
    const warnings = lines.filter((line) => /unfinished|TMPRL1102/i.test(line));
    const seconds = ((performance.now() - began) / 1_000).toFixed(1);
    console.log(
      `${counts.workflows} workflows, ${counts.signals} signals, ${counts.processed} processed in ${counts.runs} runs, ${warnings.length} warnings of unfinished handlers, ${seconds} s`,
    );
    if (counts.processed !== counts.signals || warnings.length > 0) {
      throw new Error(`A signal was lost, or a handler left unfinished: ${warnings.slice(0, 3).join('')}`);
    }
  } finally {
    await workers.close();
  }
}
