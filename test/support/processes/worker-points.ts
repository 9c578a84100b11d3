/** The worker's durable points D7 to D14, from a token to a published file, each before and after. */

const STEPS = [
  'token',
  'regenerated',
  'downloaded',
  'archived',
  'archive-described',
  'committed',
  'snapshot',
  'renamed',
] as const;

/** `reported after` is observed in Temporal's history, so the test itself kills the worker. */
export type WorkerPoint = `${(typeof STEPS)[number]} ${'before' | 'after'}` | 'reported before';

export const WORKER_POINTS: readonly WorkerPoint[] = [
  ...STEPS.slice(0, 6).flatMap((step) => [`${step} before`, `${step} after`] as const),
  'reported before',
  ...STEPS.slice(6).flatMap((step) => [`${step} before`, `${step} after`] as const),
];
