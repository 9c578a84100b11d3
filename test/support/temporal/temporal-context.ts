/** Names what the global set-up hands to every test file. */

declare module 'vitest' {
  export interface ProvidedContext {
    /** Of the dev server that the whole run shares. */
    readonly temporalAddress: string;
    readonly workflowBundlePath: string;
  }
}

export type {};
