import type { WorkerBody } from '../../wire.ts';
import { clear, counted, type Finding, listed, type Rule, type SourceSituation } from '../finding.ts';

/** After that, a worker that fell silent counts as replaced: containers never come back under their name. */
const RECENT_MS = 60 * 60_000;
const MOST_NAMED = 20;
const LOOK = '/api/workers/';

/**
 * `workers_silent`: no worker is online (critical), or some fell silent within the last hour and did not say goodbye,
 * as after a crash. A worker is silent when it was not heard for a minute.
 *
 * Unknown where the source lists no workers. A source that has never seen a worker and has none to check, such as a
 * queue within the host's process, has nothing to judge.
 */
export const workersSilent: Rule = {
  code: 'workers_silent',
  *judge(source, now) {
    const { workers, hasTasks } = source;
    if (workers === undefined) return hasTasks ? clear('The source lists no workers.') : null;
    if (workers === null) return clear('The workers could not be read.');
    yield;
    if (!workers.some(({ status }) => status === 'online')) return noneOnline(source, workers);
    const silent = (source.activity?.silent ?? []).filter(({ heardAt }) => now - heardAt < RECENT_MS);
    const [first] = silent;
    if (first === undefined) return clear();
    const names = silent.map(({ hostname }) => hostname).sort();
    const finding: Finding = {
      severity: 'warning',
      since: Math.min(...silent.map(({ heardAt }) => heardAt)),
      subject: null,
      summary: `${counted(silent.length, 'worker')} stopped sending heartbeats without shutting down: ${listed(names)}`,
      evidence: { workers: names.slice(0, MOST_NAMED), silent: silent.length },
      look: LOOK,
    };
    return { findings: [finding], unknown: null };
  },
};

function noneOnline({ checks }: SourceSituation, workers: readonly WorkerBody[]) {
  // Without a worker, a check that passes or is not configured leaves nothing to judge.
  if (workers.length === 0 && checks.workers.ok !== false) return null;
  const heard = workers.flatMap(({ last_heartbeat }) =>
    last_heartbeat === null ? [] : Date.parse(last_heartbeat),
  );
  const names = workers.map(({ hostname }) => hostname);
  const finding: Finding = {
    severity: 'critical',
    since: heard.length === 0 ? null : Math.max(...heard),
    subject: null,
    summary: names.length === 0 ? 'No worker responds' : `No worker is online: ${listed(names)}`,
    evidence: { workers: names.slice(0, MOST_NAMED), known: names.length },
    look: LOOK,
  };
  return { findings: [finding], unknown: null };
}
