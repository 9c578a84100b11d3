/** DuckDB for Python and its command line, pandas, Polars and two readers of workbooks, from PyPI, in the ignored cache. */

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { keepPythonTool } from './kept-tools.ts';

const TOOLS = {
  name: 'duckdb-tools-1.5.5-dataframes',
  packages: [
    'duckdb==1.5.5',
    'pytz==2026.2',
    'duckdb-cli==1.5.5',
    'pyarrow==26.0.1',
    'pandas==3.1.1',
    'polars==2.1.0',
    'openpyxl==3.1.5',
    'python-calamine==0.9.1',
  ],
};
/** The Python module as `pip install` brings it today: another major version than ours, which reads our files. */
const NEWER = { name: 'duckdb-2.0.0-pytz', packages: ['duckdb==2.0.0', 'pytz==2026.2'] };
const run = promisify(execFile);

/** The folder of the packages; `bin/duckdb` is in it. @throws Error python3 or pip is missing */
export async function installDuckDbTools(): Promise<string> {
  const [tools] = await Promise.all([keepPythonTool(TOOLS), keepPythonTool(NEWER)]);
  return tools;
}

/** Runs a Python program in `folder` with DuckDB 1.5 or 2.0 and answers what it prints. */
export async function runPython(folder: string, program: string, version: '1.5' | '2.0'): Promise<string> {
  const path = await keepPythonTool(version === '1.5' ? TOOLS : NEWER);
  const env = { ...process.env, PYTHONPATH: path, TZ: 'UTC' };
  return (await run('python3', ['-c', program], { cwd: folder, env })).stdout;
}

/** Runs a line of shell in `folder`, where `duckdb` is the command line of the same version. */
export async function runShell(folder: string, line: string): Promise<string> {
  const tools = await installDuckDbTools();
  const env = { ...process.env, PATH: `${join(tools, 'bin')}:${process.env.PATH ?? ''}`, PYTHONPATH: tools };
  return (await run('sh', ['-c', line], { cwd: folder, env })).stdout;
}
