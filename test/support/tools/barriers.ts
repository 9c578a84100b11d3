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
 * The input of axe's rules except the one for colors: for each element its name, parent, attributes and whether it has text; for the
 * page the order of headings and duplicate ids.
 */
const KINDS = `(() => {
  const elements = [...document.querySelectorAll('*')].filter((one) => one.localName === 'a' || !one.closest('svg *'));
  const described = (one, name) => name === 'value' ? '' :
    /^(role|type|scope|class|lang|dir|tabindex|rel|aria-(?!label|describedby|controls))/.test(name)
      ? name + '=' + one.getAttribute(name)
      : name + (one.getAttribute(name).trim() === '' ? ' empty' : '');
  const kinds = elements.map((one) =>
    [one.parentElement?.localName, one.localName, ...one.getAttributeNames().map((name) => described(one, name)),
      one.textContent.trim() === '' ? 'no text' : ''].join(' '));
  const outline = [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].map(({ localName }) => localName);
  const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id);
  const twice = ids.filter((id, index) => ids.indexOf(id) !== index).map((id) => 'twice ' + id);
  return [...new Set([...kinds, outline.join(), ...twice])];
})()`;

/** Checks a page only if it has an element that no earlier page had, because axe is slower than server and browser together. */
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
