/**
 * The prose of a report's header as it is shown: the names in it (columns, parameters, options) are told from words, so
 * that in "shipments counts lines" the first word is read as a column.
 */

/**
 * Whatever is a name wherever it stands: `cost_per_lb`, `$weeks`, `--fx FILE`, `--by invoice-date`, `grain=week`, and a
 * word in lower case that begins a sentence.
 */
const ALWAYS = String.raw`\$?\b[a-z]+(?:_[a-z0-9]+)+\b|\$[a-z]+\b|--[a-z]+(?:-[a-z]+)*(?: FILE\b| [a-z]+-[a-z]+\b)?|\b[a-z]+=[a-z]+\b|(?<=\. )[a-z]+\b`;

/**
 * @param columns of the report; one that is a plain word is a name where a clause begins with it and says what it is
 * @param mark the form of a name
 * @param plain the form of the text between names
 */
export function headerProse(
  text: string,
  columns: readonly string[],
  mark: (name: string) => string,
  plain: (words: string) => string = (words) => words,
): string {
  const words = columns.filter((column) => /^[a-z]+$/.test(column)).join('|');
  const says = 'is|counts?|sums|shows|says|names|the|those|that of|what|less|and [a-z]+_';
  const word = String.raw`(?<=^|[.;:,)] |\band )(?:${words})(?= (?:${says})\b)|(?<=\bless )(?:${words})\b`;
  const names = new RegExp(words === '' ? ALWAYS : `${ALWAYS}|${word}`, 'g');
  let shown = '';
  let from = 0;
  for (const { 0: name, index } of text.matchAll(names)) {
    shown += plain(text.slice(from, index)) + mark(name);
    from = index + name.length;
  }
  return shown + plain(text.slice(from));
}

/** The text of a header begins in lower case, after its key; as a sentence it begins with a capital, or with a marked name. */
export function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
