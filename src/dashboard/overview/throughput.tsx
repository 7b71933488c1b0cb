import type { StatsStepBody } from '../../client.ts';
import { linkTo } from '../route.ts';
import { zone } from '../settings.ts';
import { useStore } from '../store.ts';
import { axisLabel, chartTime } from '../text/moments.ts';
import { count, counted } from '../text/numbers.ts';

const KINDS = [
  ['failed', 'failed'],
  ['retried', 'retried'],
  ['succeeded', 'succeeded'],
] as const;

/** Stacked columns of the tasks that ended in each time step. Each column links to its tasks. */
export function Throughput(props: {
  readonly series: readonly StatsStepBody[];
  readonly stepSeconds: number;
}) {
  const { series, stepSeconds } = props;
  const chosen = useStore(zone);
  const sumOf = (step: StatsStepBody): number =>
    (step.succeeded ?? 0) + (step.failed ?? 0) + (step.retried ?? 0);
  const most = niceMost(Math.max(1, ...series.map(sumOf)));
  const label = KINDS.map(([kind, text]) => `${total(series, kind)} ${text}`).join(', ');
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((part) => series[Math.round(part * (series.length - 1))]);
  const spanMs = (series.length - 1) * stepSeconds * 1_000;

  return (
    <figure class="chart">
      <figcaption>
        {KINDS.map(([kind, text]) => (
          <span key={kind}>
            <i class={`bar-${kind}`} />
            {text} <b class="num">{total(series, kind)}</b>
          </span>
        ))}
        <span class="dim">per {stepInWords(stepSeconds)}</span>
      </figcaption>
      <div class="chart-plot">
        <div class="chart-axis num" aria-hidden="true">
          <span>{count(most)}</span>
          <span>{most % 2 === 0 ? count(most / 2) : ''}</span>
          <span>0</span>
        </div>
        <div class="chart-bars" role="group" aria-label={`Tasks over time: ${label}`}>
          {series.map((step) => (
            <Column
              key={step.t}
              step={step}
              most={most}
              seconds={stepSeconds}
              time={chartTime(new Date(step.t), chosen, spanMs)}
            />
          ))}
        </div>
      </div>
      <div class="chart-times num dim" aria-hidden="true">
        {ticks.map((step, index) => (
          <span key={index}>{step === undefined ? '' : axisLabel(new Date(step.t), chosen, spanMs)}</span>
        ))}
      </div>
    </figure>
  );
}

function stepInWords(seconds: number): string {
  if (seconds === 60) return 'minute';
  if (seconds === 86_400) return 'day';
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${seconds / 60} min`;
  return seconds % 86_400 === 0 ? `${seconds / 86_400} days` : `${seconds / 3_600} h`;
}

type Kind = (typeof KINDS)[number][0];

/** The sum of what is known; a dash when nothing is. */
function total(series: readonly StatsStepBody[], kind: Kind): string {
  const known = series.flatMap((step) => step[kind] ?? []);
  return known.length === 0 ? '–' : count(known.reduce((sum, figure) => sum + figure, 0));
}

/** A step in words; what is not known is left out. */
function inWords(step: StatsStepBody): string {
  const ends = KINDS.flatMap(([kind, word]) => (step[kind] === null ? [] : `${step[kind]} ${word}`));
  const received = step.received === null ? [] : `${counted(step.received, 'task')} received`;
  const words = [received, ends].flat();
  return words.length === 0 ? 'not known' : words.join(', ');
}

function Column(props: {
  readonly step: StatsStepBody;
  readonly most: number;
  readonly seconds: number;
  readonly time: string;
}) {
  const { step, most, seconds, time } = props;
  const until = new Date(Date.parse(step.t) + seconds * 1_000).toISOString();
  const text = `${time}: ${inWords(step)}`;
  return (
    <a
      href={linkTo('tasks', { since: step.t, until })}
      tabIndex={-1}
      title={text}
      aria-label={text}
      class="chart-column"
    >
      {KINDS.map(([kind]) => (
        <span key={kind} class={`bar-${kind}`} style={{ height: `${((step[kind] ?? 0) / most) * 100}%` }} />
      ))}
    </a>
  );
}

/** Rounds up to 1, 2, 3, 4, 6, 8, 10, 20, 30 …: maxima of an axis that are easy to halve. */
function niceMost(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 3, 4, 6, 8, 10].map((step) => step * power).find((step) => step >= value) ?? value;
}
