import '../style/failures.css';
import type { StatsCauseBody, TaskStatsBody } from '../../wire.ts';
import { ThroughputChart } from '../charts/throughput-chart.tsx';
import { client } from '../live/connection.ts';
import { useResource } from '../live/use-resource.ts';
import { CountedLinks } from '../parts/fact.tsx';
import { Change, Moment } from '../parts/inline.tsx';
import { LatestTasks } from '../parts/latest-tasks.tsx';
import { Empty, ReadState, ViewHead } from '../parts/view.tsx';
import { tasksWithStats, usePrevious, useRange } from '../range.ts';
import { linkTo, nameLink, workerLink } from '../route.ts';
import { count } from '../text/format.ts';
import { NewBadge } from './causes.tsx';
import { Traceback } from './traceback.tsx';

const LATEST = 10;

/** One cause of failures: when it occurred, a sample with its traceback, and the affected tasks. */
export function CauseView({ id }: { readonly id: string }) {
  const range = useRange();
  const resource = useResource(
    `${id} ${range.key}`,
    (signal) =>
      tasksWithStats(range, { limit: LATEST, filters: { cause: id }, stats: { stats_causes: 1 } }, signal),
    { news: (event) => event.state === 'FAILURE', gap: 3_000, keep: true },
  );
  const before = usePrevious(id, (window, signal) =>
    client.tasks({ cause: id, limit: 0, ...window }, { signal }),
  );
  const { data, at } = resource;
  const stats = data?.stats ?? null;
  const cause = stats?.causes?.[0];
  return (
    <>
      <ViewHead title={cause?.exception ?? 'Cause'} at={at}>
        <a class="button small" href={linkTo('tasks', { cause: id, ...range.link })}>
          All its tasks
        </a>
      </ViewHead>
      <ReadState what="the failures" shape="charts" of={resource} />
      {stats !== null && cause !== undefined && (
        <Cause
          cause={cause}
          stats={stats}
          before={before === null ? undefined : (before.stats?.totals.failed ?? null)}
        />
      )}
      {data !== null && cause === undefined && (
        <Empty title="No failures with this cause in this period.">
          <a href={linkTo('failures')}>All failures</a>
        </Empty>
      )}
      {data !== null && (
        <LatestTasks
          tasks={data.tasks}
          total={data.total}
          all={linkTo('tasks', { cause: id, ...range.link })}
          same="failed"
        />
      )}
    </>
  );
}

function Cause(props: {
  readonly cause: StatsCauseBody;
  readonly stats: TaskStatsBody;
  /** Failures in the previous period; `null`: unknown, `undefined`: no comparison. */
  readonly before: number | null | undefined;
}) {
  const { cause, stats, before } = props;
  const { link: period } = useRange();
  const { message, frame, first_seen, last_seen, sample } = cause;
  return (
    <>
      <p class="cause-message wrap">
        {message} {frame !== null && <span class="dim">{frame}</span>}
      </p>
      <p class="flow cause-facts">
        <NewBadge cause={cause} />
        <span>
          <b class="num">{count(cause.count)}</b> failed{' '}
          {before !== undefined && <Change now={cause.count} before={before} text={count} isCount />}
        </span>
        <span>
          first <Moment at={first_seen} />
        </span>
        <span>
          last <Moment at={last_seen} />
        </span>
      </p>
      <section class="panel">
        <h2>Failures over time</h2>
        <ThroughputChart
          label="Failures over time"
          stats={stats}
          isFailedOnly
          height={120}
          filters={{ cause: cause.cause }}
        />
      </section>
      <div class="columns">
        <div class="column-side">{sample !== null && <Sample id={sample} />}</div>
        <section class="panel" aria-label="Where">
          <CountedLinks
            title="Names"
            items={stats.names.map(({ name, failed }) => ({
              text: name,
              count: failed,
              link: nameLink(name),
              rows: linkTo('tasks', { cause: cause.cause, name, ...period }),
            }))}
          />
          {cause.workers.length > 0 && (
            <CountedLinks
              title="Workers"
              items={cause.workers.map((worker) => ({ text: worker, link: workerLink(worker) }))}
            />
          )}
        </section>
      </div>
    </>
  );
}

/** The traceback of the last failure, the app's own frames first. */
function Sample({ id }: { readonly id: string }) {
  const resource = useResource(id, (signal) => client.task(id, { signal }), { every: 60_000 });
  const { data } = resource;
  if (data === null) return <ReadState what="a task that failed" of={resource} />;
  const { traceback, exception, truncated } = data;
  return (
    <section class="panel" aria-label="Sample">
      <Traceback exception={exception} text={traceback} isCut={truncated.includes('traceback')} />
    </section>
  );
}
