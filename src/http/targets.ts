/** From a request's target to what answers it. Each target is read once. */

import { MonitorError, type ParameterFault } from '../errors.ts';
import { createLruCache } from '../lru-cache.ts';
import type { RouteName } from '../options.ts';
import type { Monitor } from './monitor.ts';
import { createMatcher, readTaskId, splitTarget } from './path.ts';
import { readQuery } from './query.ts';
import type { Respond, Route } from './route.ts';

/** What a request's target means. */
export interface Target {
  readonly route: RouteName;
  /** Where the canonical form is, relative to the target; `null` when this is it. */
  readonly canonical: string | null;
  /** Answers it, after `authorize`. */
  readonly respond: Respond;
}

/** Reads targets. */
export interface Targets {
  /** @returns `null` for a path that is not ours */
  find(url: string): Target | null;
}

const MOST_REMEMBERED = 1_000;
const LONGEST_REMEMBERED = 1_024;

export function createTargets(monitor: Monitor, routes: readonly Route[]): Targets {
  const match = createMatcher(
    routes.map((route) => ({
      path: route.path,
      route,
      prepare: route.open(monitor),
      passed: route.passes?.(monitor) ?? [],
    })),
  );
  const remembered = createLruCache<Target>({ entries: MOST_REMEMBERED });

  function read(url: string): Target | null {
    const { path, search } = splitTarget(url);
    const found = match(path);
    if (found === null) return null;
    const { route, prepare, passed } = found.row;
    const target = { route: route.name, canonical: null };
    if (found.canonical !== null) {
      // The query goes back as it came.
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
      const known = remembered.get(url);
      if (known !== undefined) return known;
      const target = read(url);
      if (target !== null && url.length <= LONGEST_REMEMBERED) {
        remembered.set(url, target);
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
