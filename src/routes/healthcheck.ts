import { DETAIL_OF, isMonitorError, MonitorError, type MonitorErrorCode } from '../errors.ts';
import { type MonitorRequest, sendFresh } from '../http/exchange.ts';
import { type Monitor, oncePerMonitor } from '../http/monitor.ts';
import { subset } from '../http/parameter.ts';
import { defineRoute } from '../http/route.ts';
import type { HealthCheck, WorkerHealthCheck } from '../model.ts';
import { MOST_ITEMS, wellFormed } from '../serialize/shown-values.ts';
import { shareCalls } from '../single-flight.ts';
import type { Awaitable, HealthSource, ReadContext } from '../source.ts';
import type { HealthBody, HealthCheckBody, WorkerHealthCheckBody } from '../wire.ts';
import { findingsOf } from './own-components.ts';

const CHECKS = ['broker', 'backend', 'workers'] as const;
/** Checked only on request: restarting the app, as a probe may do, does not solve what rules find. */
const NAMED = ['findings'] as const;
type Check = (typeof CHECKS)[number] | (typeof NAMED)[number];

/** `GET /healthcheck`: runs the checks in parallel, each with the deadline; concurrent requests share a run. */
export const healthcheck = defineRoute({
  name: 'healthcheck',
  path: '/healthcheck',
  summary: 'Checks of broker, result backend and workers',
  query: {
    checks: subset(
      'The checks to run, separated by commas; the others are absent from the body.',
      CHECKS,
      NAMED,
    ),
  },
  body: 'HealthBody',
  alsoWith: [503],
  errors: [],
  cached: false,
  open(monitor) {
    return ({ values }) =>
      async (request, response) => {
        const checks = await readChecks(monitor, values.checks, request);
        const ok = Object.values(checks).every((check) => check.ok !== false);
        const body: HealthBody = {
          ok,
          status: ok ? 'pass' : 'fail',
          checked_at: new Date().toISOString(),
          checks,
        };
        const json = Buffer.from(JSON.stringify(body));
        sendFresh(request, response, ok ? 200 : 503, 'application/json; charset=utf-8', json);
      };
  },
});

/** Runs checks, and tells the client of the request as much as it may know. Never rejects. */
export async function readChecks(
  monitor: Monitor,
  names: readonly Check[],
  request: MonitorRequest,
): Promise<HealthBody['checks']> {
  const runs = runsOf(monitor);
  const results = await Promise.all(names.map(async (name) => [name, await runs[name]()] as const));
  const checks: HealthBody['checks'] = Object.fromEntries(results);
  return seesDetails(monitor, request) ? checks : withoutDetails(checks);
}

function seesDetails({ options, report }: Monitor, request: MonitorRequest): boolean {
  const { details } = options.health;
  try {
    return details === null || details(request) === true;
  } catch (error) {
    report(error, { code: null, source: null, call: 'health.details' });
    return false;
  }
}

function withoutDetails({ workers, ...checks }: HealthBody['checks']): HealthBody['checks'] {
  const hide = ({ ok }: HealthCheckBody): HealthCheckBody => ({ ok, error: null, latency_ms: null });
  return {
    ...Object.fromEntries(Object.entries(checks).map(([name, check]) => [name, hide(check)])),
    ...(workers && { workers: { ...hide(workers), responding: [], missing: [] } }),
  };
}

/** @returns a function that returns the milliseconds since now */
function startClock(): () => number {
  const start = performance.now();
  return () => Math.round((performance.now() - start) * 10) / 10;
}

/** The checks. Each runs at most once at a time, and its result is reused for `reuseMs`. None rejects. */
const runsOf = oncePerMonitor((monitor) => {
  const { ping, reuseMs } = monitor.options.health;
  const check = (call: 'checkBroker' | 'checkBackend'): Promise<HealthCheckBody> =>
    runCheck(monitor, call, (part, context) => part[call]?.(context));

  async function checkWorkers(): Promise<WorkerHealthCheckBody> {
    let workers: Pick<WorkerHealthCheck, 'responding' | 'missing'> = { responding: [], missing: [] };
    const body = await runCheck(
      monitor,
      'checkWorkers',
      (part, context) => part.checkWorkers?.({ ...context, ping }),
      (result: WorkerHealthCheck) => {
        workers = { responding: readHostnames(result.responding), missing: readHostnames(result.missing) };
      },
    );
    return { ...body, responding: [...workers.responding], missing: [...workers.missing] };
  }

  return {
    broker: shareCalls(() => check('checkBroker'), reuseMs),
    backend: shareCalls(() => check('checkBackend'), reuseMs),
    workers: shareCalls(checkWorkers, reuseMs),
    findings: () => checkFindings(monitor),
  };
});

/** Fails if there are findings. Their evaluation is shared with the component. */
async function checkFindings(monitor: Monitor): Promise<HealthCheckBody> {
  const { findings: least } = monitor.options.health;
  const latency = startClock();
  const { component } = await findingsOf(monitor)();
  const found = (component.findings ?? []).filter(
    ({ severity }) => severity === 'critical' || least === 'warning',
  );
  const isKnown = component.rules?.every(({ reason }) => reason === null) === true;
  const [worst] = found;
  const more = found.length > 1 ? ` (and ${found.length - 1} more)` : '';
  return {
    ok: worst === undefined ? isKnown || null : false,
    error: worst === undefined ? null : worst.summary + more,
    latency_ms: latency(),
  };
}

async function runCheck<Result extends HealthCheck>(
  monitor: Monitor,
  call: 'checkBroker' | 'checkBackend' | 'checkWorkers',
  read: (part: HealthSource, context: ReadContext) => Awaitable<Result> | undefined,
  inspect?: (result: Result) => void,
): Promise<HealthCheckBody> {
  const part = monitor.sources.health;
  if (part?.[call] === undefined) return { ok: null, error: null, latency_ms: null };
  const latency = startClock();
  try {
    return await monitor.reader.read({
      part,
      call,
      key: '',
      // Too many open reads do not mean that the broker is down.
      urgent: true,
      read: (context) => read(part, context) as Awaitable<Result>,
      map(result) {
        const body = {
          ok: readOk(result.ok),
          error: readError(monitor, result.error),
          latency_ms: latency(),
        };
        inspect?.(result);
        // Missing responses of workers are not a fault of the host's configuration.
        if (body.ok === false && call !== 'checkWorkers') {
          const code = 'source_unavailable';
          monitor.report(new MonitorError(code, body.error ?? undefined), { code, source: part.name, call });
        }
        return body;
      },
    });
  } catch (error) {
    const code: MonitorErrorCode = isMonitorError(error) ? error.code : 'source_unavailable';
    return { ok: false, error: DETAIL_OF[code], latency_ms: latency() };
  }
}

function readOk(ok: unknown): boolean | null {
  if (typeof ok !== 'boolean' && ok !== null)
    throw new TypeError('A check must return { ok: boolean | null }.');
  return ok;
}

/** The error sentence of the source, with secrets redacted. */
function readError({ serializer }: Monitor, error: unknown): string | null {
  if (error === undefined || error === null) return null;
  if (typeof error !== 'string') throw new TypeError("A check's error must be a string or null.");
  return serializer.sentence(error);
}

function readHostnames(value: unknown): readonly string[] {
  if (!Array.isArray(value) || !value.every((hostname) => typeof hostname === 'string')) {
    throw new TypeError('checkWorkers() must return { responding: string[], missing: string[] }.');
  }
  return value.slice(0, MOST_ITEMS).map(wellFormed);
}
