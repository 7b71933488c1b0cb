/** Asks for one URL, and says what went wrong. */
import type { ProblemBody } from '../wire.ts';

/** Values of a query; arrays are repeated, `null` and `undefined` left out, dates are ISO 8601. */
export type QueryValues = Readonly<
  Record<string, string | number | Date | readonly string[] | null | undefined>
>;

/** How requests are sent. */
export interface Transport {
  /** The mount: `https://example.org/monitor/`, or in a browser a path. */
  readonly base: string;
  readonly fetch: typeof fetch;
  readonly headers: Readonly<Record<string, string>>;
}

/** An answer that is an error, or none at all. */
export class MonitorClientError extends Error {
  /** The HTTP status; `null` when there was no answer. */
  readonly status: number | null;
  /** The stable code of the problem (`task_not_found`, …); `null` when the answer was none of ours. */
  readonly code: ProblemBody['code'] | null;
  /** The whole problem, if there is one. */
  readonly problem: ProblemBody | null;
  /** Seconds to wait before asking again, if the answer says so. */
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

/** The URL of a route. @param path relative to the mount, without a slash before it */
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
 * Sends a GET.
 *
 * @param accepted statuses that carry the body as well
 * @throws MonitorClientError for every other status and when there is no answer; an abort is thrown as it is
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
  if (response.ok || options.accepted?.includes(response.status) === true) return response;
  throw await failureOf(response);
}

async function failureOf(response: Response): Promise<MonitorClientError> {
  const { status, headers } = response;
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  const problem = await problemOf(response);
  return new MonitorClientError(problem?.detail ?? `The monitor answered ${status}.`, {
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
