/** Finds the handler for a request target, and caches targets. */

import { MonitorError, type ParameterFault } from '../errors.ts';
import { createLruCache } from '../lru-cache.ts';
import type { RouteName } from '../options.ts';
import type { Denial } from './authorize.ts';
import type { MonitorRequest, MonitorResponse } from './exchange.ts';
import type { Monitor } from './monitor.ts';
import { createMatcher, type PathMatch, readTaskId, splitTarget } from './path.ts';
import { readQuery } from './query.ts';
import type { Prepare, Respond, Route } from './route.ts';

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

/** Finds targets. */
export interface Targets {
  /** @returns `null` for a path that is not part of the monitor */
  find(url: string): Target | null;
}

/** A route of one router. */
interface Row {
  readonly path: string;
  readonly route: Route;
  readonly prepare: Prepare<Readonly<Record<string, unknown>>>;
  /** Names of the parameters that the host has configured. */
  readonly passed: readonly string[];
}

const MOST_CACHED = 1_000;
/** Longer targets are not cached, to limit the memory. In characters. */
const LONGEST_CACHED = 1_024;

/** Creates the targets of one router. */
export function createTargets(monitor: Monitor, routes: readonly Route[]): Targets {
  const match = createMatcher(
    routes.map(
      (route): Row => ({
        path: route.path,
        route,
        prepare: route.open(monitor),
        passed: route.passes?.(monitor) ?? [],
      }),
    ),
  );
  const cached = createLruCache<Target>({ entries: MOST_CACHED });

  return {
    find(url) {
      const known = cached.get(url);
      if (known !== undefined) return known;
      const { path, search } = splitTarget(url);
      const found = match(path);
      if (found === null) return null;
      const target = { route: found.row.route.name, canonical: null };
      if (found.canonical !== null) {
        // The query is redirected unchanged.
        const canonical = search === '' ? found.canonical : `${found.canonical}?${search}`;
        return { ...target, canonical, respond: () => {} };
      }
      return {
        ...target,
        respond(request, response) {
          const respond = prepare(found, search, monitor.options.ignoreQuery);
          if (url.length <= LONGEST_CACHED) cached.set(url, { ...target, respond });
          return respond(request, response);
        },
      };
    },
  };
}

/** Parses path parameters and query. */
function prepare(
  { row: { route, prepare: prepareRoute, passed }, segment }: PathMatch<Row>,
  search: string,
  ignored: ReadonlySet<string>,
): Respond {
  const faults: ParameterFault[] = [];
  const fault = (parameter: string, detail: string): void => void faults.push({ parameter, detail });
  const taskId = segment === null ? '' : readTaskId(segment, fault);
  const { values, pairs } = readQuery(search, { query: route.query, passed, ignored }, fault);
  const faulty = new Set(faults.map(({ parameter }) => parameter));
  const respond = prepareRoute({ values, faulty, taskId: taskId ?? '', pairs }, fault);
  return faults.length === 0 ? respond : () => refuse(route, faults);
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
