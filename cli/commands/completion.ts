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
      const all = await completionsOf(verbs);
      outputOf(command).text(shell === 'fish' ? fishScript(all) : bashScript(all, shell === 'zsh'));
    });
}

type Completions = ReadonlyMap<string, readonly { readonly text: string; readonly summary: string }[]>;

async function completionsOf(verbs: readonly VerbEntry[]): Promise<Completions> {
  const all = new Map<string, { text: string; summary: string }[]>();
  all.set(
    '',
    verbs.map(({ name, summary }) => ({ text: name, summary })),
  );
  const visit = (path: string, command: Command): void => {
    const children = command.commands.map((child) => ({ text: child.name(), summary: child.description() }));
    const flags = [...command.options, ...sharedOptions()]
      .filter((option) => !option.hidden && option.long)
      .map((option) => ({ text: option.long ?? '', summary: option.description }));
    all.set(path, [...children, ...flags, { text: '--help', summary: 'show help' }]);
    for (const child of command.commands) visit(`${path} ${child.name()}`, child);
  };
  for (const { name, load } of verbs) visit(name, await load());
  return all;
}

function bashScript(all: Completions, isZsh: boolean): string {
  const cases = [...all].map(
    ([path, next]) => `    '${path}') words='${next.map(({ text }) => text).join(' ')}' ;;`,
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

function fishScript(all: Completions): string {
  const lines = ['complete -c billsync -f'];
  for (const [path, next] of all) {
    const parts = path === '' ? [] : path.split(' ');
    const seen = parts.map((part) => `__fish_seen_subcommand_from ${part}`).join('; and ');
    const condition = parts.length === 0 ? '__fish_use_subcommand' : seen;
    for (const { text, summary } of next) {
      const given = text.startsWith('--') ? `-l ${text.slice(2)}` : `-a ${text}`;
      lines.push(`complete -c billsync -n '${condition}' ${given} -d '${summary.replace(/['\\\n]/g, ' ')}'`);
    }
  }
  return `${lines.join('\n')}\n`;
}
