/**
 * Workflows, and a rebuild, that are broken on purpose: a simulation that lets one of them pass proves nothing.
 *
 * Many a break of one line does no harm to an invoice's end, and is no mutant for that reason: the ledger tells a run
 * what it forgot, a load looks at the void by itself, reconciliation asks what nobody asked.
 */

import type { Fact } from '../../archive/archive.ts';

interface CodeMutant {
  /** A piece of the bundle, which must be there exactly once. */
  readonly find: string;
  readonly replace: string;
}

/** A kind of fact that the warehouse knows until it is made again. */
interface ForgetfulMutant {
  readonly forgets: Fact['kind'];
}

type Mutant = CodeMutant | ForgetfulMutant;

export const MUTANTS = {
  /** Whatever is loaded is good enough, whatever was announced since. */
  'first-file-is-enough': {
    find: 'return announced === loadedSha256 || announced === settledSha256;',
    replace: 'return true;',
  },
  /** A void that was lost after loading is found by asking again, and by nothing else. */
  'never-asks-again': {
    find: "if (mailbox.isRecheckWanted && run.knowledge.rank !== 'voided') {",
    replace: 'if (false) {',
  },
  /** A void that an event alone reported is nobody's to undo when nobody asks about it. */
  'void-never-confirmed': {
    find: "if (knowledge.voidWord === 'event') return 'confirm';",
    replace: "if (knowledge.voidWord === 'event') return 'done';",
  },
  /** A run that was replayed does something else than it did. */
  'answers-differently-when-replayed': {
    // As the bundler writes a private field.
    find: 'if (state === _class_private_field_get(this, _shownState)) return;',
    replace:
      'if (state === _class_private_field_get(this, _shownState) || globalThis.__TEMPORAL_ACTIVATOR__.info.unsafe.isReplaying) return;',
  },
  /** What a person decided is gone with the warehouse. */
  'restore-forgotten': { forgets: 'restored' },
} as const satisfies Record<string, Mutant>;

export type MutantName = keyof typeof MUTANTS;

/** The kind of fact that a mutant's rebuild leaves out; null: none. */
export function forgottenBy(name: MutantName | undefined): Fact['kind'] | null {
  const mutant: Mutant | null = name === undefined ? null : MUTANTS[name];
  return mutant !== null && 'forgets' in mutant ? mutant.forgets : null;
}

/** @throws Error the piece is not there once: then the mutant has to follow the code */
export function mutated(code: string, name: MutantName): string {
  const mutant: Mutant = MUTANTS[name];
  if ('forgets' in mutant) return code;
  const { find, replace } = mutant;
  if (code.split(find).length !== 2) throw new Error(`Mutant ${name} does not fit the code any more.`);
  return code.replace(find, () => replace);
}
