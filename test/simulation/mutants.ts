/** Workflows that are broken on purpose: a simulation that lets one of them pass proves nothing. */

interface Mutant {
  /** A piece of the bundle, which must be there exactly once. */
  readonly find: string;
  readonly replace: string;
}

export const MUTANTS = {
  /**
   * What is known of an invoice never rises. (That the latest event decides instead of the highest rank would not show:
   * the ledger and the load's own look at the void make up for it.)
   */
  'rank-never-rises': {
    find: 'return RANKS.indexOf(one) >= RANKS.indexOf(other) ? one : other;',
    replace: 'return RANKS.indexOf(one) <= RANKS.indexOf(other) ? one : other;',
  },
  /** Whatever is loaded is good enough, whatever was announced since. */
  'first-file-is-enough': {
    find: 'return announced === loadedSha256 || announced === settledSha256;',
    replace: 'return true;',
  },
  /** A draft is not waited with, so nobody asks when its finalized event never comes. */
  'sleeps-over-drafts': { find: "return 'wait';", replace: "return 'done';" },
  /** An event after the first is taken for one that was seen. */
  'hears-only-once': {
    find: 'if (event.isTestEvent || knowledge.seen.includes(event.eventId)) return knowledge;',
    replace: 'if (event.isTestEvent || knowledge.seen.length > 0) return knowledge;',
  },
  /** A run that was replayed does something else than it did. */
  'answers-differently-when-replayed': {
    find: 'if (state === this.shownState) return;',
    replace:
      'if (state === this.shownState || globalThis.__TEMPORAL_ACTIVATOR__.info.unsafe.isReplaying) return;',
  },
} as const satisfies Record<string, Mutant>;

export type MutantName = keyof typeof MUTANTS;

/** @throws Error the piece is not there once: then the mutant has to follow the code */
export function mutated(code: string, name: MutantName): string {
  const { find, replace } = MUTANTS[name];
  if (code.split(find).length !== 2) throw new Error(`Mutant ${name} does not fit the code any more.`);
  return code.replace(find, () => replace);
}
