/**
 * Workflows that are broken on purpose: a simulation that lets one of them pass proves nothing.
 *
 * Many a break of one line does no harm to an invoice's end, and is no mutant for that reason: the ledger tells a run
 * what it forgot, a load looks at the void by itself, reconciliation asks what nobody asked.
 */

interface Mutant {
  /** A piece of the bundle, which must be there exactly once. */
  readonly find: string;
  readonly replace: string;
}

export const MUTANTS = {
  /** Whatever is loaded is good enough, whatever was announced since. */
  'first-file-is-enough': {
    find: 'return announced === loadedSha256 || announced === settledSha256;',
    replace: 'return true;',
  },
  /** A void that was lost after loading is found by asking again, and by nothing else. */
  'never-asks-again': {
    find: "if (mailbox.isRecheckWanted && this.knowledge.rank !== 'voided') {",
    replace: 'if (false) {',
  },
  /** A void that an event alone told of is nobody's to undo when nobody asks about it. */
  'void-never-confirmed': {
    find: "if (knowledge.voidWord === 'event') return 'confirm';",
    replace: "if (knowledge.voidWord === 'event') return 'done';",
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
