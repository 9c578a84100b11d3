/** How fast long work goes and how long it will take: a few words behind the numbers of a progress line. */

type Pace = (done: number, of: number) => string;

/** Nothing is said of the first seconds, which are mostly the start. */
const SAYS_FROM_MS = 2_000;
/** Nor of the first few: the first load is one alone, hundreds come behind it. */
const SAYS_FROM = 10;

/** @param what `files`, `loads`; @param now in milliseconds */
export function paceOf(what: string, now: () => number = () => performance.now()): Pace {
  const began = now();
  return (done, of) => {
    const ms = now() - began;
    if (ms < SAYS_FROM_MS || done < SAYS_FROM) return what;
    const perSecond = (done * 1_000) / ms;
    const rate = perSecond < 10 ? perSecond.toFixed(1) : perSecond.toFixed(0);
    const left = done < of ? `, ${inWords((of - done) / perSecond)} left` : '';
    return `${what}, ${rate} a second${left}`;
  };
}

function inWords(seconds: number): string {
  if (seconds < 60) return `${Math.ceil(seconds)} s`;
  if (seconds < 3_600) return `${Math.ceil(seconds / 60)} min`;
  return `${(seconds / 3_600).toFixed(1)} h`;
}
