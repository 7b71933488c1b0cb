import type { ComponentsBody, HealthBody, WorkerBody, WorkersBody } from '../../client.ts';
import { linkTo } from '../route.ts';
import { duration } from '../text/numbers.ts';
import { areAllBullMQ } from '../text/words.ts';

interface Tile {
  readonly name: string;
  readonly tone: string;
  readonly word: string;
  readonly detail: string;
  readonly link: string;
}

/** One line on the state of each part that the deployment has. */
export function Tiles(props: {
  readonly health: HealthBody | null;
  readonly components: ComponentsBody | null;
  readonly workers: WorkersBody | null;
}) {
  const { health, components, workers } = props;
  const isBullMQ = areAllBullMQ(workers?.sources ?? []);
  const hasBackend = !isBullMQ && health?.checks.backend?.ok !== null;
  const hasBeat = !isBullMQ && components?.beat?.status !== 'disabled';
  const tiles: Tile[] = [
    check('Broker', health, 'broker'),
    ...(hasBackend ? [check('Result backend', health, 'backend')] : []),
    workersTile(health, workers?.workers ?? null),
    ...(hasBeat ? [component('Beat', components, 'beat')] : []),
    component('Metrics exporter', components, 'metrics'),
  ];
  return (
    <ul class="tiles" aria-label="Health">
      {tiles.map(({ name, tone, word, detail, link }) => (
        <li key={name}>
          <a class="panel tile" href={link}>
            <span class="dim">{name}</span>
            <strong class={`tile-word tone-${tone}`}>{word}</strong>
            <span class="dim tile-detail">{detail}</span>
          </a>
        </li>
      ))}
    </ul>
  );
}

function check(name: string, health: HealthBody | null, key: 'broker' | 'backend'): Tile {
  const found = health?.checks[key];
  const link = linkTo('system');
  if (found === undefined) return { name, tone: 'waiting', word: '…', detail: '', link };
  if (found.ok === null)
    return { name, tone: 'waiting', word: 'not checked', detail: 'none configured', link };
  const latency = found.latency_ms === null ? '' : `answers in ${duration(found.latency_ms)}`;
  return found.ok
    ? { name, tone: 'success', word: 'up', detail: latency, link }
    : { name, tone: 'failure', word: 'down', detail: found.error ?? '', link };
}

function workersTile(health: HealthBody | null, workers: readonly WorkerBody[] | null): Tile {
  const link = linkTo('workers');
  if (workers === null) return { name: 'Workers', tone: 'waiting', word: '…', detail: '', link };
  const online = workers.filter(({ status }) => status === 'online');
  const slots = online.reduce((sum, { concurrency }) => sum + (concurrency ?? 0), 0);
  const active = online.reduce((sum, worker) => sum + (worker.active ?? 0), 0);
  const checked = health?.checks.workers?.ok ?? null;
  // A queue within the app's process has no workers of its own.
  if (workers.length === 0 && checked !== false) {
    return { name: 'Workers', tone: 'waiting', word: 'none known', detail: '', link };
  }
  const ok = checked ?? online.length > 0;
  return {
    name: 'Workers',
    tone: ok ? (online.length < workers.length ? 'retry' : 'success') : 'failure',
    word: `${online.length} of ${workers.length} online`,
    detail: slots > 0 ? `${active} of ${slots} slots busy` : '',
    link,
  };
}

const TONES: Readonly<Record<string, string>> = { up: 'success', down: 'failure' };

function component(name: string, components: ComponentsBody | null, key: string): Tile {
  const found = components?.[key];
  const link = linkTo(key === 'beat' ? 'schedules' : 'system');
  if (found === undefined) return { name, tone: 'waiting', word: '…', detail: '', link };
  const isRead = key === 'beat' && found.enabled;
  return {
    name,
    tone: isRead ? 'success' : (TONES[found.status] ?? 'waiting'),
    word: isRead ? 'schedules read' : found.status === 'disabled' ? 'not set up' : found.status,
    detail: found.url ?? '',
    link,
  };
}
