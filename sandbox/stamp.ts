/** Cached ISO text of instants: a burst formats the same milliseconds again and again. */

const KEPT_STAMPS = 64;
const stamps = new Map<number, string>();

/** As `toISOString`, in UTC with milliseconds. */
export function stampOf(instant: Date): string {
  const time = instant.getTime();
  let stamp = stamps.get(time);
  if (stamp === undefined) {
    stamp = instant.toISOString();
    if (stamps.size === KEPT_STAMPS) stamps.clear();
    stamps.set(time, stamp);
  }
  return stamp;
}
