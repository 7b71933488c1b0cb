/** Finds many words in a text in one pass, one table look-up per character (Aho-Corasick). */

/** Classes of characters. Letters are 1 to 26, regardless of case and accents. */
const SEPARATOR = 27;
const DIGITS = 28;
const SIGNS = '\\:/%$={}&>';
const FIRST_SIGN = 38;
const FIRST_OTHER = FIRST_SIGN + SIGNS.length;
const WIDTH = 64;
/** The classes of letters are below this. */
const LETTERS = 27;

/** Class of each character. Blanks, `_`, `-` and `.` are one class, letters of other scripts are hashed. */
const CLASSES = new Uint8Array(65_536);
/** The plain letter of each Latin, Greek, Cyrillic and Hebrew character: in lower case, without its accent. */
const PLAIN_LETTERS = new Uint16Array(0x590);

/** Letters that do not decompose into a letter and an accent. */
const PLAIN: Readonly<Record<string, string>> = {
  ł: 'l',
  ı: 'i',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  æ: 'a',
  œ: 'o',
  ß: 's',
};

const hashOf = (code: number): number => FIRST_OTHER + (code % (WIDTH - FIRST_OTHER));

for (let code = 0x370; code < 65_536; code++) CLASSES[code] = hashOf(code);
CLASSES.fill(0, 0x2000, 0x2c00).fill(0, 0xd800, 0xe000);
// Joiners, which are often omitted.
CLASSES.fill(SEPARATOR, 0x200c, 0x200e);
for (let code = 0; code < 0x590; code++) classify(code);
for (let code = 0x1e00; code < 0x1f00; code++) classify(code);

function classify(code: number): void {
  const lower = String.fromCharCode(code).toUpperCase().toLowerCase();
  const letter = (PLAIN[lower] ?? lower.normalize('NFD')).charCodeAt(0);
  if (code < PLAIN_LETTERS.length) PLAIN_LETTERS[code] = letter;
  if (letter >= 97 && letter <= 122) CLASSES[code] = letter - 96;
  else if (code >= 48 && code <= 57) CLASSES[code] = DIGITS + code - 48;
  else if (' \t_-.'.includes(lower)) CLASSES[code] = SEPARATOR;
  else if (SIGNS.includes(lower)) CLASSES[code] = FIRST_SIGN + SIGNS.indexOf(lower);
  else if (code >= 0x370) CLASSES[code] = hashOf(letter);
}

/** Class of a character. 0: it is in no word. */
export function classOf(code: number): number {
  return CLASSES[code] as number;
}

/** Whether two characters are the same letter, regardless of case and accents, or both separate words. */
export function isSameLetter(one: number, other: number): boolean {
  if (CLASSES[one] !== CLASSES[other]) return false;
  return CLASSES[one] === SEPARATOR || plainLetter(one) === plainLetter(other);
}

function plainLetter(code: number): number {
  // Capital letters of Georgian.
  if (code >= 0x1c90 && code < 0x1cc0) return code - 0xbc0;
  return PLAIN_LETTERS[code] ?? code;
}

/** Whether a class is a letter from A to Z, with or without an accent. */
export function isLatin(known: number): boolean {
  return known > 0 && known < LETTERS;
}

/** A table of states. State 0 is the beginning. */
export interface Automaton<Word> {
  /** The state after a state (its row) and a class of characters (its column). */
  readonly next: Uint16Array;
  /** In this state and all later ones, a word ends. */
  readonly firstFound: number;
  /** The words that end in each state from `firstFound` on. */
  readonly found: readonly Found<Word>[];
  /** Number of characters of the word prefix that each state represents. */
  readonly depths: Uint8Array;
}

/** The words that end in a state. */
export interface Found<Word> {
  /** The meanings of these words, the longest first. */
  readonly words: readonly Word[];
  /** Length of the longest word. */
  readonly length: number;
}

/** The state after a character. */
export function nextState(next: Uint16Array, state: number, code: number): number {
  return next[state * WIDTH + (CLASSES[code] as number)] as number;
}

interface Node<Word> {
  readonly children: Map<number, Node<Word>>;
  readonly depth: number;
  words: Word[];
  length: number;
  /** The longest other word prefix with which this one ends. */
  shorter: Node<Word> | null;
  state: number;
}

const nodeAt = <Word>(depth: number): Node<Word> => ({
  children: new Map(),
  depth,
  words: [],
  length: 0,
  shorter: null,
  state: 0,
});

/** @param words each with its meaning; `-` matches any separator of words */
export function createAutomaton<Word>(words: Iterable<readonly [string, Word]>): Automaton<Word> {
  const root = nodeAt<Word>(0);
  for (const [text, word] of words) {
    let node = root;
    for (let at = 0; at < text.length; at++) {
      const known = classOf(text.charCodeAt(at));
      const child = node.children.get(known) ?? nodeAt<Word>(node.depth + 1);
      node.children.set(known, child);
      node = child;
    }
    node.words.push(word);
    node.length = text.length;
  }
  const nodes = linked(root);
  const inner = nodes.filter((node) => node.words.length === 0);
  const ends = nodes.filter((node) => node.words.length > 0);
  const states = [...inner, ...ends];
  for (const [state, node] of states.entries()) node.state = state;
  const next = new Uint16Array(states.length * WIDTH);
  // From short to long, so that the row of the shorter one is complete.
  for (const node of nodes) {
    const row = node.state * WIDTH;
    if (node.shorter !== null)
      next.copyWithin(row, node.shorter.state * WIDTH, (node.shorter.state + 1) * WIDTH);
    for (const [known, child] of node.children) next[row + known] = child.state;
  }
  const found = ends.map(({ words, length }) => ({ words, length }));
  return { next, firstFound: inner.length, found, depths: Uint8Array.from(states, ({ depth }) => depth) };
}

/** Links each node to its shorter one. @returns all nodes, the shorter ones first */
function linked<Word>(root: Node<Word>): Node<Word>[] {
  const nodes = [root];
  for (const node of nodes) {
    for (const [known, child] of node.children) {
      let shorter = node.shorter;
      while (shorter !== null && !shorter.children.has(known)) shorter = shorter.shorter;
      child.shorter = shorter?.children.get(known) ?? root;
      child.words = [...child.words, ...child.shorter.words];
      child.length = child.length || child.shorter.length;
      nodes.push(child);
    }
  }
  return nodes;
}
