/**
 * A Python repr in a form in which equal values are equal texts, as far as JSON keeps them apart: tuples
 * are lists in JSON, and `2.0` read by JavaScript is `2`.
 */
export function comparableRepr(repr: string): string {
  // Strings stay as they are.
  const parts = repr.split(STRINGS);
  return parts.map((part, index) => (index % 2 === 1 ? part : plain(part))).join('');
}

// One that does not end goes to the end of the text, or else each of its quotes would be tried as a beginning.
const STRINGS = /('[^'\\]*(?:\\[\s\S]?[^'\\]*)*(?:'|$)|"[^"\\]*(?:\\[\s\S]?[^"\\]*)*(?:"|$))/;

function plain(part: string): string {
  return part
    .replace(/\s+/g, '')
    .replaceAll('(', '[')
    .replaceAll(')', ']')
    .replaceAll(',]', ']')
    .replace(/(\d)\.0(?!\d)/g, '$1');
}
