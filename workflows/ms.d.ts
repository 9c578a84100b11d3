/**
 * Types of `ms` in the version of Temporal's SDK, whose own are not found by this module resolution. Without them
 * `Duration` would be `any`, and `sleep('30 dayz')` would compile.
 */
declare module 'ms' {
  type Unit =
    | ('ms' | 's' | 'sec' | 'second' | 'seconds' | 'm' | 'min' | 'minute' | 'minutes')
    | ('h' | 'hour' | 'hours' | 'd' | 'day' | 'days' | 'w' | 'week' | 'weeks');
  export type StringValue = `${number}` | `${number}${Unit}` | `${number} ${Unit}`;
  /** In milliseconds. */
  function ms(duration: StringValue): number;

  // biome-ignore lint/style/noDefaultExport: the package has no other.
  export { ms as default };
}
