import axe from 'axe-core';
import type { Page } from 'playwright-core';

export const CONTRAST_ALONE = { runOnly: ['color-contrast'] };
export const CONTRAST_APART = { rules: { 'color-contrast': { enabled: false } } };

export async function barriers(page: Page, choice: object = {}): Promise<unknown> {
  await page.evaluate(axe.source);
  const options = { resultTypes: ['violations'], ...choice };
  return page.evaluate(
    `axe.run(document, ${JSON.stringify(options)}).then(({ violations }) =>
      violations.map(({ id, nodes }) => [id, ...nodes.slice(0, 3).map((node) => node.html)]))`,
  );
}

/**
 * Of each element what axe's rules but the one of colours judge: what it is and in what, which attributes it has and what those
 * that mean something say, whether it has words; of the page its headings' order, and an id that stands there twice.
 */
const KINDS = `(() => {
  const elements = [...document.querySelectorAll('*')].filter((one) => one.localName === 'a' || !one.closest('svg *'));
  const told = (one, name) => name === 'value' ? '' :
    /^(role|type|scope|class|lang|dir|tabindex|rel|aria-(?!label|describedby|controls))/.test(name)
      ? name + '=' + one.getAttribute(name)
      : name + (one.getAttribute(name).trim() === '' ? ' empty' : '');
  const kinds = elements.map((one) =>
    [one.parentElement?.localName, one.localName, ...one.getAttributeNames().map((name) => told(one, name)),
      one.textContent.trim() === '' ? 'no words' : ''].join(' '));
  const outline = [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].map(({ localName }) => localName);
  const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id);
  const twice = ids.filter((id, index) => ids.indexOf(id) !== index).map((id) => 'twice ' + id);
  return [...new Set([...kinds, outline.join(), ...twice])];
})()`;

/**
 * Looks at a page only when it has something that no page before it had: axe takes longer over a page than the server and the
 * browser together, and of hundreds of pages most are made of the same parts. @param choice of axe's options
 */
export function barriersOfNewKinds(choice: object): (page: Page) => Promise<unknown> {
  const known = new Set<string>();
  return async (page) => {
    const kinds = (await page.evaluate(KINDS)) as readonly string[];
    const isNew = kinds.some((kind) => !known.has(kind));
    if (!isNew) return [];
    const found = await barriers(page, choice);
    for (const kind of kinds) known.add(kind);
    return found;
  };
}
