/** The types of `ms` are not found by this module resolution; without these `Duration` would be `any`. */
declare module 'ms' {
  type Unit =
    | ('ms' | 's' | 'sec' | 'second' | 'seconds' | 'm' | 'min' | 'minute' | 'minutes')
    | ('h' | 'hour' | 'hours' | 'd' | 'day' | 'days' | 'w' | 'week' | 'weeks');
  export type StringValue = `${number}` | `${number}${Unit}` | `${number} ${Unit}`;
  function ms(duration: StringValue): number;

  // biome-ignore lint/style/noDefaultExport: the package has no other.
  export { ms as default };
}
