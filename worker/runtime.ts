/** Temporal's runtime, once per process: our log instead of its own, and our signal handling instead of its own. */

import { DefaultLogger, makeTelemetryFilterString, Runtime } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { Metrics } from '../lib/metrics.ts';
import { temporalMetrics } from './temporal-metrics.ts';

let isInstalled = false;

/**
 * To be called before the first worker or native connection. Signals stay ours: a runtime that listens for SIGTERM
 * would stop workers before the endpoint has drained, and without workers it would ignore the signal altogether.
 */
export function installRuntime(log: Logger, metrics?: Metrics): void {
  if (isInstalled) return;
  isInstalled = true;
  Runtime.install({
    shutdownSignals: [],
    logger: temporalLogger(log),
    // The native part would write to stderr by itself, past our log's format and its cleaning.
    telemetryOptions: {
      logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'WARN' }) },
      ...(metrics === undefined ? {} : { metrics: { buffer: temporalMetrics(metrics) } }),
    },
  });
}

/** Its chatter about states is for our debug level; its warnings are warnings. */
export function temporalLogger(log: Logger): DefaultLogger {
  return new DefaultLogger('INFO', ({ level, message, meta }) => {
    const { error, taskToken: _, ...fields } = meta ?? {};
    const line = { ...fields, ...(error === undefined ? {} : { err: error }) };
    if (level === 'ERROR') log.error(line, message);
    else if (level === 'WARN' && error !== undefined) {
      // An attempt that failed is one line; it is tried again, and its stack is for who looks closer.
      log.warn({ ...fields, reason: reasonOf(error) }, message);
      log.debug(line, message);
    } else if (level === 'WARN') log.warn(line, message);
    else log.debug(line, message);
  });
}

function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split('\n', 1)[0] ?? '';
}
