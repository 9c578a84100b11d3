/**
 * Access tokens and signatures of presigned URLs change with each use, and some services repeat them in their answers. They are
 * recognized by pieces, so that a cut, encoded or re-cased repetition is found too.
 */

const MAX_SECRETS = 256;
const MIN_LENGTH = 16;
const PIECE = 12;
/** Two pieces overlap by half: any repetition of 17 characters contains a whole one. */
const STEP = PIECE / 2;
const MASK = '***';
/** Every spelling of a secret consists of these characters. */
const WORD = /[\w+/=%.~-]{12,}/g;

const knownSecrets = new Map<string, readonly string[]>();
const countOfPieces = new Map<string, number>();

export function rememberSecret(secret: string): void {
  if (secret.length < MIN_LENGTH) return;
  // The secret that was used last is forgotten last.
  const before = knownSecrets.get(secret);
  knownSecrets.delete(secret);
  knownSecrets.set(secret, before ?? spellingsOf(secret).flatMap(piecesOf));
  if (before === undefined)
    for (const piece of knownSecrets.get(secret) ?? [])
      countOfPieces.set(piece, (countOfPieces.get(piece) ?? 0) + 1);
  const [oldest] = knownSecrets;
  if (knownSecrets.size > MAX_SECRETS && oldest !== undefined) forgetSecret(...oldest);
}

/** Values that look like a signature or a token; dates, ids and names are needed in messages. @param path of a URL, with its query */
export function rememberQuery(path: string): void {
  const [, query = ''] = /\?(.*)$/s.exec(path) ?? [];
  for (const parameter of query.split('&')) {
    const value = decoded(parameter.slice(parameter.indexOf('=') + 1));
    if (/^(?=.*[a-z])(?=.*\d)[\w+/=.~-]{16,}$/is.test(value) && !NO_SECRET.test(value)) rememberSecret(value);
  }
}

const NO_SECRET =
  /^(?:[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|[\d-]{8,10}t[\d:.]+z?|.*\.(?:csv|json|gz|zip))$/i;

export function withoutPassingSecrets(text: string): string {
  if (countOfPieces.size === 0) return text;
  return text.replace(WORD, (word) => (hasPiece(word.toLowerCase()) ? MASK : word));
}

function hasPiece(word: string): boolean {
  for (let at = 0; at + PIECE <= word.length; at += 1)
    if (countOfPieces.has(word.slice(at, at + PIECE))) return true;
  return false;
}

function forgetSecret(secret: string, its: readonly string[]): void {
  knownSecrets.delete(secret);
  for (const piece of its) {
    const left = (countOfPieces.get(piece) ?? 1) - 1;
    if (left === 0) countOfPieces.delete(piece);
    else countOfPieces.set(piece, left);
  }
}

function piecesOf(text: string): readonly string[] {
  const all: string[] = [];
  for (let at = 0; at + PIECE <= text.length; at += STEP) all.push(text.slice(at, at + PIECE).toLowerCase());
  return [...all, text.slice(-PIECE).toLowerCase()];
}

function spellingsOf(secret: string): readonly string[] {
  const texts = [secret, encodeURIComponent(secret)];
  const encoded = texts.flatMap((text) =>
    [0, 1, 2].flatMap((shift) => {
      const bytes = Buffer.concat([Buffer.alloc(shift), Buffer.from(text)]);
      // The first and last characters of a piece of base64 depend on the bytes beside it.
      const from = shift === 0 ? 0 : shift + 1;
      return (['base64', 'base64url'] as const).map((form) =>
        bytes.toString(form).replace(/=+$/, '').slice(from, -2),
      );
    }),
  );
  return [
    ...new Set([
      ...texts,
      encodeURIComponent(texts[1] ?? ''),
      Buffer.from(secret).toString('hex'),
      ...encoded,
    ]),
  ];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
