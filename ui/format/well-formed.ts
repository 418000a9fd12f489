/** `text` with lone surrogates replaced, as `encodeURIComponent` wants it: on them it throws. */
export function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\uFFFD');
}
