/** The part that is used here of the library by which the PDF's library reads fonts; it brings no types. */
declare module 'fontkit' {
  export interface Font {
    hasGlyphForCodePoint(code: number): boolean;
    glyphForCodePoint(code: number): { readonly advanceWidth: number };
  }
  export function create(bytes: Uint8Array): Font;
}
