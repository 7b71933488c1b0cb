import type { ComponentsBody } from '../../client.ts';
import type { FindingBody } from '../../wire.ts';
import { allHints, clauseOf, linkOf, marksOf, type Problem, unreadVerdict, verdictOf } from '../findings.ts';
import type { Resource } from '../live/use-resource.ts';
import { Moment } from '../parts/moment.tsx';
import { ViewHead } from '../parts/view-head.tsx';
import { linkTo } from '../route.ts';
import { dismissed, toggleDismissed, zone } from '../settings.ts';
import { useStore } from '../store.ts';
import { clockTime } from '../text/moments.ts';
import { counted } from '../text/numbers.ts';

/** The headline of the overview: how many problems there are, and which; and settings that hide data. */
export function Attention(props: {
  readonly components: Resource<ComponentsBody>;
  /** Whether the monitor does not answer. */
  readonly isLost: boolean;
}) {
  const chosen = useStore(zone);
  const hidden = useStore(dismissed);
  const { data: components, error, at } = props.components;
  const { tone, text, checks, problems, unknown } =
    components === null ? unreadVerdict(error !== null) : verdictOf(components.findings);
  const isOld = components !== null && (error !== null || props.isLost) && at !== null;
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
