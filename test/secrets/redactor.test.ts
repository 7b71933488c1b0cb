import { describe, expect, it } from 'vitest';
import { createRedactor } from '../../src/redact.ts';
import { createSerializer } from '../../src/serialize.ts';
import { NOTATIONS } from '../redact/notations.ts';
import {
  CUT_TEXTS,
  HARMLESS_FILES,
  HARMLESS_TEXTS,
  leakIn,
  partsOf,
  WHOLE_FILES,
  WHOLE_TEXTS,
} from './corpus/index.ts';

const { text: redact } = createRedactor();

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

describe.each(Object.entries(WHOLE_FILES))('a secret of the corpus %s', (_, entries) => {
  it('does not come out of any text, in any notation', () => {
    const leaks = entries.flatMap((entry) => {
      const shown = redact(entry.text);
      const framedLeaks = framed(entry.text)
        .filter(([, text]) => leakIn(redact(text), entry) !== null)
        .map(([notation]) => `in ${notation}: ${entry.rest}`);
      const isHidden = leakIn(shown, entry) === null && shown.includes('***');
      return [...(isHidden ? [] : [entry.rest]), ...framedLeaks];
    });
    expect(leaks).toEqual([]);
  });

  it('is not looked for twice: what was shown stays as it is', () => {
    const changed = entries.filter(({ text }) => redact(redact(text)) !== redact(text));
    expect(changed.map(({ rest }) => rest)).toEqual([]);
  });

  it('does not come out wherever a text breaks off', () => {
    const leaks = entries.flatMap((entry) =>
      Array.from(entry.text, (_character, end) => redact(entry.text.slice(0, end), 'args', true))
        .filter((shown) => leakIn(shown, entry) !== null)
        .map((shown) => `${entry.rest}: ${shown}`),
    );
    expect(leaks).toEqual([]);
  });
});

it('a secret does not come out of a text that its engine has cut', () => {
  const leaks = CUT_TEXTS.flatMap((entry) => {
    // Where it ends in dots, it says so itself, also in a text that goes on.
    const saysSo = /(?:\.{3}|…)$/.test(entry.text);
    const shown = [['cut', redact(entry.text, 'args', true)]];
    for (const [notation, text] of saysSo ? framed(entry.text) : []) shown.push([notation, redact(text)]);
    return shown
      .filter(([, text = '']) => leakIn(text, entry) !== null)
      .map(([notation]) => `${notation}: ${entry.rest}`);
  });
  expect(leaks).toEqual([]);
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

describe.each(Object.entries(HARMLESS_FILES))('what is no secret, in the corpus %s,', (_, texts) => {
  it('comes out as it is, in any notation', () => {
    const changed = texts.flatMap((text) =>
      [['plain', text] as const, ...framed(text)]
        .filter(([, written]) => redact(written) !== written)
        .map(([notation]) => `${notation}: ${text}`),
    );
    expect(changed).toEqual([]);
  });
});
