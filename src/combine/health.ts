/** Combines the checks of several sources: the worst result, with the names of the failed sources. */
import { DETAIL_OF, isMonitorError } from '../errors.ts';
import type { HealthCheck, WorkerHealthCheck } from '../model.ts';
import { fanOutOf, type Reply } from '../source/combined-part.ts';
import type { Awaitable, HealthSource, ReadContext } from '../source.ts';

type Call = 'checkBroker' | 'checkBackend' | 'checkWorkers';

/** The check of one source. */
interface Named<Check> {
  readonly name: string;
  readonly check: Check;
}

/** The checks of a combined part: those that at least one part has. */
export function combineHealth(parts: readonly HealthSource[]): Omit<HealthSource, 'name'> {
  const has = (call: Call): boolean => parts.some((part) => part[call] !== undefined);
  return {
    ...(has('checkBroker') && {
      checkBroker: async (context) =>
        worstOf(await checksOf(parts, 'checkBroker', context, (part, own) => part.checkBroker?.(own))),
    }),
    ...(has('checkBackend') && {
      checkBackend: async (context) =>
        worstOf(await checksOf(parts, 'checkBackend', context, (part, own) => part.checkBackend?.(own))),
    }),
    ...(has('checkWorkers') && {
      async checkWorkers(context) {
        const { ping } = context;
        const checks = await checksOf(parts, 'checkWorkers', context, (part, own) =>
          part.checkWorkers?.({ signal: own.signal, ping }),
        );
        return { ...worstOf(checks), ...hostnamesOf(checks) };
      },
    }),
  };
}

/** The checks of the parts that have one. */
async function checksOf<Check extends HealthCheck>(
  all: readonly HealthSource[],
  call: Call,
  context: ReadContext,
  read: (part: HealthSource, context: ReadContext) => Awaitable<Check | undefined>,
): Promise<readonly Named<Check | HealthCheck>[]> {
  const fanOut = fanOutOf(context);
  const parts = all.filter((part) => part[call] !== undefined);
  return Promise.all(
    parts.map(async (part) => {
      const reply = await fanOut.ask<Check | undefined>({
        part,
        call,
        mayBeOld: false,
        read: (own) => read(part, own),
        count(check) {
          if (typeof check?.ok !== 'boolean' && check?.ok !== null) {
            throw new TypeError('A check must return { ok: boolean | null }.');
          }
          return 1;
        },
      });
      return { name: part.name, check: checkOf(reply) };
    }),
  );
}

/** A part that could not be read has failed its check. */
function checkOf<Check extends HealthCheck>(reply: Reply<Check | undefined>): Check | HealthCheck {
  if ('error' in reply) {
    const code = isMonitorError(reply.error) ? reply.error.code : 'source_unavailable';
    return { ok: false, error: DETAIL_OF[code] };
  }
  return reply.raw ?? { ok: null };
}

function worstOf(checks: readonly Named<HealthCheck>[]): HealthCheck {
  const failed = checks.filter(({ check }) => check.ok === false);
  if (failed.length === 0) return { ok: checks.some(({ check }) => check.ok) ? true : null, error: null };
  const errors = failed.map(({ name, check }) => `${name}: ${check.error ?? 'The check failed.'}`);
  return { ok: false, error: errors.join(' ') };
}

/** A worker that responds to one source is not missing, even if another source reports it missing. */
function hostnamesOf(
  checks: readonly Named<HealthCheck | WorkerHealthCheck>[],
): Pick<WorkerHealthCheck, 'responding' | 'missing'> {
  const all = checks.flatMap(({ check }) => ('responding' in check ? [check] : []));
  const responding = new Set(all.flatMap((check) => check.responding));
  const missing = new Set(all.flatMap((check) => check.missing).filter((name) => !responding.has(name)));
  return { responding: [...responding].sort(), missing: [...missing].sort() };
}
