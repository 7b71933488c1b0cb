import type { WorkerBody } from '../../wire.ts';
import { clear, counted, type Finding, listed, type Rule, type SourceSituation } from '../finding.ts';

/** A worker that has been silent for longer counts as replaced: containers never restart with the same name. */
const RECENT_MS = 60 * 60_000;
const MOST_NAMED = 20;
const LOOK = '/api/workers/';

/**
 * `workers_silent`: no worker is online (critical), or some workers became silent within the last hour without
 * reporting their shutdown, as after a crash. A worker is silent if it has sent no heartbeat for a minute.
 *
 * Unknown if the source lists no workers. The rule does not apply to a source that has never seen a worker and has
 * none to check, such as a queue within the host's process.
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

function noneOnline({ checks, components }: SourceSituation, workers: readonly WorkerBody[]) {
  // Without workers, the rule does not apply if the check passes or is not configured.
  if (workers.length === 0 && checks.workers.ok !== false) return null;
  const heard = workers.flatMap(({ last_heartbeat }) =>
    last_heartbeat === null ? [] : Date.parse(last_heartbeat),
  );
  const names = workers.map(({ hostname }) => hostname);
  const summary = names.length === 0 ? 'No worker responds' : `No worker is online: ${listed(names)}`;
  const cause = Object.values(components)
    .map(({ config }) => config?.refuses_workers)
    .find((sentence) => typeof sentence === 'string');
  const finding: Finding = {
    severity: 'critical',
    since: heard.length === 0 ? null : Math.max(...heard),
    subject: null,
    summary: cause === undefined ? summary : `${summary}. ${cause}`,
    evidence: { workers: names.slice(0, MOST_NAMED), known: names.length },
    look: LOOK,
  };
  return { findings: [finding], unknown: null };
}
