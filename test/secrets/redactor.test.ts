import { describe, expect, it } from 'vitest';
import { createRedactor } from '../../src/redact.ts';
import { createSerializer } from '../../src/serialize.ts';
import { NOTATIONS } from '../redact/notations.ts';
import { CUT_TEXTS, HARMLESS_TEXTS, leakIn, partsOf, type SecretText, WHOLE_TEXTS } from './corpus/index.ts';

const { text: redact } = createRedactor();

const titled = (entries: readonly SecretText[]) => entries.map((entry) => [entry.rest, entry] as const);

/** A text as values hold it: within a dict or an object, in every notation. */
const framed = (text: string): [string, string][] =>
  Object.entries(NOTATIONS).map(([notation, write]) => [notation, write({ id: 7, note: text, last: 1 })]);

describe('the corpus', () => {
  it('has at least 300 texts with secrets and 200 without, each once', () => {
    const texts = [...WHOLE_TEXTS, ...CUT_TEXTS].map(({ rest }) => rest);
    expect(new Set(texts).size).toBe(texts.length);
    expect(texts.length).toBeGreaterThanOrEqual(300);
    expect(new Set(HARMLESS_TEXTS).size).toBe(HARMLESS_TEXTS.length);
    expect(HARMLESS_TEXTS.length).toBeGreaterThanOrEqual(200);
  });

  it('has in each text a secret that can be seen, and what is no part of one beside it', () => {
    for (const entry of [...WHOLE_TEXTS, ...CUT_TEXTS]) {
      expect(partsOf(entry), entry.rest).not.toEqual([]);
      expect(leakIn(entry.text, entry), entry.rest).not.toBeNull();
      expect(leakIn(entry.rest, entry), entry.rest).toBeNull();
    }
  });
});

describe('a secret', () => {
  it.each(titled(WHOLE_TEXTS))('does not come out of %s', (_, entry) => {
    const shown = redact(entry.text);
    expect(leakIn(shown, entry)).toBeNull();
    expect(shown).toContain('***');
    expect(redact(shown)).toBe(shown);
    for (const [notation, text] of framed(entry.text)) {
      expect(leakIn(redact(text), entry), notation).toBeNull();
    }
  });

  it.each(titled(CUT_TEXTS))('does not come out of %s, which its engine has cut', (_, entry) => {
    expect(leakIn(redact(entry.text, 'args', true), entry)).toBeNull();
    // Where it ends in dots, it says so itself, also in a text that goes on.
    if (!/(?:\.{3}|…)$/.test(entry.text)) return;
    for (const [notation, text] of framed(entry.text)) {
      expect(leakIn(redact(text), entry), notation).toBeNull();
    }
  });

  it.each(titled(WHOLE_TEXTS))('does not come out wherever the text breaks off: %s', (_, entry) => {
    for (let end = 0; end < entry.text.length; end += 1) {
      const shown = redact(entry.text.slice(0, end), 'args', true);
      expect(leakIn(shown, entry), `${end}: ${shown}`).toBeNull();
    }
  });
});

describe('a search', { timeout: 60_000 }, () => {
  it('finds no part of a secret', () => {
    const serializers = [createRedactor(), createRedactor(false)].map((redactor) =>
      createSerializer({ redactor }),
    );
    const found = serializers.map(({ matcher }) =>
      WHOLE_TEXTS.filter((entry) => {
        const task = { id: '1', state: 'STARTED', args: entry.text, kwargs: { note: entry.text } };
        const [part = ''] = partsOf(entry);
        return matcher([part.toLowerCase()])(task);
      }),
    );
    expect(found[0]).toEqual([]);
    expect(found[1]).toEqual(WHOLE_TEXTS);
  });
});

describe('what is no secret', () => {
  it.each(HARMLESS_TEXTS)('comes out as it is: %s', (text) => {
    expect(redact(text)).toBe(text);
    for (const [notation, written] of framed(text)) expect(redact(written), notation).toBe(written);
  });
});
