/**
 * Parses what anybody may have written into a broker. Of a long text only the wanted members of objects are parsed;
 * everything else is stepped over, so that a single message cannot hold the event loop.
 */
import { readString, skipSpace, stringEnd, valueEnd } from './json-text.ts';
import { parsePythonJson } from './python-json.ts';

/** A text up to this length is parsed as a whole, in characters. */
export const SHORT_TEXT = 64 * 1024;

/** Most members and items of a long text, unless it says otherwise. */
const MOST_VALUES = 10_000;
/** Characters outside strings that take as long to step over as a member. */
const PER_VALUE = 40;
/** What is nested deeper is left out. */
const MAX_DEPTH = 200;

/** Which members of a long text are parsed. */
export interface WantedMembers {
  /** Their names, at any depth. */
  readonly names: ReadonlySet<string>;
  /** Longest string, in characters: a longer one is cut. Default: none is. */
  readonly longest?: number;
  /** Characters of other members to parse, the first ones of each object that is in no other. Default 0. */
  readonly others?: number;
  /** Most members and items, counting those that are stepped over: 10,000 take some 10 ms. Default 10,000. */
  readonly most?: number;
}

/** The names in a text, which spaces separate. */
export function namesIn(text: string): ReadonlySet<string> {
  return new Set(text.split(' '));
}

interface Parsing extends Required<Omit<WantedMembers, 'most'>> {
  readonly text: string;
  at: number;
  /** Members and items that may still follow. */
  left: number;
  othersLeft: number;
}

/** @throws SyntaxError when the text is not JSON as Python writes it, or would take too long */
export function parseWanted(text: string, wanted: WantedMembers): unknown {
  if (text.length <= SHORT_TEXT) return parsePythonJson(text);
  const { names, longest = Number.POSITIVE_INFINITY, others = 0, most = MOST_VALUES } = wanted;
  const parsing = { text, names, longest, others, at: skipSpace(text, 0), left: most, othersLeft: 0 };
  const value = readValue(parsing, 0);
  if (skipSpace(text, parsing.at) < text.length) throw new SyntaxError('The JSON text does not end.');
  return value;
}

function readValue(parsing: Parsing, depth: number): unknown {
  const { text, at, longest } = parsing;
  if (text[at] === '{' && depth < MAX_DEPTH) return readObject(parsing, depth + 1);
  if (text[at] === '[' && depth < MAX_DEPTH) return readList(parsing, depth + 1);
  stepOver(parsing);
  if (text[at] === '"') return readText(text, at, parsing.at, longest);
  return depth < MAX_DEPTH ? parsePythonJson(text.slice(at, parsing.at)) : undefined;
}

function readObject(parsing: Parsing, depth: number): Record<string, unknown> {
  const { text, names } = parsing;
  const object: Record<string, unknown> = {};
  // In no list, or in one.
  const isOutermost = depth <= 2;
  if (isOutermost) parsing.othersLeft = parsing.others;
  for (const start of itemsOf(parsing, '}')) {
    if (text[start] !== '"') throw new SyntaxError('A name is missing in the JSON text.');
    const nameEnd = stringEnd(text, start);
    const colon = skipSpace(text, nameEnd);
    if (text[colon] !== ':') throw new SyntaxError('A colon is missing in the JSON text.');
    parsing.at = skipSpace(text, colon + 1);
    const name = readString(text, start, nameEnd);
    if (names.has(name)) object[name] = readValue(parsing, depth);
    else if (isOutermost && parsing.othersLeft > 0 && name !== '__proto__') object[name] = readOther(parsing);
    else stepOver(parsing);
  }
  return object;
}

function stepOver(parsing: Parsing): void {
  const { text, at } = parsing;
  parsing.at = valueEnd(text, at);
  if (text[at] !== '"') parsing.left -= (parsing.at - at) / PER_VALUE;
}

function readList(parsing: Parsing, depth: number): unknown[] {
  const list: unknown[] = [];
  for (const _ of itemsOf(parsing, ']')) list.push(readValue(parsing, depth));
  return list;
}

/** Where each item begins; whoever reads it moves on to its end. */
function* itemsOf(parsing: Parsing, close: string): Generator<number, void, undefined> {
  const { text } = parsing;
  parsing.at = skipSpace(text, parsing.at + 1);
  while (text[parsing.at] !== close) {
    parsing.left -= 1;
    if (parsing.left < 0) throw new SyntaxError('The JSON text has too many values.');
    yield parsing.at;
    parsing.at = skipSpace(text, parsing.at);
    if (text[parsing.at] === ',') parsing.at = skipSpace(text, parsing.at + 1);
    else if (text[parsing.at] !== close) throw new SyntaxError('A comma is missing in the JSON text.');
  }
  parsing.at += 1;
}

/** A member that nobody asked for, if it is short enough. */
function readOther(parsing: Parsing): unknown {
  const { text, at, othersLeft } = parsing;
  stepOver(parsing);
  const end = parsing.at;
  parsing.othersLeft -= end - at;
  if (text[at] === '"') return readText(text, at, end, othersLeft);
  return end - at <= othersLeft ? parsePythonJson(text.slice(at, end)) : undefined;
}

/** The longest escape in a string, such as `\u0000`. */
const ESCAPE = 6;

/** A string, of which a long one is cut before it is read. */
function readText(text: string, start: number, end: number, longest: number): string {
  if (end - start - 2 <= longest) return readString(text, start, end);
  const head = text.slice(start, start + 1 + longest);
  for (let dropped = 0; dropped < ESCAPE; dropped += 1) {
    try {
      return JSON.parse(`${head.slice(0, head.length - dropped)}"`) as string;
    } catch {
      // Within an escape.
    }
  }
  throw new SyntaxError('The JSON string is not valid.');
}
