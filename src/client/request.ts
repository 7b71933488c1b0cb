/** Sends one request and turns failures into `MonitorClientError`. */
import type { ProblemBody } from '../wire.ts';

/** Query parameters: arrays are repeated, `null` and `undefined` are omitted, dates are written in ISO 8601. */
export type QueryValues = Readonly<
  Record<string, string | number | boolean | Date | readonly string[] | null | undefined>
>;

/** How requests are sent. */
export interface Transport {
  /** URL of the mount with a slash at the end: `https://example.org/monitor/`, or in a browser a path. */
  readonly base: string;
  readonly fetch: typeof fetch;
  readonly headers: Readonly<Record<string, string>>;
}

/** Thrown when the server answers with an error or not at all. */
export class MonitorClientError extends Error {
  /** HTTP status; `null` when there was no answer. */
  readonly status: number | null;
  /**
   * Stable code of the problem (`task_not_found`, …); `null` when the answer did not come from the monitor.
   */
  readonly code: ProblemBody['code'] | null;
  /** Body of the problem, if there is one. */
  readonly problem: ProblemBody | null;
  /** Seconds to wait before another attempt; `null` if the answer does not contain it. */
  readonly retryAfter: number | null;

  constructor(
    message: string,
    details: {
      status: number | null;
      problem: ProblemBody | null;
      retryAfter?: number | null;
      cause?: unknown;
    },
  ) {
    super(message, { cause: details.cause });
    this.name = 'MonitorClientError';
    this.status = details.status;
    this.problem = details.problem;
    this.code = details.problem?.code ?? null;
    this.retryAfter = details.retryAfter ?? null;
  }
}

/** URL of a route. @param path relative to the mount, without a leading slash */
export function urlOf({ base }: Transport, path: string, query: QueryValues = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined) continue;
    if (typeof value === 'object' && !(value instanceof Date)) {
      for (const item of value) parameters.append(name, item);
    } else parameters.append(name, value instanceof Date ? value.toISOString() : String(value));
  }
  const search = parameters.toString();
  return `${base}${path}${search === '' ? '' : `?${search}`}`;
}

/**
 * Sends a GET request.
 *
 * @param accepted statuses besides 2xx that have a body
 * @throws MonitorClientError for every other status, for HTML such as a login page, and when there is no
 *   answer; an abort is thrown unchanged
 */
export async function request(
  transport: Transport,
  url: string,
  options: {
    readonly signal?: AbortSignal | undefined;
    readonly headers?: Readonly<Record<string, string>>;
    readonly accepted?: readonly number[];
  } = {},
): Promise<Response> {
  let response: Response;
  try {
    response = await transport.fetch(url, {
      headers: { ...transport.headers, ...options.headers },
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
  } catch (cause) {
    if (options.signal?.aborted === true) throw cause;
    throw new MonitorClientError('The monitor cannot be reached.', { status: null, problem: null, cause });
  }
  const isAccepted = response.ok || options.accepted?.includes(response.status) === true;
  if (isAccepted && !isHtml(response)) return response;
  throw await failureOf(response);
}

/** The API never answers with HTML. */
function isHtml({ headers }: Response): boolean {
  return /^text\/html\b/.test(headers.get('content-type') ?? '');
}

async function failureOf(response: Response): Promise<MonitorClientError> {
  const { status, headers } = response;
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  const problem = await problemOf(response);
  const isPage = problem === null && (response.ok || response.type === 'opaqueredirect');
  const sentence = isPage
    ? 'The monitor answered with an HTML page instead of data, probably a login page. Sign in again.'
    : `The monitor answered ${status}.`;
  return new MonitorClientError(problem?.detail ?? sentence, {
    status,
    problem,
    retryAfter: Number.isFinite(seconds) ? seconds : null,
  });
}

async function problemOf(response: Response): Promise<ProblemBody | null> {
  try {
    if (!/^application\/problem\+json\b/.test(response.headers.get('content-type') ?? '')) {
      await response.body?.cancel();
      return null;
    }
    const body: unknown = await response.json();
    return typeof body === 'object' && body !== null && 'code' in body ? (body as ProblemBody) : null;
  } catch {
    return null;
  }
}
