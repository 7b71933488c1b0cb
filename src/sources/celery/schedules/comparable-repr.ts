/**
 * Converts a Python repr to a form in which equal values are equal texts, as far as JSON distinguishes them:
 * tuples are lists in JSON, and JavaScript reads `2.0` as `2`.
 */
export function comparableRepr(repr: string): string {
  // Strings are unchanged.
  const parts = repr.split(STRINGS);
  return parts.map((part, index) => (index % 2 === 1 ? part : plain(part))).join('');
}

// A string without an end extends to the end of the text. Otherwise each of its quotes would be tried as a
// beginning.
const STRINGS = /('[^'\\]*(?:\\[\s\S]?[^'\\]*)*(?:'|$)|"[^"\\]*(?:\\[\s\S]?[^"\\]*)*(?:"|$))/;

function plain(part: string): string {
  return part
    .replace(/\s+/g, '')
    .replaceAll('(', '[')
    .replaceAll(')', ']')
    .replaceAll(',]', ']')
    .replace(/(\d)\.0(?!\d)/g, '$1');
}
