import fc from 'fast-check';

/**
 * Any text, halves of pairs included. `fc.string({ unit: 'binary' })` takes two seconds to list the characters of Unicode,
 * in each process.
 */
export function anyText(lengths: fc.ArrayConstraints = {}): fc.Arbitrary<string> {
  return fc.array(fc.integer({ min: 0, max: 0xffff }), lengths).map((units) => String.fromCharCode(...units));
}
