import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { filesBelow, ROOT } from '../architecture/source-files.ts';

const FOLDER = 'src/dashboard/style';
const TOKENS = `${FOLDER}/tokens.css`;

/** The declarations of a file, as `property: value`. */
function declarationsOf(path: string): readonly (readonly [property: string, value: string])[] {
  const text = readFileSync(join(ROOT, path), 'utf8').replace(/\/\*.*?\*\//gs, '');
  return [...text.matchAll(/([a-z-]+):\s*([^;{}]+);/g)].map(([, property = '', value = '']) => [
    property,
    value,
  ]);
}

const sheets = filesBelow(FOLDER, ['.css']).map(({ path }) => path);
const others = sheets.filter((path) => path !== TOKENS).flatMap(declarationsOf);
const valuesOf = (pattern: RegExp): readonly string[] =>
  others.flatMap(([property, value]) => (pattern.test(property) ? [value] : []));

describe('the style of the page', () => {
  it('is written down in 60 lines', () => {
    expect(readFileSync(join(ROOT, TOKENS), 'utf8').split('\n').length).toBeLessThanOrEqual(60);
  });

  it('has three sizes of text and a headline', () => {
    const sizes = new Set(valuesOf(/^font-size$/).filter((value) => value !== 'inherit'));
    expect([...sizes].filter((value) => !/^var\(--(small|body|large|headline)\)$/.test(value))).toEqual([]);
  });

  it('has two corners', () => {
    const corners = new Set(valuesOf(/radius$/).flatMap((value) => value.split(' ')));
    expect([...corners].filter((value) => !/^(0|50%|var\(--corner(-small)?\))$/.test(value))).toEqual([]);
  });

  it('has spaces that are multiples of 4 px', () => {
    const spaces = valuesOf(/^(margin|padding|gap|row-gap|column-gap)/);
    const odd = spaces.filter((value) =>
      [...value.matchAll(/(\d+)px/g)].some(([, px]) => Number(px) % 4 !== 0),
    );
    expect(odd).toEqual([]);
  });

  it('has no colours but those of the tokens, and nothing hatched', () => {
    const values = others.map(([, value]) => value);
    expect(values.filter((value) => /#[0-9a-f]{3,8}\b|repeating-|hsl\(/i.test(value))).toEqual([]);
    // Shadows are black in light and dark.
    expect(values.filter((value) => /rgb\((?!0 0 0 )/.test(value))).toEqual([]);
  });
});
