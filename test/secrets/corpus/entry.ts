/**
 * How the corpus is written: one text a line, `↵` for a line break, `⇥` for a tab, and the secret between `«` and
 * `»`. `«»` is a secret that is made up here, so that no file holds what scanners take for a real one.
 */

/** A text that holds secrets. */
export interface SecretText {
  /** As a task would hold it. */
  readonly text: string;
  /** What must not come out of it. */
  readonly secrets: readonly string[];
  /** The same text without them: what may come out. */
  readonly rest: string;
}

const ALPHABET = 'abcdefghjkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const LENGTH = 24;

/** Pseudo-random, and the same in every run: an entry keeps its secret while others come and go. */
function madeUp(seed: string): string {
  let state = 2_166_136_261;
  for (const character of seed) state = Math.imul(state ^ character.charCodeAt(0), 16_777_619);
  let made = '';
  while (made.length < LENGTH) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    made += ALPHABET[(state >>> 16) % ALPHABET.length];
  }
  return made;
}

function linesOf(block: string): string[] {
  return block
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.replaceAll('↵', '\n').replaceAll('⇥', '\t'));
}

/** Reads texts with secrets. Pass `String.raw`, so that backslashes stand for themselves. */
export function secretTexts(block: string): SecretText[] {
  return linesOf(block).map((line) => {
    const secrets: string[] = [];
    const text = line.replaceAll(/«([^»]*)»/g, (_, given: string) => {
      const secret = given === '' ? madeUp(`${line}${secrets.length}`) : given;
      secrets.push(secret);
      return secret;
    });
    return { text, secrets, rest: line.replaceAll(/«[^»]*»/g, '«»') };
  });
}

/** Reads texts without secrets. */
export function harmlessTexts(block: string): string[] {
  return linesOf(block);
}

const WINDOW = 6;

/**
 * The parts of a secret of which none may be seen, whatever quotes and escapes stand between them: every six letters
 * and digits in a row.
 */
export function partsOf({ secrets }: Pick<SecretText, 'secrets'>): string[] {
  return secrets.flatMap((secret) =>
    (secret.match(/[A-Za-z0-9]{6,}/g) ?? []).flatMap((run) =>
      Array.from({ length: run.length - WINDOW + 1 }, (_, at) => run.slice(at, at + WINDOW)),
    ),
  );
}

/** The first part of a secret of these that a text shows; `null` when it shows none. */
export function leakIn(shown: string, entry: Pick<SecretText, 'secrets'>): string | null {
  return partsOf(entry).find((part) => shown.includes(part)) ?? null;
}
