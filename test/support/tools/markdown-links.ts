/** Relative links of a Markdown text; what stands in code is no link. */

export interface MarkdownLink {
  /** Path as written, empty for an anchor of the same page. */
  readonly target: string;
  readonly anchor: string | null;
  readonly text: string;
}

export function linksIn(markdown: string): readonly MarkdownLink[] {
  const pattern = /\]\((?!https?:|mailto:)([^)\s#]*)(?:#([^)\s]+))?\)/g;
  return [...withoutCode(markdown).matchAll(pattern)].map(([text, target = '', anchor]) => ({
    target,
    anchor: anchor ?? null,
    text,
  }));
}

/** @param code what counts as code: blocks and spans by default */
export function withoutCode(markdown: string, code = /^ *```[\s\S]*?^ *```|`[^`\n]*`/gm): string {
  return markdown.replace(code, '');
}
