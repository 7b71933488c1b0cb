import { useEffect, useMemo, useState } from 'preact/hooks';
import { type ComponentsBody, MonitorClientError } from '../../client.ts';
import type { ComponentBody, FindingBody } from '../../wire.ts';
import { ThroughputChart as Chart } from '../charts/throughput-chart.tsx';
import { CONSEQUENCE, consequencesOf } from '../failures/causes.tsx';
import { allHints, clauseOf, linkOf, marksOf, type Problem, unreadVerdict, verdictOf } from '../findings.ts';
import { client, connection } from '../live/connection.ts';
import { type Resource, useResource } from '../live/use-resource.ts';
import { dismissed, toggleDismissed, zone } from '../page-state.ts';
import { Moment } from '../parts/inline.tsx';
import { lazy } from '../parts/lazy.tsx';
import { NoStats, ReadState, ViewHead } from '../parts/view.tsx';
import { useIsCompared, useRange } from '../range.ts';
import { linkTo } from '../route.ts';
import { soon } from '../slices.ts';
import { useStore } from '../store.ts';
import { clockTime, count, counted } from '../text/format.ts';
import { type Figures, figuresOf } from './figures.ts';
import { Lists } from './lists.tsx';

/** States that the chart counts. */
const IN_LEGEND: ReadonlySet<string> = new Set(['SUCCESS', 'FAILURE', 'RETRY']);

/** Summary of the deployment; problems come first. */
export function OverviewView() {
  const range = useRange();
  const isCompared = useIsCompared();
  const overview = useResource(range.key, (signal) => client.components({ ...range.stats(), signal }), {
    news: () => true,
    gap: 3_000,
    every: 10_000,
    keep: true,
  });
  const { data: components, error } = overview;
  const tasks = components?.tasks;
  const known = useMemo(() => {
    const stats = components?.tasks?.stats ?? null;
    return { components, ...(stats === null ? NONE : figuresOf(stats)) };
  }, [components]);
  // The verdict, then the figures, then their chart, then the lists: at once, a slow processor would draw for long.
  const drawn = useSoon(known);
  const listed = useSoon(useSoon(drawn));
  const { now: figures, before } = drawn;

  return (
    <>
      <Attention overview={overview} />
      <ReadState
        what="the figures"
        shape="charts"
        of={{ ...overview, data: tasks ?? null, error: error ?? problemOf(tasks) }}
      />
      {figures !== null && (
        <section class="panel">
          <h2>Throughput</h2>
          <ThroughputChart
            label="Tasks over time"
            stats={figures}
            before={isCompared ? (before?.totals ?? null) : null}
            more={<OtherStates stats={figures} />}
          />
        </section>
      )}
      {tasks?.stats === null && <NoStats />}
      <Lists figures={listed.now} before={listed.before} components={listed.components} />
    </>
  );
}

const NONE = { now: null, before: null };

/** Rendered in a task of its own when it appears. */
const ThroughputChart = lazy(() => Chart);

/** The value after the next frame, so that what shows it prolongs no task that shows something else. */
function useSoon<T>(value: T): T {
  const [later, setLater] = useState(value);
  useEffect(() => soon(() => setLater(() => value)), [value]);
  return later;
}

/** Why a component has no data; `null`: it has. */
function problemOf(component: ComponentBody | undefined): MonitorClientError | null {
  const { problem } = component ?? {};
  return problem === undefined ? null : new MonitorClientError(problem.detail, { ...problem, problem });
}

/** The states that the legend of the chart lacks, each with its number of tasks, and failures that do not count there. */
function OtherStates({ stats }: { readonly stats: Figures['now'] }) {
  const { link: period } = useRange();
  const consequences = consequencesOf(stats);
  const others = Object.entries(stats.states)
    .filter(([state, number]) => number > 0 && !IN_LEGEND.has(state))
    .toSorted(([, a], [, b]) => b - a);
  const link = (state: string): string => linkTo('tasks', { state, ...period });
  return (
    <>
      {consequences > 0 && (
        <a class="chart-entry" href={link('FAILURE')} title={CONSEQUENCE}>
          +{count(consequences)} as a consequence
        </a>
      )}
      {others.map(([state, number]) => (
        <a key={state} class="chart-entry" href={link(state)}>
          {state.toLowerCase()} <b class="num">{count(number)}</b>
        </a>
      ))}
    </>
  );
}

/** The headline of the overview: how many problems there are, and which; and settings that hide data. */
function Attention({ overview }: { readonly overview: Resource<ComponentsBody> }) {
  const isLost = useStore(connection).state === 'lost';
  const chosen = useStore(zone);
  const hidden = useStore(dismissed);
  const { data: components, error, at } = overview;
  const { tone, text, checks, problems, unknown } =
    components === null ? unreadVerdict(error !== null) : verdictOf(components.findings);
  const isOld = components !== null && (error !== null || isLost) && at !== null;
  const [first, ...others] = allHints(components).filter(([, hint]) => !hidden.includes(hint));
  return (
    <section aria-label="Verdict" class={isOld ? 'verdict is-old' : 'verdict'}>
      <ViewHead
        title="Overview"
        heading={
          <span class={`verdict-text tone-${isOld ? 'waiting' : tone}`} aria-live="polite">
            {isOld ? `Unknown since ${clockTime(new Date(at), chosen)}` : text}
          </span>
        }
        beside={<Checks text={isOld ? `Before: ${text}, ${checks}` : checks} unknown={unknown} />}
      />
      {first !== undefined && <Hint of={first} others={others.length} />}
      {problems.length > 0 && (
        <ul class="panel problems" aria-label="Problems">
          {problems.map((problem) => (
            <ProblemRow
              key={marksOf(problem.worst)[0]}
              {...problem}
              why={whyWaits(problem.worst, components)}
            />
          ))}
        </ul>
      )}
    </section>
  );
}

/** How many checks ran, and why the others did not. */
function Checks({ text, unknown }: { readonly text: string; readonly unknown: readonly string[] }) {
  if (unknown.length === 0) return <span class="dim small-text">{text}</span>;
  return (
    <details class="small-text">
      <summary>{text}</summary>
      <ul class="dim">
        {unknown.map((reason) => (
          <li key={reason}>{reason}</li>
        ))}
      </ul>
    </details>
  );
}

const MARKS = { critical: ['failure', '✕', 'Critical'], warning: ['retry', '!', 'Warning'] } as const;

/** Why the queue of a finding waits; `null`: it is about something else, or unknown. */
function whyWaits({ code, source, subject }: FindingBody, components: ComponentsBody | null): string | null {
  if (code !== 'queue_waiting') return null;
  const queues = components?.queues?.queues ?? [];
  const queue = queues.find((one) => one.name === subject && one.source === source);
  return queue?.blocked_by?.summary ?? null;
}

/** The worst finding of a problem, and the others in short. */
function ProblemRow({ worst, others, why }: Problem & { readonly why: string | null }) {
  const [tone, mark, word] = MARKS[worst.severity];
  return (
    <li>
      <a class="line" href={linkOf(worst)}>
        <span class={`problem-mark tone-${tone}`} role="img" aria-label={word}>
          {mark}
        </span>
        <span class="problem-text">
          <strong>{worst.summary}</strong>{' '}
          <span class="dim num">
            since <Moment at={worst.since} isShort />
          </span>
          {why !== null && <span class="dim">{` · ${why}`}</span>}
          {others.map((other) => (
            <span key={other.code} class="dim">{` · ${clauseOf(other, worst)}`}</span>
          ))}
        </span>
      </a>
    </li>
  );
}

/** A setting that hides data: not a problem of the deployment, but it makes the monitor incomplete. */
function Hint(props: { readonly of: readonly [key: string, hint: string]; readonly others: number }) {
  const [key, hint] = props.of;
  return (
    <div class="notice tone-waiting">
      <div>
        {hint} <a href={linkTo('system')}>{key}</a>
      </div>
      {props.others > 0 && <a href={linkTo('system')}>{counted(props.others, 'more hint')} ›</a>}
      <button
        type="button"
        class="small"
        aria-label={`Dismiss: ${hint}`}
        onClick={() => toggleDismissed(hint)}
      >
        Dismiss
      </button>
    </div>
  );
}
