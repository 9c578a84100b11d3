import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

export interface Program {
  readonly summary: string;
  main(args: readonly string[]): Promise<void>;
}

export async function runOneOf(folder: string, args: readonly string[]): Promise<void> {
  const programs = await programsIn(folder);
  const [name, ...rest] = args;
  const chosen = name === 'all' ? [...programs.values()] : [programs.get(name ?? '')];
  for (const program of chosen) {
    if (program === undefined) {
      const list = [...programs].map(([key, { summary }]) => `  ${key.padEnd(24)} ${summary}`).join('\n');
      process.stderr.write(`Name one of these, or all:\n${list}\n`);
      process.exitCode = 2;
      return;
    }
    await program.main(rest);
  }
}

async function programsIn(folder: string): Promise<Map<string, Program>> {
  const programs = new Map<string, Program>();
  for (const file of (await readdir(folder)).sort()) {
    if (!file.endsWith('.ts') || file === 'main.ts') {
      continue;
    }
    const module = (await import(pathToFileURL(join(folder, file)).href)) as Partial<Program>;
    if (module.main !== undefined && module.summary !== undefined) {
      programs.set(file.replace(/\.ts$/, ''), { summary: module.summary, main: module.main });
    }
  }
  return programs;
}
