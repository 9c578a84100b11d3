/** docs/reference/commands.md, from the help of every command. */

import { Command } from 'commander';
import { sharedOptions } from '../../cli/verb.ts';
import { VERBS } from '../../cli/verbs.ts';
import { page } from './markdown.ts';

const SECTIONS = [...new Set(VERBS.map(({ section }) => section))];

export async function commandsPage(): Promise<string> {
  const commands = await Promise.all(VERBS.map(async (verb) => ({ ...verb, command: await verb.load() })));
  // Usage lines name the commands above.
  const program = new Command('billsync');
  for (const { command } of commands) program.addCommand(command);
  const overview = SECTIONS.map((section) => {
    const lines = commands
      .filter((verb) => verb.section === section)
      .map(({ name, summary }) => `- [\`${name}\`](#billsync-${name}): ${summary}`);
    return `**${section}**\n\n${lines.join('\n')}`;
  });
  const shared = new Command().helpOption(false).usage(' ');
  for (const option of sharedOptions()) shared.addOption(option);
  return page(
    'Commands',
    'Data goes to stdout, messages and progress to stderr. `--json` prints one JSON document and `--ndjson` a line for each ' +
      'item; money and weights are text with exact decimals, instants are ISO 8601 in UTC. Whatever writes takes ' +
      '`--dry-run`. [Exit codes](exit-codes.md) are the same everywhere.',
    ...overview,
    `## Options of every command\n\n${block(
      helpOf(shared)
        .replace(/^[\s\S]*Options:\n/, '')
        .trimEnd(),
    )}`,
    ...commands.flatMap(({ command, name }) => sectionsOf(command, `billsync ${name}`, 2)),
  );
}

/** The command's own help, then that of each command below it. */
function sectionsOf(command: Command, path: string, depth: number): string[] {
  const below = command.commands.filter((child) => child.name() !== 'help');
  return [
    `${'#'.repeat(Math.min(depth, 4))} ${path}\n\n${block(helpOf(command).trim())}`,
    ...below.flatMap((child) => sectionsOf(child, `${path} ${child.name()}`, depth + 1)),
  ];
}

function helpOf(command: Command): string {
  let text = '';
  const asText = {
    writeOut: (part: string) => {
      text += part;
    },
    getOutHelpWidth: () => 110,
    getOutHasColors: () => false,
  };
  command.configureOutput(asText).outputHelp();
  return text;
}

function block(text: string): string {
  return `\`\`\`text\n${text.replace(/[ \t]+$/gm, '').replace(/\n{3,}/g, '\n\n')}\n\`\`\``;
}
