/** dbt from PyPI, kept in the ignored cache; and the SQL of its models without it, for tests that have no time for 16 s of dbt. */

import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { installPythonTool } from '../support/tools/installed-tools.ts';

const DBT = {
  name: 'dbt-1.10.15-duckdb-1.5.5',
  packages: ['dbt-core==1.10.15', 'dbt-duckdb==1.10.0', 'duckdb==1.5.5', 'pytz==2026.2'],
};

/**
 * The statements by which dbt makes a model (or finds what a test of `tests` objects to), as temporary tables. Only what the
 * example uses of Jinja is known: source, ref, var with a default, and hooks of a config.
 *
 * @throws Error braces contain something else
 */
export async function dbtModelSql(
  project: string,
  name: string,
  folder: 'models' | 'tests' = 'models',
): Promise<readonly string[]> {
  const text = await readFile(join(project, folder, `${name}.sql`), 'utf8');
  const hooks = /config\(pre_hook='([^']*)', post_hook='use "' ~ target\.database ~ '"'\)/.exec(text);
  const select = text
    .replaceAll(/\{\{ config\([^}]*\) \}\}/g, '')
    .replaceAll(/\{\{ source\('(\w+)', '(\w+)'\) \}\}/g, '$1.main.$2')
    .replaceAll(/\{\{ ref\('(\w+)'\) \}\}/g, 'memory.main.$1')
    .replaceAll(/\{\{ var\("\w+", "([^"]*)"\) \}\}/g, '$1');
  if (/\{\{|\{%/.test(select)) throw new Error(`${name}.sql has Jinja that is not known here.`);
  const create = `create table memory.main.${name} as ${select}`;
  return hooks === null ? [create] : [hooks[1] ?? '', create, 'use memory'];
}

/** `dbt build` of a project over a published file; what it makes is in `target`. @throws Error a model or a test failed */
export async function runDbt(
  project: string,
  {
    published,
    target,
    folder,
  }: { readonly published: string; readonly target: string; readonly folder: string },
): Promise<string> {
  const tool = await installPythonTool(DBT);
  const own = {
    BILLSYNC_REPORTS: published,
    SHIPPING_COST_FILE: target,
    DBT_SEND_ANONYMOUS_USAGE_STATS: 'false',
  };
  const args = ['build', '--profiles-dir', project, '--project-dir', project, '--no-use-colors'];
  const places = ['--target-path', join(folder, 'target'), '--log-path', join(folder, 'logs')];
  const options = { cwd: folder, env: { ...process.env, PYTHONPATH: tool, ...own } };
  return (await promisify(execFile)('python3', [join(tool, 'bin', 'dbt'), ...args, ...places], options))
    .stdout;
}
