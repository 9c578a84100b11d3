/**
 * Types for the durations of Temporal's SDK. Its `ms` package brings none, so `Duration` silently becomes `any` and
 * `sleep('30 dayz')` compiles; with these it is an error again.
 */
declare module 'ms' {
  type Unit =
    | 'ms'
    | 's'
    | 'sec'
    | 'second'
    | 'seconds'
    | 'm'
    | 'min'
    | 'minute'
    | 'minutes'
    | 'h'
    | 'hour'
    | 'hours'
    | 'd'
    | 'day'
    | 'days'
    | 'w'
    | 'week'
    | 'weeks';
  export type StringValue = `${number}` | `${number}${Unit}` | `${number} ${Unit}`;
}
