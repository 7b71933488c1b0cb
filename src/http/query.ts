import buffer from 'node:buffer';
import { MOST_REPEATS, type Parameter, type Query } from './parameter.ts';
import type { Fault } from './route.ts';

/** A parsed query. */
export interface QueryReading {
  /** By parameter, in the order of the route's table. */
  readonly values: Readonly<Record<string, unknown>>;
  /** The decoded pairs in the order of the query, ignored parameters included. */
  readonly pairs: readonly [name: string, value: string][];
}

/** The names that a query may contain. */
export interface QueryNames {
  readonly query: Query;
  /** Accepted and passed on unchanged. */
  readonly passed: readonly string[];
  /** Parameters of the host; they are skipped. */
  readonly ignored: ReadonlySet<string>;
}

/** The longest query that is parsed, in characters as the client sent it. */
const LONGEST_QUERY = 65_536;

/** The most parameters that are parsed: ten times what the routes accept, since the host may have its own. */
const MOST_PAIRS = 2_000;

/** The values given for one name. */
interface Given {
  readonly values: string[];
  isBroken: boolean;
}

/**
 * Parses a query (without its `?`) and reports every fault. For a query beyond {@link LONGEST_QUERY} or
 * {@link MOST_PAIRS}, only that fault is reported, and its parameters are not parsed.
 */
export function readQuery(
  search: string,
  { query, passed, ignored }: QueryNames,
  fault: Fault,
): QueryReading {
  const excess = findExcess(search);
  if (excess !== null) fault(excess.parameter, excess.detail);
  // URLSearchParams removes one leading question mark, which may belong to a name.
  const pairs = excess === null ? [...new URLSearchParams(`?${search}`)] : [];
  const given = groupByName(pairs, findBroken(excess === null ? search : ''), ignored);
  for (const [name, { isBroken }] of given) {
    if (!Object.hasOwn(query, name) && !passed.includes(name)) {
      fault(name, 'There is no parameter with this name.');
    } else if (isBroken) fault(name, 'Write valid percent-encoded UTF-8.');
  }
  const values: Record<string, unknown> = {};
  for (const [name, parameter] of Object.entries(query)) {
    const entry = given.get(name);
    values[name] = readValue(
      name,
      parameter,
      entry === undefined || entry.isBroken ? [] : entry.values,
      fault,
    );
  }
  return { values, pairs };
}

/** Why a query is not parsed, determined without decoding it; `null` when it is parsed. */
function findExcess(search: string): { readonly parameter: string; readonly detail: string } | null {
  if (search.length > LONGEST_QUERY) {
    const detail = `Write a query of at most ${LONGEST_QUERY} characters in all; this one has ${search.length}.`;
    return { parameter: nameAt(search, 0), detail };
  }
  let pairs = 1;
  for (let at = search.indexOf('&'); at !== -1; at = search.indexOf('&', at + 1)) {
    pairs += 1;
    if (pairs > MOST_PAIRS) {
      return { parameter: nameAt(search, at + 1), detail: `Write at most ${MOST_PAIRS} parameters in all.` };
    }
  }
  return null;
}

/** The beginning of the name of the pair at `start`, not decoded: it may be long or invalid. */
function nameAt(search: string, start: number): string {
  return /^[^=&]*/.exec(search.slice(start, start + 64))?.[0] ?? '';
}

function groupByName(
  pairs: readonly (readonly [name: string, value: string])[],
  broken: ReadonlySet<number>,
  ignored: ReadonlySet<string>,
): ReadonlyMap<string, Given> {
  const given = new Map<string, Given>();
  for (const [index, [name, value]] of pairs.entries()) {
    if (ignored.has(name)) continue;
    const entry = given.get(name) ?? { values: [], isBroken: false };
    entry.values.push(value);
    entry.isBroken ||= broken.has(index);
    given.set(name, entry);
  }
  return given;
}

function readValue(
  name: string,
  parameter: Parameter<unknown>,
  given: readonly string[],
  fault: Fault,
): unknown {
  if (given.includes('')) {
    fault(name, 'Write a value, or omit the parameter.');
  } else if (given.length > (parameter.repeatable ? MOST_REPEATS : 1)) {
    fault(name, parameter.repeatable ? `Write it at most ${MOST_REPEATS} times.` : 'Write it once.');
  } else {
    const reading = parameter.read(given);
    if ('value' in reading) return reading.value;
    fault(name, reading.fault);
  }
  const absent = parameter.read([]);
  return 'value' in absent ? absent.value : null;
}

/** Indexes of the pairs that are not a valid percent-encoding of UTF-8. */
function findBroken(search: string): ReadonlySet<number> {
  const broken = new Set<number>();
  if (!search.includes('%')) return broken;
  for (const [index, piece] of search.split('&').filter(Boolean).entries()) {
    if (!isPercentEncoding(piece)) broken.add(index);
  }
  return broken;
}

/**
 * Whether `decodeURIComponent` accepts this text. It avoids the exception of `decodeURIComponent`, which takes as long
 * as decoding a thousand characters.
 */
function isPercentEncoding(text: string): boolean {
  if (!text.includes('%')) return true;
  if (/%(?![\da-f]{2})/i.test(text)) return false;
  // Escapes of ASCII are valid on their own, and never part of a longer sequence.
  const runs = text.match(/(?:%[89a-f][\da-f])+/gi) ?? [];
  return runs.every((run) => buffer.isUtf8(Buffer.from(run.replaceAll('%', ''), 'hex')));
}
