export type AnswerTimes = ReturnType<typeof answerTimes>;

/** @param tookMs one figure an answer, in any order */
export function answerTimes(tookMs: readonly number[]) {
  const sorted = tookMs.toSorted((a, b) => a - b);
  const at = (share: number): number => Math.round(sorted[Math.floor((sorted.length - 1) * share)] ?? 0);
  return { p50Ms: at(0.5), p99Ms: at(0.99), slowestMs: at(1) };
}
