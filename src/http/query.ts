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

/** Parses a query (without its `?`) and reports every fault. */
export function readQuery(
  search: string,
  { query, passed, ignored }: QueryNames,
  fault: Fault,
): QueryReading {
  // URLSearchParams removes one leading question mark, which may belong to a name.
  const pairs = [...new URLSearchParams(`?${search}`)];
  const broken = findBroken(search);
  const given = new Map<string, { values: string[]; broken: boolean }>();
  for (const [index, [name, value]] of pairs.entries()) {
    if (ignored.has(name)) continue;
    const entry = given.get(name) ?? { values: [], broken: false };
    entry.values.push(value);
    entry.broken ||= broken.has(index);
    given.set(name, entry);
  }
  for (const [name, { broken: unreadable }] of given) {
    if (!Object.hasOwn(query, name) && !passed.includes(name)) {
      fault(name, 'There is no parameter of this name.');
    } else if (unreadable) fault(name, 'Write a percent-encoding of UTF-8.');
  }
  const values: Record<string, unknown> = {};
  for (const [name, parameter] of Object.entries(query)) {
    const entry = given.get(name);
    values[name] = readValue(name, parameter, entry === undefined || entry.broken ? [] : entry.values, fault);
  }
  return { values, pairs };
}

function readValue(
  name: string,
  parameter: Parameter<unknown>,
  given: readonly string[],
  fault: Fault,
): unknown {
  if (given.includes('')) {
    fault(name, 'Write a value, or leave the parameter out.');
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
    try {
      decodeURIComponent(piece);
    } catch {
      broken.add(index);
    }
  }
  return broken;
}
