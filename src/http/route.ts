/**
 * Routes: the rows of their table, and how a request finds its row. Works on the raw path, so that settings of the host
 * have no effect.
 */
import buffer from 'node:buffer';
import { MonitorError, type MonitorErrorCode, type ParameterFault } from '../errors.ts';
import { createLruCache } from '../lru-cache.ts';
import type { RouteName } from '../options.ts';
import type { Denial } from './authorize.ts';
import type { MonitorRequest, MonitorResponse, Respond } from './exchange.ts';
import type { Monitor } from './monitor.ts';
import { MOST_REPEATS, type Parameter, type Query, type ValuesOf } from './parameter.ts';

/** The parsed path and query of a request. */
export interface Asked<Values> {
  readonly values: Values;
  /** Names of invalid parameters; their values are those of an absent parameter. */
  readonly faulty: ReadonlySet<string>;
  /** Decoded; empty for routes without a task id. */
  readonly taskId: string;
  /** The decoded query, ignored parameters included. */
  readonly pairs: readonly [name: string, value: string][];
}

/** Reports an invalid parameter. @param detail a sentence that says what to write instead */
export type Fault = (parameter: string, detail: string) => void;

/**
 * Prepares the answers to one URL; called once per URL. Also called for URLs with invalid parameters, to report
 * the other faults.
 */
export type Prepare<Values> = (asked: Asked<Values>, fault: Fault) => Respond;

/** One row, as {@link defineRoute} takes it. */
export interface RouteRow<Q extends Query> {
  readonly name: RouteName;
  /** The canonical path; `{task_id}` is its only parameter. */
  readonly path: string;
  /** For the API's documentation. */
  readonly summary: string;
  readonly query: Q;
  /** Type of the 200 body in `wire.ts`; `null` when it is not JSON. */
  readonly body: string | null;
  /** Other statuses with the same body. */
  readonly alsoWith?: readonly number[];
  /** Problems of this route, in addition to {@link COMMON_ERRORS}. */
  readonly errors: readonly MonitorErrorCode[];
  /** Whether answers have an `ETag`, so that a client can get a 304. */
  readonly cached: boolean;
  /** Whether a client that accepts `text/event-stream` gets a stream of changes. Default: no. */
  readonly streams?: boolean;
  /** Names of additional parameters that the host has configured. */
  passes?(monitor: Monitor): readonly string[];
  /** Called once per router. */
  open(monitor: Monitor): Prepare<ValuesOf<Q>>;
}

/** One of the eleven routes. */
export type Route = RouteRow<Query>;

/** Problems of every route. */
export const COMMON_ERRORS: readonly MonitorErrorCode[] = [
  'invalid_parameter',
  'unauthorized',
  'forbidden',
  'method_not_allowed',
  'overloaded',
];

/** Problems of routes that read a source. */
export const SOURCE_ERRORS: readonly MonitorErrorCode[] = [
  'source_not_configured',
  'source_invalid',
  'source_unavailable',
  'source_timeout',
];

/** Checks a row against the types of its query, and returns it as a row of the common table. */
export function defineRoute<const Q extends Query>(row: RouteRow<Q>): Route {
  return row as unknown as Route;
}

/** A request target whose route is known. */
export interface Target {
  readonly route: RouteName;
  /** The canonical form, relative to the target; `null` when the target is canonical. */
  readonly canonical: string | null;
  /**
   * Answers the request. To be called after `authorize`: path parameters and query are parsed only here.
   *
   * @throws MonitorError `invalid_parameter`
   */
  readonly respond: Respond;
  /** Answers a request that `authorize` has refused. Default: problem JSON. */
  readonly refuse?: (request: MonitorRequest, response: MonitorResponse, denial: Denial) => void;
}

/** A route of one router. */
interface Row {
  readonly route: Route;
  /** Matches its path, with and without the slash at the end. The first group is the task id, not decoded. */
  readonly pattern: RegExp;
  readonly prepare: Prepare<Readonly<Record<string, unknown>>>;
  /** Names of the parameters that the host has configured. They are accepted and passed on unchanged. */
  readonly passed: readonly string[];
}

const MOST_CACHED = 1_000;
/** Longer targets are not cached, to limit the memory. In characters. */
const LONGEST_CACHED = 1_024;

/**
 * Creates the targets of one router.
 *
 * @returns finds the target of a URL; `null` for a path that is not part of the monitor
 */
export function createTargets(monitor: Monitor, routes: readonly Route[]): (url: string) => Target | null {
  const rows = routes.map(
    (route): Row => ({
      route,
      pattern: new RegExp(`^${route.path.replace(/\/$/, '').replace('{task_id}', '([^/]*)')}/?$`),
      prepare: route.open(monitor),
      passed: route.passes?.(monitor) ?? [],
    }),
  );
  const cached = createLruCache<Target>({ entries: MOST_CACHED });

  return function find(url) {
    const known = cached.get(url);
    if (known !== undefined) return known;
    const { path, search } = splitTarget(url);
    const row = rows.find(({ pattern }) => pattern.test(path));
    if (row === undefined) return null;
    const target = { route: row.route.name, canonical: null };
    if (path.endsWith('/') !== row.route.path.endsWith('/')) {
      // The query is redirected unchanged.
      const canonical = otherForm(path) + (search === '' ? '' : `?${search}`);
      return { ...target, canonical, respond: () => {} };
    }
    return {
      ...target,
      respond(request, response) {
        const respond = prepare(row, path, search, monitor.options.ignoreQuery);
        if (url.length <= LONGEST_CACHED) cached.set(url, { ...target, respond });
        return respond(request, response);
      },
    };
  };
}

/** The path with the other form of the slash. Begins with a dot: an id such as `a:b` is no scheme (RFC 3986, 4.2). */
function otherForm(path: string): string {
  const [, last, slash] = /\/([^/]*)(\/?)$/.exec(path) ?? [];
  return slash === '' ? `./${last}/` : `../${last}`;
}

/** Parses path parameters and query. @param ignored parameters of the host; they are skipped */
function prepare(row: Row, path: string, search: string, ignored: ReadonlySet<string>): Respond {
  const faults: ParameterFault[] = [];
  const fault = (parameter: string, detail: string): void => void faults.push({ parameter, detail });
  const segment = row.pattern.exec(path)?.[1];
  const taskId = segment === undefined ? '' : readTaskId(segment, fault);
  const { values, pairs } = readQuery(search, row, ignored, fault);
  const faulty = new Set(faults.map(({ parameter }) => parameter));
  const respond = row.prepare({ values, faulty, taskId, pairs }, fault);
  return faults.length === 0 ? respond : () => refuse(row.route, faults);
}

function refuse(route: Route, faults: readonly ParameterFault[]): never {
  const names = Object.keys(route.query);
  const takes = names.length === 0 ? 'no query parameters' : `the query parameters ${names.join(', ')}`;
  throw new MonitorError(
    'invalid_parameter',
    `The request has invalid parameters. This path accepts ${takes}.`,
    faults,
  );
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
 *
 * @returns the values by parameter, in the order of the route's table; and the decoded pairs in the order of the query,
 *   ignored parameters included
 */
function readQuery(
  search: string,
  { route: { query }, passed }: Row,
  ignored: ReadonlySet<string>,
  fault: Fault,
) {
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
    values[name] = readValue(name, parameter, entry?.isBroken === false ? entry.values : [], fault);
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

/**
 * Splits a request target into path and query. It may begin with a scheme and a host (RFC 9112, 3.2.2), but with no
 * scheme of which a guard of the host would not think.
 */
export function splitTarget(target: string): { readonly path: string; readonly search: string } {
  const [whole = ''] = target.split('#', 1);
  const origin = /^https?:\/\/[^/?]+/i.exec(whole)?.[0] ?? '';
  const mark = whole.indexOf('?', origin.length);
  const end = mark === -1 ? whole.length : mark;
  return { path: whole.slice(origin.length, end) || '/', search: whole.slice(end + 1) };
}

/** Path and query below the monitor's path, undecoded; `null` when the request is for another path. */
export function targetOf({ url = '/', originalUrl = url }: MonitorRequest, basePath: string): string | null {
  if (basePath === '') return url;
  const { path, search } = splitTarget(originalUrl);
  if (path !== basePath && !path.startsWith(`${basePath}/`)) return null;
  return `${path.slice(basePath.length) || '/'}${search === '' ? '' : `?${search}`}`;
}

const LONGEST_ID = 512;

/**
 * Decodes a `{task_id}`; `%2F` stays part of it. Control characters are allowed, because queues allow them in ids:
 * bodies and cache keys contain ids as JSON, and log lines contain no ids.
 */
function readTaskId(segment: string, fault: Fault): string {
  const isValid = isPercentEncoding(segment);
  const id = isValid ? decodeURIComponent(segment) : '';
  if (!isValid) fault('task_id', 'Write valid percent-encoded UTF-8.');
  else if (id === '') fault('task_id', 'Write an id; this one is empty.');
  else if (id.length > LONGEST_ID && [...id].length > LONGEST_ID) {
    fault('task_id', `Write an id of at most ${LONGEST_ID} characters.`);
  }
  return id;
}
