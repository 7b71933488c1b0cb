import type { ComponentProps } from 'preact';
import { useState } from 'preact/hooks';
import type { ComponentsBody } from '../../client.ts';
import type { HealthCheckBody, WorkerCountsBody } from '../../wire.ts';
import { TopCauses } from '../failures/causes.tsx';
import { NAME_ORDERS, NamesTable } from '../names/names-table.tsx';
import { DataTable } from '../parts/data-table.tsx';
import { Change, Moment } from '../parts/inline.tsx';
import {
  QUEUE_COLUMNS,
  type QueueFigures,
  queueKey,
  queueRows,
  waitingOf,
  waitingText,
} from '../queues/queue-columns.tsx';
import { useIsCompared } from '../range.ts';
import { linkTo } from '../route.ts';
import { count, counted, duration } from '../text/format.ts';
import { areAllBullMQ } from '../text/words.ts';
import type { Figures } from './figures.ts';

const MOST_QUEUES = 5;
const MOST_NAMES = 8;

/** The orders of names to choose from. */
const CHOICES = [
  ['change', 'Changed most'],
  ['count', 'Busiest'],
  ['failed', 'Most failing'],
  ['slow', 'Slowest'],
] as const;

/** The lists below the overview's chart: causes, queues, names, and the status of each part. */
export function Lists(props: Periods) {
  const { components, figures, before } = props;
  const isCompared = useIsCompared();
  const compared = isCompared ? before : null;
  return (
    <>
      <div class="columns even">
        {figures !== null && <TopCauses stats={figures} before={compared} />}
        <Queues {...props} before={compared} />
      </div>
      {figures !== null && figures.names.length > 0 && (
        <Names stats={figures} before={before?.names ?? null} />
      )}
      <StatusLine components={components} />
      <History components={components} />
    </>
  );
}

interface Periods {
  readonly components: ComponentsBody | null;
  readonly figures: Figures['now'] | null;
  /** The previous period; `null`: unknown. */
  readonly before: Figures['before'];
}

/** The queues with the oldest due tasks, then those with the most waiting tasks. */
function Queues({ components, figures, before }: Periods) {
  const all = queueRows(components, figures);
  const known = all.filter((queue) => waitingOf(queue) !== null);
  if (known.length === 0) return null;
  const { name, waiting, oldest, workers } = QUEUE_COLUMNS;
  const cell = (queue: QueueFigures) => {
    // The previous depth is known only for all queues of a name together.
    const isOne = all.filter((other) => other.name === queue.name).length === 1;
    const depths = isOne ? before?.queue_depths?.find((known) => known.queue === queue.name) : undefined;
    return (
      <>
        {before?.queue_depths !== undefined && (
          <Change now={waitingOf(queue)} before={depths?.waiting ?? null} text={count} />
        )}
        {waitingText(queue)}
      </>
    );
  };
  return (
    <section class="panel">
      <div class="flow panel-head">
        <h2>Queues</h2>
        <a class="panel-more end" href={linkTo('queues')}>
          All {count(all.length)} ›
        </a>
      </div>
      <DataTable
        columns={[name, { ...waiting, cell }, oldest, workers]}
        rows={known}
        keyOf={queueKey}
        most={MOST_QUEUES}
      />
    </section>
  );
}

/** Statistics per task name. Names whose run time differs most from the previous period come first. */
function Names({ stats, before }: Pick<ComponentProps<typeof NamesTable>, 'stats' | 'before'>) {
  const [by, choose] = useState<(typeof CHOICES)[number][0]>('change');
  return (
    <section class="panel">
      <div class="flow panel-head">
        <h2>Names</h2>
        {CHOICES.map(([order, text]) => (
          <button
            key={order}
            type="button"
            class="chip"
            aria-pressed={order === by}
            onClick={() => choose(order)}
          >
            {text}
          </button>
        ))}
        <a class="panel-more end" href={linkTo('names')}>
          All {count(stats.names.length)} ›
        </a>
      </div>
      <NamesTable
        stats={stats}
        before={before}
        most={MOST_NAMES}
        order={{ by, isReversed: false, compare: NAME_ORDERS[by], isOffered: false }}
      />
    </section>
  );
}

interface Part {
  readonly text: string;
  readonly tone: 'success' | 'failure' | 'retry' | 'waiting';
  readonly detail: string;
  readonly path: string;
}

/** One line with the status of each part of the deployment. */
function StatusLine({ components }: { readonly components: ComponentsBody | null }) {
  const checks = components?.checks?.checks;
  const isBullMQ = areAllBullMQ(components?.workers?.sources ?? []);
  const parts = [
    check('Broker', checks?.broker),
    isBullMQ ? null : check('Result backend', checks?.backend),
    workersPart(checks?.workers?.ok ?? null, components?.workers?.workers),
    isBullMQ ? null : beat(components),
  ].filter((part) => part !== null);
  return (
    <ul class="flow status-line" aria-label="Health">
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

function check(name: string, found: HealthCheckBody | undefined): Part | null {
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

/** @param checked the result of the check of workers */
function workersPart(checked: boolean | null, sources: readonly WorkerCountsBody[] | undefined): Part | null {
  if (sources === undefined) return null;
  const sum = (of: (counts: WorkerCountsBody) => number | null): number =>
    sources.reduce((total, counts) => total + (of(counts) ?? 0), 0);
  const [total, online, slots] = [
    sum((counts) => counts.total),
    sum((counts) => counts.online),
    sum(({ concurrency }) => concurrency),
  ];
  const busy = sources.some(({ active }) => active === null) ? '' : `${sum(({ active }) => active)} of `;
  // A queue within the app's process has no workers.
  if (total === 0 && checked !== false) return null;
  const ok = checked ?? online > 0;
  const tone = online < total ? 'retry' : 'success';
  return {
    text: `Workers ${online}/${total}`,
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

/** Shows how far back the data reaches and what has been evicted. */
function History({ components }: { readonly components: ComponentsBody | null }) {
  const config = components?.history?.config ?? null;
  const figure = (name: string): number | null => {
    const value = config?.[name];
    return typeof value === 'number' ? value : null;
  };
  const [tasks, evicted, dropped] = [figure('tasks'), figure('evicted'), figure('dropped')];
  if (config === null || tasks === null) return null;
  const since = config.since;
  return (
    <p class="small-text history dim">
      <a href={linkTo('system')}>History</a>: {counted(tasks, 'task')}
      {typeof since === 'string' && (
        <>
          {' '}
          since <Moment at={since} />
        </>
      )}
      {evicted !== null && (evicted > 0 ? `, ${counted(evicted, 'older task')} evicted` : ', none evicted')}
      {dropped !== null && dropped > 0 && `, ${counted(dropped, 'message')} could not be read`}.
    </p>
  );
}
