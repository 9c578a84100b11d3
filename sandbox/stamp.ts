/**
 * Instants as text. A burst asks for the same millisecond again and again, and writing it anew would be one of its larger
 * costs.
 */

let lastTime = Number.NaN;
let lastStamp = '';

/** As `toISOString`, in UTC with milliseconds. */
export function stampOf(instant: Date): string {
  const time = instant.getTime();
  if (time !== lastTime) {
    lastStamp = instant.toISOString();
    lastTime = time;
  }
  return lastStamp;
}
