/** `billsync completion SHELL`: a completion script, generated from the commands. */

import { Argument, type Command } from 'commander';
import { outputOf, sharedOptions, type VerbEntry, verb } from '../verb.ts';

export function command(verbs: readonly VerbEntry[]): Command {
  return verb(
    'completion',
    'Prints a completion script for a shell.',
    'source <(billsync completion bash)\nbillsync completion fish > ~/.config/fish/completions/billsync.fish',
  )
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish']))
    .action(async (shell: 'bash' | 'zsh' | 'fish', _flags: unknown, command: Command) => {
      const words = await completionWords(verbs);
      outputOf(command).text(shell === 'fish' ? fishScript(words) : bashScript(words, shell === 'zsh'));
    });
}

/** Verbs and options that may follow a path of verbs, e.g. `invoices` → list, show, retry. */
type Words = ReadonlyMap<string, readonly { readonly word: string; readonly summary: string }[]>;

async function completionWords(verbs: readonly VerbEntry[]): Promise<Words> {
  const words = new Map<string, { word: string; summary: string }[]>();
  words.set(
    '',
    verbs.map(({ name, summary }) => ({ word: name, summary })),
  );
  const visit = (path: string, command: Command): void => {
    const children = command.commands.map((child) => ({ word: child.name(), summary: child.description() }));
    const flags = [...command.options, ...sharedOptions()]
      .filter((option) => !option.hidden && option.long)
      .map((option) => ({ word: option.long ?? '', summary: option.description }));
    words.set(path, [...children, ...flags, { word: '--help', summary: 'show help' }]);
    for (const child of command.commands) visit(`${path} ${child.name()}`, child);
  };
  for (const { name, load } of verbs) visit(name, await load());
  return words;
}

function bashScript(words: Words, isZsh: boolean): string {
  const cases = [...words].map(
    ([path, next]) => `    '${path}') words='${next.map(({ word }) => word).join(' ')}' ;;`,
  );
  return `${isZsh ? '#compdef billsync\nautoload -U +X bashcompinit && bashcompinit\n' : ''}_billsync() {
  local path='' words='' word i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    case "$word" in -*) break ;; esac
    [ -n "$path" ] && path="$path $word" || path="$word"
  done
  while :; do
    case "$path" in
${cases.join('\n')}
    esac
    [ -n "$words" ] && break
    case "$path" in *' '*) path="\${path% *}" ;; *) break ;; esac
  done
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _billsync billsync
`;
}

function fishScript(words: Words): string {
  const lines = ['complete -c billsync -f'];
  for (const [path, next] of words) {
    const parts = path === '' ? [] : path.split(' ');
    const seen = parts.map((part) => `__fish_seen_subcommand_from ${part}`).join('; and ');
    const condition = parts.length === 0 ? '__fish_use_subcommand' : seen;
    for (const { word, summary } of next) {
      const given = word.startsWith('--') ? `-l ${word.slice(2)}` : `-a ${word}`;
      lines.push(`complete -c billsync -n '${condition}' ${given} -d '${summary.replace(/['\\\n]/g, ' ')}'`);
    }
  }
  return `${lines.join('\n')}\n`;
}
