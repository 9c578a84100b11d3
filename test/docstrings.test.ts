/** Functions that are used in another folder say what they take, answer and throw: a docstring stands above each. */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const NOT_SHIPPED = /^(test|bench|scripts|conformance)\//;

const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.ts'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => path.includes('/') && !NOT_SHIPPED.test(path) && !path.endsWith('.d.ts'));
const texts = new Map(files.map((path) => [path, readFileSync(join(root, path), 'utf8')]));

/** `file#name` of everything that a file of another folder imports. */
function usedElsewhere(): Set<string> {
  const used = new Set<string>();
  for (const [path, text] of texts) {
    for (const [, names = '', from = ''] of text.matchAll(/import (?:type )?\{([^}]*)\} from '(\.[^']+)'/g)) {
      const target = normalize(join(dirname(path), from)).replace(/\.js$/, '.ts');
      if (dirname(target) === dirname(path)) continue;
      for (const name of names.split(',')) {
        used.add(
          `${target}#${name
            .trim()
            .replace(/^type /, '')
            .replace(/ as .*/, '')}`,
        );
      }
    }
  }
  return used;
}

test('every function that another folder uses has a docstring', () => {
  const used = usedElsewhere();
  const bare = [...texts].flatMap(([path, text]) =>
    [...text.matchAll(/(\*\/\n)?^export (?:async )?function\*? (\w+)/gm)]
      .filter(([, docstring, name]) => docstring === undefined && used.has(`${path}#${name}`))
      .map(([, , name]) => `${path}: ${name}`),
  );
  expect(bare).toEqual([]);
});
