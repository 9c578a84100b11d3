import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { templatesIn } from '../../reports/render/templates.ts';
import { testFolder } from '../support/folders.ts';

test('renders the templates of the running version after another version was installed', () => {
  const folder = testFolder();
  writeFileSync(join(folder, 'page.eta'), `<p><%= it.name %><%~ include('./part', it) %></p>`);
  writeFileSync(join(folder, 'part.eta'), '<b><%= it.name %></b>');
  const eta = templatesIn(pathToFileURL(folder));
  writeFileSync(join(folder, 'page.eta'), '<%= it.a.thing.that.only.the.next.version.has %>');
  rmSync(join(folder, 'part.eta'));
  expect(eta.render('./page', { name: '<i>' })).toBe('<p>&lt;i&gt;<b>&lt;i&gt;</b></p>');
  expect(() => eta.render('./other', {})).toThrow('other');
});
