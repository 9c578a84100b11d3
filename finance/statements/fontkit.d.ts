/** The used part; fontkit, which pdfkit uses too, has no types. */
declare module 'fontkit' {
  export interface Font {
    hasGlyphForCodePoint(code: number): boolean;
    glyphForCodePoint(code: number): { readonly advanceWidth: number };
  }
  export function create(bytes: Uint8Array): Font;
}
