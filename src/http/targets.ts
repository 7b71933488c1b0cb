/** Finds the handler for a request target. Parsed targets are cached. */

import { MonitorError, type ParameterFault } from '../errors.ts';
import { createLruCache } from '../lru-cache.ts';
import type { RouteName } from '../options.ts';
import type { Monitor } from './monitor.ts';
import { createMatcher, readTaskId, splitTarget } from './path.ts';
import { readQuery } from './query.ts';
import type { Respond, Route } from './route.ts';

/** A parsed request target. */
export interface Target {
  readonly route: RouteName;
  /** The canonical form, relative to the target; `null` when the target is canonical. */
  readonly canonical: string | null;
  /** Answers the request, after `authorize`. */
  readonly respond: Respond;
}

/** Parses targets. */
export interface Targets {
  /** @returns `null` for a path that is not part of the monitor */
  find(url: string): Target | null;
}

const MOST_CACHED = 1_000;
/** Longer targets are not cached, to bound the memory. In characters. */
const LONGEST_CACHED = 1_024;

/** Creates the targets of one router. */
export function createTargets(monitor: Monitor, routes: readonly Route[]): Targets {
  const match = createMatcher(
    routes.map((route) => ({
      path: route.path,
      route,
      prepare: route.open(monitor),
      passed: route.passes?.(monitor) ?? [],
    })),
  );
  const cached = createLruCache<Target>({ entries: MOST_CACHED });

  function read(url: string): Target | null {
    const { path, search } = splitTarget(url);
    const found = match(path);
    if (found === null) return null;
    const { route, prepare, passed } = found.row;
    const target = { route: route.name, canonical: null };
    if (found.canonical !== null) {
      // The query is redirected unchanged.
      const canonical = search === '' ? found.canonical : `${found.canonical}?${search}`;
      return { ...target, canonical, respond: () => {} };
    }

    const faults: ParameterFault[] = [];
    const fault = (parameter: string, detail: string): void => void faults.push({ parameter, detail });
    const taskId = found.segment === null ? '' : readTaskId(found.segment, fault);
    const names = { query: route.query, passed, ignored: monitor.options.ignoreQuery };
    const { values, pairs } = readQuery(search, names, fault);
    const faulty = new Set(faults.map(({ parameter }) => parameter));
    const respond = prepare({ values, faulty, taskId: taskId ?? '', pairs }, fault);
    return { ...target, respond: faults.length === 0 ? respond : () => refuse(route, faults) };
  }

  return {
    find(url) {
      const known = cached.get(url);
      if (known !== undefined) return known;
      const target = read(url);
      if (target !== null && url.length <= LONGEST_CACHED) {
        cached.set(url, target);
      }
      return target;
    },
  };
}

function refuse(route: Route, faults: readonly ParameterFault[]): never {
  const names = Object.keys(route.query);
  const takes = names.length === 0 ? 'no query parameters' : `the query parameters ${names.join(', ')}`;
  throw new MonitorError(
    'invalid_parameter',
    `The request has parameters that cannot be read. This path takes ${takes}.`,
    faults,
  );
}
