/** The little Markdown that the reference pages need. */

export const GENERATED = '<!-- Made by `npm run reference`; edit the code instead. -->';

/** @param rows cells as Markdown; a line break in one becomes a space */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replace(/\s*\n\s*/g, ' ').replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

export function code(text: string): string {
  return `\`${text}\``;
}

/** A page with its heading; paragraphs and tables stand apart. */
export function page(title: string, ...blocks: readonly string[]): string {
  return `${[`# ${title}`, GENERATED, ...blocks].join('\n\n')}\n`;
}
