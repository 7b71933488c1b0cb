import type { ComponentsBody, HealthBody, WorkerBody, WorkersBody } from '../../client.ts';
import { linkTo } from '../route.ts';
import { duration } from '../text/numbers.ts';
import { areAllBullMQ } from '../text/words.ts';

interface Part {
  readonly text: string;
  readonly tone: 'success' | 'failure' | 'retry' | 'waiting';
  readonly detail: string;
  readonly path: string;
}

/** One line with the status of each part of the deployment. */
export function StatusLine(props: {
  readonly health: HealthBody | null;
  readonly components: ComponentsBody | null;
  readonly workers: WorkersBody | null;
}) {
  const { health, components, workers } = props;
  const isBullMQ = areAllBullMQ(workers?.sources ?? []);
  const parts = [
    check('Broker', health?.checks.broker),
    isBullMQ ? null : check('Result backend', health?.checks.backend),
    workersPart(health, workers?.workers ?? null),
    isBullMQ ? null : beat(components),
  ].filter((part) => part !== null);
  return (
    <ul class="status-line" aria-label="Health">
      {parts.map(({ text, tone, detail, path }) => (
        <li key={text}>
          <a class={`tone-${tone}`} href={linkTo(path)} title={detail}>
            {text}
          </a>
          {tone === 'failure' && detail !== '' && <span> {detail}</span>}
        </li>
      ))}
      <li>
        <a href={linkTo('system')}>System ›</a>
      </li>
    </ul>
  );
}

function check(
  name: string,
  found:
    | { readonly ok: boolean | null; readonly error: string | null; readonly latency_ms: number | null }
    | undefined,
): Part | null {
  // Parts that do not exist, or were not checked, are left out.
  if (found === undefined || found.ok === null) return null;
  const { ok, error, latency_ms } = found;
  const latency = latency_ms === null ? '' : `answers in ${duration(latency_ms)}`;
  return {
    text: `${name} ${ok ? 'up' : 'down'}`,
    tone: ok ? 'success' : 'failure',
    detail: ok ? latency : (error ?? ''),
    path: 'system',
  };
}

function workersPart(health: HealthBody | null, workers: readonly WorkerBody[] | null): Part | null {
  if (workers === null) return null;
  const online = workers.filter(({ status }) => status === 'online');
  const slots = online.reduce((sum, { concurrency }) => sum + (concurrency ?? 0), 0);
  const active = online.flatMap((worker) => worker.active ?? []);
  const busy = active.length < online.length ? '' : `${active.reduce((sum, count) => sum + count, 0)} of `;
  const checked = health?.checks.workers?.ok ?? null;
  // A queue within the app's process has no workers.
  if (workers.length === 0 && checked !== false) return null;
  const ok = checked ?? online.length > 0;
  const tone = online.length < workers.length ? 'retry' : 'success';
  return {
    text: `Workers ${online.length}/${workers.length}`,
    tone: ok ? tone : 'failure',
    detail: slots > 0 ? `${busy}${slots} slots${busy === '' ? '' : ' busy'}` : '',
    path: 'workers',
  };
}

function beat(components: ComponentsBody | null): Part | null {
  const found = components?.beat;
  if (found === undefined || found.status !== 'down') return null;
  return { text: 'Beat down', tone: 'failure', detail: '', path: 'schedules' };
}
