/** Matches paths to routes. Works on the raw path, so that settings of the host have no effect. */

/** A path of the monitor. */
export interface PathMatch<Row> {
  readonly row: Row;
  /** The segment for `{task_id}`, not yet decoded; `null` for routes without it. */
  readonly segment: string | null;
  /** The canonical form, relative to this path; `null` when the path is canonical. */
  readonly canonical: string | null;
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

/** The target relative to a path such as `/monitor`; `null` for a target that is not below that path. */
export function targetBelow(basePath: string, target: string): string | null {
  const { path, search } = splitTarget(target);
  if (path !== basePath && !path.startsWith(`${basePath}/`)) return null;
  return `${path.slice(basePath.length) || '/'}${search === '' ? '' : `?${search}`}`;
}

/** Creates a matcher. @param rows with canonical paths, such as `/api/tasks/{task_id}/` or `/metrics` */
export function createMatcher<Row extends { readonly path: string }>(
  rows: readonly Row[],
): (path: string) => PathMatch<Row> | null {
  const patterns = rows.map((row) => ({ row, ...split(row.path) }));

  return function match(path) {
    if (!path.startsWith('/')) return null;
    const given = split(path);
    for (const { row, segments, slash } of patterns) {
      if (segments.length !== given.segments.length) continue;
      if (!segments.every((part, index) => part === PARAMETER || part === given.segments[index])) continue;
      const at = segments.indexOf(PARAMETER);
      return {
        row,
        segment: at === -1 ? null : (given.segments[at] ?? ''),
        canonical: slash === given.slash ? null : otherForm(given.segments, slash),
      };
    }
    return null;
  };
}

const PARAMETER = '{task_id}';

/** More segments than the path of any route has. */
const MOST_SEGMENTS = 6;

function split(path: string): { readonly segments: readonly string[]; readonly slash: boolean } {
  const slash = path.endsWith('/');
  // A path with more segments than any route matches none.
  return { segments: path.slice(1, slash ? -1 : undefined).split('/', MOST_SEGMENTS + 1), slash };
}

/** Begins with a dot, so that an id such as `a:b` is not read as a scheme (RFC 3986, 4.2). */
function otherForm(segments: readonly string[], slash: boolean): string {
  const last = segments.at(-1) ?? '';
  return slash ? `./${last}/` : `../${last}`;
}

const LONGEST_ID = 512;

/**
 * Decodes a `{task_id}`; `%2F` stays part of it. Control characters are allowed, because queues allow them in ids:
 * bodies and cache keys contain ids as JSON, and log lines contain no ids.
 *
 * @returns `null` when it is not valid; the fault has then been reported
 */
export function readTaskId(
  segment: string,
  fault: (parameter: string, detail: string) => void,
): string | null {
  const id = decode(segment);
  if (id === null) fault('task_id', 'Write valid percent-encoded UTF-8.');
  else if (id === '') fault('task_id', 'Write an id; this one is empty.');
  else if (id.length > LONGEST_ID && [...id].length > LONGEST_ID) {
    fault('task_id', `Write an id of at most ${LONGEST_ID} characters.`);
  } else return id;
  return null;
}

function decode(segment: string): string | null {
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}
