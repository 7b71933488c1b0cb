import type { ComponentBody } from '../../wire.ts';
import { clear, counted, type Finding, inWords, type Rule } from '../finding.ts';

/** Longer than the restart of a database. */
const BEHIND_MS = 60_000;
/** Memory can hold more than this, but a process that ends now would lose it. */
const FAR_BEHIND_MS = 10 * 60_000;
/** How long losses are reported. */
const LOST_MS = 60 * 60_000;

/** Key of the component that shows the store. */
const STORE = 'history.store';

/**
 * `store_behind`: the store of the history cannot be opened; or changes have waited for more than a minute to be
 * written (critical: 10 minutes); or some were lost in the last hour, because the backlog was full (critical).
 */
export const storeBehind: Rule = {
  code: 'store_behind',
  *judge(source, now) {
    const store = source.components[STORE];
    if (store === undefined) return null;
    yield;
    const config = store.config ?? {};
    const findings = [lossIn(config, now), delayIn(config, now)].flatMap((finding) => finding ?? []);
    const unknown = store.status === 'unknown' ? 'The store has not been opened yet.' : null;
    return findings.length === 0 ? clear(unknown) : { findings, unknown };
  },
};

type Config = NonNullable<ComponentBody['config']>;

function lossIn(config: Config, now: number): Finding | null {
  const { lost, lost_at: lostAt } = config;
  const at = Date.parse(String(lostAt));
  if (typeof lost !== 'number' || !(now - at < LOST_MS)) return null;
  const were = lost === 1 ? 'was' : 'were';
  return findingOf(
    config,
    'critical',
    at,
    'lost',
    `${counted(lost, 'change')} ${were} lost before they were written to the store`,
  );
}

function delayIn(config: Config, now: number): Finding | null {
  const { delay_seconds: delay, phase, error } = config;
  const delayMs = typeof delay === 'number' ? delay * 1_000 : 0;
  const severity = delayMs >= FAR_BEHIND_MS ? 'critical' : 'warning';
  const since = delayMs === 0 ? null : now - delayMs;
  if (phase === 'opening' && typeof error === 'string') {
    return findingOf(
      config,
      severity,
      since,
      'delay',
      'The history store cannot be opened; the history stays in memory',
    );
  }
  if (delayMs < BEHIND_MS) return null;
  return findingOf(config, severity, since, 'delay', `The history store is ${inWords(delayMs)} behind`);
}

function findingOf(
  { waiting, delay_seconds, lost, error, code, hints }: Config,
  severity: Finding['severity'],
  since: number | null,
  subject: string,
  summary: string,
): Finding {
  return {
    severity,
    since,
    subject,
    summary: typeof error === 'string' ? `${summary}: ${error}` : summary,
    evidence: { waiting, delay_seconds, lost, error, code, hints },
    look: '/api/components/',
  };
}
